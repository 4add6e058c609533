/* Stores whose sessions are tested, on a platform that has a syncfs of its own. */
#ifndef BALE_TESTS_UNIT_FS_STORE_SESSIONS_H
#define BALE_TESTS_UNIT_FS_STORE_SESSIONS_H

#include <errno.h>

#include "tests/unit/fs/store/scratch.h"

static int syncs;
static int sync_error;
static char during[1 << 16]; /* sessions.json when the last sync was asked for */

/* Any thread. */
static inline int fake_syncfs(int fd)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    (void)fd;
    pthread_mutex_lock(&lock);
    syncs++;
    snprintf(during, sizeof during, "%s", get_file("s/.balefs/sessions.json"));
    pthread_mutex_unlock(&lock);
    errno = sync_error;
    return sync_error ? -1 : 0;
}

/* sessions.json as one line: "LAST S=BOOT S=BOOT", boots without the mount. */
static inline const char *sessions_in(const char *text)
{
    static char line[2048];
    json_t *json = json_loads(text, 0, NULL);
    json_t *list = json_object_get(json, "uncertain");
    int used = snprintf(line, sizeof line, "%lld",
                        (long long)json_integer_value(json_object_get(json, "last")));

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *entry = json_array_get(list, i);
        const char *boot = json_string_value(json_object_get(entry, "boot"));

        used += snprintf(line + used, sizeof line - (size_t)used, " %lld=%.*s",
                         (long long)json_integer_value(json_object_get(entry, "session")),
                         (int)strcspn(boot, ":"), boot);
    }
    json_decref(json);
    return line;
}

static inline const char *sessions_now(void)
{
    return sessions_in(get_file("s/.balefs/sessions.json"));
}

static inline struct bale_container_config view(struct bale_store *store)
{
    struct bale_container_config config;

    bale_store_container_config(store, &config);
    return config;
}

static inline enum bale_session_state state_of(struct bale_store *store, uint32_t session)
{
    struct bale_container_config config = view(store);

    return config.session_state(config.session_arg, session);
}

static inline bool certain(struct bale_store *store, uint32_t session)
{
    return state_of(store, session) == BALE_SESSION_CERTAIN;
}

/* A new store whose first session is 10. */
static inline struct bale_store *begin(void)
{
    scratch_make();
    store_make("s");
    put_file("s/.balefs/sessions.json", "{\"last\": 9, \"uncertain\": []}");
    syncs = 0;
    sync_error = 0;
    bale_store_platform.boot = "boot-a";
    return store_open("s", BALE_STORE_WRITE);
}

/* The state that a kill leaves. */
static inline void die(struct bale_store *store)
{
    CHECK_EQ(bale_store_close(store, false, NULL), 0);
}

/* Before the first store is made. */
static inline void sessions_begin(void)
{
    bale_store_platform.believes_syncfs = 1;
    bale_store_platform.syncfs = fake_syncfs;
}

#endif
