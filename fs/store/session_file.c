/* sessions.json: reading and writing it, and whether it is still what this mount wrote. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"

/* ---- Its version ----------------------------------------------------------------------------- */

static bool find_version(const struct bale_store *store, struct bale_sessions_version *version)
{
    struct statx st;

    *version = (struct bale_sessions_version){0};
    if (statx(store->dir_fd, BALE_SESSIONS, AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC,
              STATX_INO | STATX_SIZE | STATX_MTIME, &st) < 0)
        return false;
    *version = (struct bale_sessions_version){.inode = st.stx_ino,
                                              .size = st.stx_size,
                                              .seconds = st.stx_mtime.tv_sec,
                                              .nanoseconds = st.stx_mtime.tv_nsec};
    return true;
}

static bool is_version(const struct bale_sessions_version *a, const struct bale_sessions_version *b)
{
    return a->inode == b->inode && a->size == b->size && a->seconds == b->seconds &&
           a->nanoseconds == b->nanoseconds;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool parse_entry(struct bale_session_list *list, const json_t *json)
{
    const json_t *session = json_object_get(json, "session");
    const char *boot = json_string_value(json_object_get(json, "boot"));
    json_int_t number = json_integer_value(session);

    if (!json_is_integer(session) || number < 0 || number > UINT32_MAX ||
        (number > list->last && !bale_session_list_owns(list, (uint32_t)number, (uint32_t)number)))
        return false;
    if (!boot || strlen(boot) >= BALE_IDENTITY)
        return false;
    return bale_session_list_add(list, (uint32_t)number, boot);
}

static bool parse_session(const json_t *value, uint32_t *session)
{
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || number > UINT32_MAX)
        return false;
    *session = (uint32_t)number;
    return true;
}

static bool parse_ranges(struct bale_session_list *list, const json_t *earlier)
{
    for (size_t i = 0; i < json_array_size(earlier); i++) {
        const json_t *range = json_array_get(earlier, i);
        uint32_t first, last;

        if (!parse_session(json_array_get(range, 0), &first) ||
            !parse_session(json_array_get(range, 1), &last) || last < first ||
            bale_session_list_owns(list, first, last))
            return false;
        bale_session_list_add_range(list, first, last);
    }
    return true;
}

static bool parse_list(struct bale_session_list *list, const json_t *json)
{
    const json_t *uncertain = json_object_get(json, "uncertain");
    const json_t *first = json_object_get(json, "first");

    list->first = 1;
    if (first && !parse_session(first, &list->first))
        return false;
    if (!parse_session(json_object_get(json, "last"), &list->last) || !json_is_array(uncertain) ||
        !parse_ranges(list, json_object_get(json, "earlier")))
        return false;
    for (size_t i = 0; i < json_array_size(uncertain); i++)
        if (!parse_entry(list, json_array_get(uncertain, i)))
            return false;
    return true;
}

/* Empty: an older program wrote it. */
static void parse_writer(const json_t *json, char writer[static BALE_WRITER_SIZE])
{
    const char *text = json_string_value(json_object_get(json, "writer"));

    snprintf(writer, BALE_WRITER_SIZE, "%s", text && strlen(text) < BALE_WRITER_SIZE ? text : "");
}

int bale_sessions_read(struct bale_store *store, struct bale_reason *why)
{
    struct bale_sessions *sessions = &store->sessions;
    json_t *json;
    int err = bale_store_file_read_json(store->dir_fd, store->path, BALE_SESSIONS, &json, why);

    if (err == BALE_E_NOENT)
        return 0;
    if (err)
        return err;
    sessions->present = parse_list(&sessions->list, json);
    parse_writer(json, sessions->writer_before);
    json_decref(json);
    if (!sessions->present)
        return bale_store_fail(why, BALE_E_CORRUPT,
                               "%s/" BALE_STORE_DIR "/" BALE_SESSIONS
                               ": is damaged: it lists no sessions: see balefs fsck --repair",
                               store->path);
    return 0;
}

