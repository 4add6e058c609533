/* The holder of a store's lock, as the text of the lock names it (FORMAT.md 2). Only for
 * fs/store. */
#ifndef BALE_FS_STORE_HOLDER_H
#define BALE_FS_STORE_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/store/platform.h"

#define BALE_HOLDER_MAX 4096 /* most bytes of its text */

/* The contents of the lock's text. */
struct bale_holder {
    char who[160]; /* "process 123 on host H since T" */
    char host[BALE_HOST];
    char boot[BALE_IDENTITY]; /* empty: none that can be told */
    pid_t pid;
    uint64_t start;     /* bale_platform_process_start */
    uint64_t namespace; /* bale_platform_pid_namespace */
    uint64_t device;    /* st_dev of its mount; 0: not known */
    bool present;       /* there is a text: more than a line feed */
};

/* Whether the process that holds the lock still runs. */
enum bale_verdict { BALE_HOLDER_GONE, BALE_HOLDER_RUNS, BALE_HOLDER_UNKNOWN };

/* The text of the lock in the file fd for this process; the caller frees it. NULL: no memory. */
char *bale_holder_self(int fd);

/* Never fails: from a text that it cannot parse it makes "another process". */
void bale_holder_parse(const char *text, size_t length, struct bale_holder *holder);

/* Reads and parses the text. On failure errno is set, and holder is as for an empty text. */
int bale_holder_read(int dir, struct bale_holder *holder);

/* What this process knows of a lock besides its text. */
struct bale_lock_view {
    bool flocked;    /* it has the flock */
    bool network;    /* which processes on other hosts, or of another mount of it, may not see */
    uint64_t device; /* of the mount: st_dev */
};
void bale_lock_look_at(int dir, bool flocked, struct bale_lock_view *view);

/* Whether the holder still uses the store. The name of a host proves nothing: containers and images
 * share names. */
enum bale_verdict bale_holder_judge(const struct bale_holder *holder,
                                    const struct bale_lock_view *view);

/* What takeover must be to name this holder: its boot id, or "unknown". */
const char *bale_holder_boot(const struct bale_holder *holder);
/* Whether the holder's lock may be replaced: it is gone, or the user says that it is, by the boot
 * id takeover (may be NULL). A holder that is known to run keeps its lock. */
bool bale_holder_may_replace(const struct bale_holder *holder, const struct bale_lock_view *view,
                             const char *takeover);

/* Whether it is this process. */
bool bale_holder_is_self(const struct bale_holder *holder);

#endif
