/* The sessions of a store: beginning and ending them, and what is known of each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"

/* The first session of a range is a random one of these. */
#define FIRST_MIN (UINT32_C(1) << 16)
#define FIRST_MAX (UINT32_C(1) << 31)
#define ROOM (UINT32_C(1) << 24) /* the store has no other sessions so far behind the first */
#define TRIES 1000
#define ALL_SESSIONS UINT64_MAX

/* Writes list and, if that succeeds or always is set, makes it the current one. Owns its entries
 * from then on. Under store->change, except while the store is opened. */
static int publish(struct bale_store *store, struct bale_session_list *list, bool always)
{
    struct bale_sessions *sessions = &store->sessions;
    int err = atomic_load(&store->stopped) ? BALE_E_IO : bale_sessions_write(store, list);

    if (err && !always) {
        free(list->entries);
        return err;
    }
    pthread_mutex_lock(&sessions->lock);
    free(sessions->list.entries);
    sessions->list = *list;
    pthread_mutex_unlock(&sessions->lock);
    return err;
}

/* ---- A session's life ------------------------------------------------------------------------ */

static bool begin_range(struct bale_session_list *list)
{
    uint32_t random;

    for (int tries = 0; tries < TRIES; tries++) {
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            return false;
        random = FIRST_MIN + random % (FIRST_MAX - FIRST_MIN);
        if (!bale_session_list_owns(list, random, random + ROOM)) {
            list->first = list->last = random;
            return true;
        }
    }
    return false;
}

/* If the list is not as a mount has left it, it may be older than the containers: these may then
 * have the numbers that follow, for other commits. */
static bool next_session(const struct bale_store *store, struct bale_session_list *list)
{
    if (!store->sessions.present)
        return begin_range(list);
    if (list->last == UINT32_MAX)
        return false;
    if (bale_result_left_sessions(store)) {
        list->last++;
        return true;
    }
    bale_session_list_add_range(list, list->first, list->last);
    return begin_range(list);
}

/* Before anything of ours is written, makes durable what earlier sessions of this boot and mount
 * wrote and did not sync. */
static void sync_earlier_sessions(struct bale_store *store, struct bale_session_list *list)
{
    struct bale_sessions *sessions = &store->sessions;
    bool any = !sessions->present;

    for (size_t i = 0; i < list->count; i++)
        any |= bale_session_is_of_this_boot(sessions, &list->entries[i]);
    if (!any || !store->believes_syncfs)
        return; /* what is listed stays listed */
    if (bale_store_platform.syncfs(store->dir_fd) == 0) {
        bale_session_list_drop_before(list, sessions, ALL_SESSIONS);
        return;
    }
    bale_log(BALE_LOG_WARNING,
             "%s: data of an earlier mount could not be synced: %s: every file that it wrote "
             "is verified when it is opened",
             store->path, strerror(errno));
    bale_session_list_taint(list, sessions);
}

static int start_session(struct bale_store *store, struct bale_reason *why)
{
    struct bale_sessions *sessions = &store->sessions;
    struct bale_session_list list;

    if (!bale_sessions_new_writer(sessions))
        return bale_store_fail(why, BALE_E_IO, "%s: there are no random numbers", store->path);
    if (!bale_session_list_copy(&list, &sessions->list))
        return bale_store_fail(why, BALE_E_NOMEM, "%s: out of memory", store->path);
    sessions->unclean = !sessions->present || bale_session_list_has(&list, list.last);
    sync_earlier_sessions(store, &list);
    if (!next_session(store, &list)) {
        free(list.entries);
        return bale_store_fail(why, BALE_E_TOOBIG,
                               "%s: has no session numbers left: copy its files to a new store",
                               store->path);
    }
    if (!bale_session_list_add(&list, list.last, sessions->identity)) {
        free(list.entries);
        return bale_store_fail(why, BALE_E_NOMEM, "%s: out of memory", store->path);
    }
    if (publish(store, &list, false) < 0)
        return bale_store_fail_errno(why, store->path, BALE_STORE_DIR "/" BALE_SESSIONS, "written");
    sessions->first = list.last;
    atomic_store(&sessions->current, list.last);
    return 0;
}