bool bale_sessions_read_again(struct bale_store *store)
{
    struct bale_sessions *sessions = &store->sessions;
    struct bale_sessions_version version;
    struct bale_session_list list = {0};
    json_t *json = NULL;
    bool changed;

    pthread_mutex_lock(&store->change);
    changed =
        find_version(store, &version) && !is_version(&version, &sessions->version) &&
        bale_store_file_read_json(store->dir_fd, store->path, BALE_SESSIONS, &json, NULL) == 0;
    if (changed && parse_list(&list, json)) {
        sessions->version = version;
        pthread_mutex_lock(&sessions->lock);
        free(sessions->list.entries);
        sessions->list = list;
        sessions->present = true;
        pthread_mutex_unlock(&sessions->lock);
    } else {
        free(list.entries);
        changed = false;
    }
    json_decref(json);
    pthread_mutex_unlock(&store->change);
    return changed;
}

/* ---- Writing --------------------------------------------------------------------------------- */

bool bale_sessions_new_writer(struct bale_sessions *sessions)
{
    uint64_t random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return false;
    snprintf(sessions->writer, BALE_WRITER_SIZE, "%016" PRIx64, random);
    return true;
}

/* NULL: no memory. */
static json_t *list_json(const struct bale_session_list *list, const char *writer)
{
    json_t *uncertain = json_array();
    json_t *earlier = json_array();
    json_t *json = NULL;

    for (size_t i = 0; i < list->earlier_count; i++)
        if (json_array_append_new(earlier, json_pack("[I, I]", (json_int_t)list->earlier[i].first,
                                                     (json_int_t)list->earlier[i].last)) < 0)
            goto out;
    for (size_t i = 0; i < list->count; i++)
        if (json_array_append_new(uncertain, json_pack("{s:I, s:s}", "session",
                                                       (json_int_t)list->entries[i].session, "boot",
                                                       list->entries[i].boot)) < 0)
            goto out;
    json = json_pack("{s:I, s:I, s:O, s:O, s:s}", "first", (json_int_t)list->first, "last",
                     (json_int_t)list->last, "earlier", earlier, "uncertain", uncertain, "writer",
                     writer);
out:
    json_decref(uncertain);
    json_decref(earlier);
    return json;
}

int bale_sessions_write(struct bale_store *store, const struct bale_session_list *list)
{
    struct bale_sessions *sessions = &store->sessions;
    json_t *json = list_json(list, sessions->writer);
    int err = BALE_E_NOMEM;

    if (json)
        err = bale_store_file_replace_json(store->dir_fd, BALE_SESSIONS, json, true);
    else
        errno = ENOMEM;
    json_decref(json);
    if (!err)
        find_version(store, &sessions->version);
    return err;
}

/* ---- Whose it is ----------------------------------------------------------------------------- */

bool bale_sessions_mark(const struct bale_store *store, char mark[static BALE_MARK_SIZE])
{
    struct statx st;

    if (statx(store->dir_fd, BALE_SESSIONS, AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC,
              STATX_INO | STATX_CTIME, &st) < 0)
        return false;
    snprintf(mark, BALE_MARK_SIZE, "%" PRIu64 ":%" PRId64 ".%09" PRIu32, (uint64_t)st.stx_ino,
             (int64_t)st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec);
    return true;
}

int bale_sessions_look(struct bale_store *store, bool *changed)
{
    struct bale_sessions *sessions = &store->sessions;
    struct bale_sessions_version version;
    char writer[BALE_WRITER_SIZE];
    json_t *json;
    int err;

    *changed = !find_version(store, &version);
    if (*changed)
        return errno == ENOENT ? 0 : bale_err_from_errno(errno);
    if (is_version(&version, &sessions->version))
        return 0;
    err = bale_store_file_read_json(store->dir_fd, store->path, BALE_SESSIONS, &json, NULL);
    *changed = true;
    if (err == BALE_E_NOENT || err == BALE_E_CORRUPT)
        return 0; /* no writer leaves it so */
    if (err)
        return err;
    parse_writer(json, writer);
    json_decref(json);
    if (strcmp(writer, sessions->writer) == 0) {
        sessions->version = version;
        *changed = false;
        return 0;
    }
    return bale_lock_is_certain(store) || strcmp(writer, sessions->writer_before) == 0
               ? 0
               : BALE_E_BUSY;
}
