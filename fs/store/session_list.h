/* The list of sessions that sessions.json has (FORMAT.md 2), in memory. Only for fs/store and its
 * tests. */
#ifndef BALE_FS_STORE_SESSION_LIST_H
#define BALE_FS_STORE_SESSION_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/store/platform.h"

struct bale_sessions;

struct bale_session_entry {
    uint32_t session;
    char boot[BALE_IDENTITY]; /* "BOOT:MOUNT" (FORMAT.md 2); empty: a sync failed */
};

#define BALE_SESSION_RANGES 64

struct bale_session_range {
    uint32_t first, last;
};

/* The store's own sessions, and which of them are uncertain. */
struct bale_session_list {
    uint32_t first;                                         /* the own sessions are from first */
    uint32_t last;                                          /* to last, the newest one, */
    struct bale_session_range earlier[BALE_SESSION_RANGES]; /* and these, ascending */
    size_t earlier_count;
    size_t count;
    size_t capacity;
    struct bale_session_entry *entries; /* the owner of the list frees them */
};

/* False: no memory. A copy starts without entries of its own. */
bool bale_session_list_add(struct bale_session_list *list, uint32_t session, const char *boot);
bool bale_session_list_copy(struct bale_session_list *to, const struct bale_session_list *from);
bool bale_session_list_has(const struct bale_session_list *list, uint32_t session);

/* Adds own sessions to the earlier ones. If there is no room, the two ranges that lie closest
 * become one first, with what lies between them. */
void bale_session_list_add_range(struct bale_session_list *list, uint32_t first, uint32_t last);
/* Whether a range has own sessions in it. */
bool bale_session_list_owns(const struct bale_session_list *list, uint32_t first, uint32_t last);

/* Whether what the session wrote is in the page cache of this boot and mount. */
bool bale_session_is_of_this_boot(const struct bale_sessions *sessions,
                                  const struct bale_session_entry *entry);
/* Removes the sessions of this boot and mount that came before a session. */
void bale_session_list_drop_before(struct bale_session_list *list,
                                   const struct bale_sessions *sessions, uint64_t session);
/* After a failed sync: data that this boot and mount wrote may never reach the disk. */
void bale_session_list_taint(struct bale_session_list *list, const struct bale_sessions *sessions);

#endif
