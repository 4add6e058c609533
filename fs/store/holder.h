/* Who holds a store: the text of its lock (FORMAT.md 2). Only for the store. */
#ifndef BALE_FS_STORE_HOLDER_H
#define BALE_FS_STORE_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/store/internal.h"

#define BALE_LOCK "lock"     /* in .balefs */
#define BALE_HOLDER_MAX 4096 /* bytes of its text */

/* What the lock's text says. */
struct bale_holder {
    char who[160]; /* "process 123 on host H since T" */
    char host[BALE_HOST];
    char boot[BALE_IDENTITY];
    pid_t pid;
    uint64_t start;     /* bale_platform_process_start */
    uint64_t namespace; /* bale_platform_pid_namespace */
    bool present;       /* there is a text */
};

enum bale_verdict { BALE_HOLDER_GONE, BALE_HOLDER_RUNS, BALE_HOLDER_UNKNOWN };

/* The text that names this process; the caller frees it. NULL: no memory. */
char *bale_holder_self(void);

/* Never fails: a text that cannot be read names "another process". */
void bale_holder_parse(const char *text, size_t length, struct bale_holder *holder);

/* errno is set on failure; holder is then as for an empty text. */
int bale_holder_read(int dir, struct bale_holder *holder);

/* Whether the one named still has the store. flocked: this process has the flock, so nobody of the
 * same kernel has, nor anybody at all if the file system is this machine's own. A host that names
 * itself like ours with another boot id is ours before it was started again, unless every host has
 * that name. */
enum bale_verdict bale_holder_judge(const struct bale_holder *holder, bool flocked, bool network);

#endif