int bale_sessions_open(struct bale_store *store, struct bale_reason *why)
{
    int err;

    bale_platform_identity(store->dir_fd, store->sessions.identity);
    err = bale_sessions_read(store, why);
    if (err == BALE_E_CORRUPT && (store->access == BALE_STORE_UNLOCKED || store->repair)) {
        /* As if the file were absent: no session is certain. */
        bale_sessions_free(store);
        if (!store->repair)
            return 0;
        store->notices[BALE_NOTICE_SESSIONS] = (struct bale_store_notice){
            .below = BALE_STORE_DIR "/" BALE_SESSIONS,
            .text = "was damaged: it was made again: every file is verified when it is opened",
            .repaired = true};
        err = 0;
    }
    if (err || store->access != BALE_STORE_WRITE)
        return err;
    return start_session(store, why);
}

int bale_store_taint(struct bale_store *store)
{
    struct bale_sessions *sessions = &store->sessions;
    struct bale_session_list list;
    int err = 0;

    if (store->access != BALE_STORE_WRITE)
        return BALE_E_INVALID;
    pthread_mutex_lock(&sessions->lock);
    sessions->tainted = true;
    pthread_mutex_unlock(&sessions->lock);
    pthread_mutex_lock(&store->change);
    if (bale_session_list_copy(&list, &sessions->list)) {
        bale_session_list_taint(&list, sessions);
        err = publish(store, &list, true);
    } else {
        err = BALE_E_NOMEM;
    }
    pthread_mutex_unlock(&store->change);
    return err;
}

static bool is_tainted(struct bale_sessions *sessions)
{
    bool tainted;

    pthread_mutex_lock(&sessions->lock);
    tainted = sessions->tainted;
    pthread_mutex_unlock(&sessions->lock);
    return tainted;
}

/* Begins the next session. When it returns, no root of the one before is written any more. Under
 * store->change. */
static int roll_session(struct bale_store *store)
{
    struct bale_sessions *sessions = &store->sessions;
    struct bale_session_list list;
    int err;

    if (sessions->list.last == UINT32_MAX)
        return BALE_E_TOOBIG;
    if (!bale_session_list_copy(&list, &sessions->list))
        return BALE_E_NOMEM;
    list.last++;
    if (!bale_session_list_add(&list, list.last, sessions->identity)) {
        free(list.entries);
        return BALE_E_NOMEM;
    }
    err = publish(store, &list, false);
    if (err)
        return err;
    pthread_rwlock_wrlock(&sessions->roll);
    atomic_store(&sessions->current, sessions->list.last);
    pthread_rwlock_unlock(&sessions->roll);
    return 0;
}

bool bale_store_has_unsynced(const struct bale_store *store)
{
    return store->sessions.unclean && !store->believes_syncfs;
}

int bale_store_sync(struct bale_store *store)
{
    int err;

    if (!store->believes_syncfs)
        return BALE_E_UNSUPPORTED;
    if (bale_store_platform.syncfs(store->dir_fd) == 0)
        return 0;
    err = bale_err_from_errno(errno);
    bale_store_taint(store);
    return err;
}

/* Removes this mount's sessions before `session` from the list: all that they wrote is durable. */
static int retire_sessions(struct bale_store *store, uint64_t session)
{
    struct bale_session_list list;
    int err = 0;

    pthread_mutex_lock(&store->change);
    /* A failed sync of one file may have consumed the error that this sync would have returned. */
    if (is_tainted(&store->sessions))
        err = BALE_E_IO;
    else if (!bale_session_list_copy(&list, &store->sessions.list))
        err = BALE_E_NOMEM;
    if (!err) {
        bale_session_list_drop_before(&list, &store->sessions, session);
        err = publish(store, &list, false);
    }
    pthread_mutex_unlock(&store->change);
    return err;
}

