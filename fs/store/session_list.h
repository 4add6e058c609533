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

/* The uncertain sessions. */
struct bale_session_list {
    uint32_t first; /* the store's own sessions are from first */
    uint32_t last;  /* to last, the newest one */
    size_t count;
    size_t capacity;
    struct bale_session_entry *entries; /* the owner of the list frees them */
};

/* False: no memory. A copy starts without entries of its own. */
bool bale_session_list_add(struct bale_session_list *list, uint32_t session, const char *boot);
bool bale_session_list_copy(struct bale_session_list *to, const struct bale_session_list *from);
bool bale_session_list_has(const struct bale_session_list *list, uint32_t session);

/* Whether what the session wrote is in the page cache of this boot and mount. */
bool bale_session_is_of_this_boot(const struct bale_sessions *sessions,
                                  const struct bale_session_entry *entry);
/* Removes the sessions of this boot and mount that came before a session. */
void bale_session_list_drop_before(struct bale_session_list *list,
                                   const struct bale_sessions *sessions, uint64_t session);
/* After a failed sync: data that this boot and mount wrote may never reach the disk. */
void bale_session_list_taint(struct bale_session_list *list, const struct bale_sessions *sessions);

#endif