int bale_store_checkpoint_begin(struct bale_store *store, uint32_t *session)
{
    struct bale_sessions *sessions = &store->sessions;
    int err;

    if (store->access != BALE_STORE_WRITE)
        return BALE_E_INVALID;
    if (bale_store_is_stopped(store))
        return BALE_E_IO;
    pthread_mutex_lock(&store->change);
    err = is_tainted(sessions) ? BALE_E_IO : roll_session(store);
    *session = sessions->list.last;
    pthread_mutex_unlock(&store->change);
    return err;
}

int bale_store_checkpoint_end(struct bale_store *store, uint32_t session)
{
    return retire_sessions(store, session);
}

int bale_store_checkpoint(struct bale_store *store)
{
    uint32_t session;
    int err = bale_store_checkpoint_begin(store, &session);

    if (!err)
        err = bale_store_sync(store);
    return err ? err : bale_store_checkpoint_end(store, session);
}

int bale_sessions_close(struct bale_store *store, bool clean)
{
    int err = 0;

    if (store->access != BALE_STORE_WRITE || !clean)
        return 0;
    if (is_tainted(&store->sessions))
        return BALE_E_IO;
    /* Elsewhere everything was synced file by file. */
    if (store->believes_syncfs)
        err = bale_store_sync(store);
    return err ? err : retire_sessions(store, ALL_SESSIONS);
}

void bale_sessions_free(struct bale_store *store)
{
    free(store->sessions.list.entries);
    store->sessions.list = (struct bale_session_list){0};
}

/* ---- States ---------------------------------------------------------------------------------- */

/* Data of an earlier session of this mount that is still listed is on its way to the disk. A reader
 * can trust such a session, but to a writer certain means durable. */
static bool entry_certain(const struct bale_sessions *sessions,
                          const struct bale_session_entry *entry)
{
    uint32_t current = atomic_load(&sessions->current);

    if (current)
        return entry->session == current && !sessions->tainted;
    return entry->boot[0] != '\0' && strcmp(entry->boot, sessions->identity) == 0;
}

static enum bale_session_state state_in(const struct bale_sessions *sessions, uint32_t session)
{
    const struct bale_session_list *list = &sessions->list;
    bool known = session == 0 ? sessions->present : bale_session_list_owns(list, session, session);

    for (size_t i = 0; i < list->count; i++)
        if ((session == 0 || list->entries[i].session == session) &&
            !entry_certain(sessions, &list->entries[i]))
            return BALE_SESSION_UNCERTAIN;
    return known ? BALE_SESSION_CERTAIN : BALE_SESSION_UNKNOWN;
}

static enum bale_session_state present_state(struct bale_sessions *sessions, uint32_t session,
                                             bool *new)
{
    enum bale_session_state state;

    pthread_mutex_lock(&sessions->lock);
    state = state_in(sessions, session);
    *new = session > sessions->list.last &&session - sessions->list.last <= ROOM;
    pthread_mutex_unlock(&sessions->lock);
    return state;
}

enum bale_session_state bale_session_state(const void *arg, uint32_t session)
{
    /* What it changes has locks of its own. */
    struct bale_store *store = (struct bale_store *)arg;
    struct bale_sessions *sessions = &store->sessions;
    bool new;
    enum bale_session_state state = present_state(sessions, session, &new);

    if (store->access != BALE_STORE_BESIDE)
        return state;
    if (state != BALE_SESSION_CERTAIN && bale_sessions_read_again(store))
        state = present_state(sessions, session, &new);
    /* The file that lists it was replaced, and this machine does not see it yet. */
    return state == BALE_SESSION_UNKNOWN && new ? BALE_SESSION_UNCERTAIN : state;
}
