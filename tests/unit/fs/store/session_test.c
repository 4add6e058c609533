/* Sessions over clean and unclean ends, other boots, failed syncs and checkpoints. */
#include <errno.h>

#include "tests/unit/fs/store/scratch.h"

static int syncs;
static int sync_error;
static char during[1 << 16]; /* sessions.json when the last sync was asked for */

/* Any thread. */
static int fake_syncfs(int fd)
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
static const char *sessions_in(const char *text)
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

static const char *sessions_now(void)
{
    return sessions_in(get_file("s/.balefs/sessions.json"));
}

static struct bale_container_config view(struct bale_store *store)
{
    struct bale_container_config config;

    bale_store_container_config(store, &config);
    return config;
}

static enum bale_session_state state_of(struct bale_store *store, uint32_t session)
{
    struct bale_container_config config = view(store);

    return config.session_state(config.session_arg, session);
}

static bool certain(struct bale_store *store, uint32_t session)
{
    return state_of(store, session) == BALE_SESSION_CERTAIN;
}

/* A new store whose first session is 10. */
static struct bale_store *begin(void)
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
static void die(struct bale_store *store)
{
    CHECK_EQ(bale_store_close(store, false, NULL), 0);
}

static void clean_end(void)
{
    struct bale_store *store = begin();

    CHECK_EQ_STR(sessions_now(), "10 10=boot-a");
    CHECK_EQ(syncs, 0);
    CHECK_EQ_U(*view(store).session, 10);
    CHECK(view(store).writable);
    CHECK(certain(store, 10) && certain(store, 9) && certain(store, 0));
    CHECK(!certain(store, 11));
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ(syncs, 1);
    CHECK_EQ_STR(sessions_in(during), "10 10=boot-a"); /* it leaves the list after the sync */
    CHECK_EQ_STR(sessions_now(), "10");
    scratch_remove();
}

static void first_of_all(void)
{
    struct bale_store *store;
    uint32_t first;

    scratch_make();
    store_make("s");
    store = store_open("s", BALE_STORE_READONLY);
    CHECK(!certain(store, 5) && !certain(store, 0));
    CHECK_EQ_U(*view(store).session, 0);
    CHECK(!view(store).writable);
    CHECK_EQ(bale_store_checkpoint(store), BALE_E_INVALID);
    CHECK_EQ(bale_store_taint(store), BALE_E_INVALID);
    bale_store_close(store, true, NULL);
    CHECK(access(at("s/.balefs/sessions.json"), F_OK) < 0);

    store = store_open("s", BALE_STORE_WRITE);
    first = *view(store).session;
    CHECK(first >= 1u << 16 && first < 1u << 31);
    CHECK(certain(store, first));
    CHECK(!certain(store, first - 1) && !certain(store, first + 1) && !certain(store, 0));
    CHECK_EQ(state_of(store, 0), BALE_SESSION_UNKNOWN);
    bale_store_close(store, true, NULL);
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ_U(*view(store).session, first + 1);
    CHECK(certain(store, first) && certain(store, first + 1) && certain(store, 0));
    /* Those before it were of another store, or of this one before its list was lost. */
    CHECK_EQ(state_of(store, first - 1), BALE_SESSION_UNKNOWN);
    CHECK_EQ(state_of(store, 1), BALE_SESSION_UNKNOWN);
    CHECK_EQ(state_of(store, first + 2), BALE_SESSION_UNKNOWN);
    bale_store_checkpoint(store);
    CHECK_EQ(state_of(store, 1), BALE_SESSION_UNKNOWN);
    bale_store_close(store, true, NULL);
    scratch_remove();
}

/* sessions.json of an earlier time: the numbers that follow may be in containers that are newer. */
static void restored(void)
{
    struct bale_store *store = begin();
    char old[1 << 12];
    uint32_t first;

    CHECK_EQ(bale_store_close(store, true, "well"), 0);
    snprintf(old, sizeof old, "%s", get_file("s/.balefs/sessions.json"));
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ_U(*view(store).session, 11);
    CHECK_EQ(bale_store_close(store, true, "well"), 0);
    put_file("s/.balefs/sessions.json", old);
    store = store_open("s", BALE_STORE_WRITE);
    first = *view(store).session;
    CHECK(first >= 1u << 16 && first < 1u << 31);
    CHECK(certain(store, 10) && certain(store, first));
    CHECK_EQ(state_of(store, 11), BALE_SESSION_UNKNOWN);
    bale_store_checkpoint(store);
    CHECK_EQ_U(*view(store).session, first + 1);
    CHECK_EQ(state_of(store, 11), BALE_SESSION_UNKNOWN);
    CHECK_EQ(bale_store_close(store, true, "well"), 0);
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ_U(*view(store).session, first + 2);
    die(store);
    /* After a crash nobody knows either. What it left stays listed, though its number is greater or
     * less than those that follow. */
    for (int i = 0; i < 100; i++) {
        char boot[24];

        snprintf(boot, sizeof boot, "boot-%d", i);
        bale_store_platform.boot = boot;
        store = store_open("s", BALE_STORE_WRITE);
        CHECK(certain(store, 10));
        CHECK_EQ(state_of(store, first + 2), BALE_SESSION_UNCERTAIN);
        bale_store_checkpoint(store);
        CHECK_EQ(state_of(store, first + 2), BALE_SESSION_UNCERTAIN);
        CHECK_EQ(bale_store_close(store, true, i % 2 == 0 ? "well" : NULL), 0);
    }
    scratch_remove();
}

/* Own sessions everywhere: there are no numbers left, and the search ends. */
static void no_room(void)
{
    bale_store_close(begin(), true, "well");
    put_file("s/.balefs/sessions.json",
             "{\"first\": 4294967290, \"last\": 4294967290, \"uncertain\": [],"
             " \"earlier\": [[1, 4294967289]]}");
    refused("s", BALE_STORE_WRITE, BALE_E_TOOBIG,
            "%s/s: has no session numbers left: copy its files to a new store");
    scratch_remove();
}

static void killed_in_this_boot(void)
{
    struct bale_store *store = begin();

    die(store);
    CHECK_EQ_STR(sessions_now(), "10 10=boot-a");
    store = store_open("s", BALE_STORE_READONLY);
    CHECK(certain(store, 10) && certain(store, 0)); /* the page cache has it all */
    bale_store_close(store, true, NULL);
    CHECK_EQ(syncs, 0);
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ(syncs, 1);
    CHECK_EQ_STR(sessions_in(during), "10 10=boot-a"); /* synced before anything is written */
    CHECK_EQ_STR(sessions_now(), "11 11=boot-a");
    CHECK(certain(store, 10));
    die(store);
    scratch_remove();
}

static void killed_and_the_sync_fails(void)
{
    struct bale_store *store = begin();

    die(store);
    sync_error = EIO;
    store = store_open("s", BALE_STORE_WRITE);
    sync_error = 0;
    CHECK_EQ_STR(sessions_now(), "11 10= 11=boot-a");
    CHECK(!certain(store, 10) && certain(store, 11) && !certain(store, 0));
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ_STR(sessions_now(), "11 10="); /* for good */
    scratch_remove();
}

static void another_boot(void)
{
    struct bale_store *store = begin();

    die(store);
    bale_store_platform.boot = "boot-b";
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ(syncs, 0);
    CHECK_EQ_STR(sessions_now(), "11 10=boot-a 11=boot-b");
    CHECK(!certain(store, 10) && certain(store, 11) && !certain(store, 0));
    CHECK_EQ(state_of(store, 10), BALE_SESSION_UNCERTAIN);
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ_STR(sessions_now(), "11 10=boot-a");
    store = store_open("s", BALE_STORE_UNLOCKED);
    CHECK(!certain(store, 10) && certain(store, 11));
    bale_store_close(store, true, NULL);
    scratch_remove();
}

static void another_mount_is_another_cache(void)
{
    struct bale_store *store;

    scratch_make();
    store_make("s");
    put_file("s/.balefs/sessions.json",
             "{\"last\": 9, \"uncertain\": [{\"session\": 9, \"boot\": \"boot-a:0\"}]}");
    bale_store_platform.boot = "boot-a";
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ_STR(sessions_now(), "10 9=boot-a 10=boot-a");
    CHECK(!certain(store, 9));
    die(store);
    scratch_remove();
}

static void unknown_boot_is_never_ours(void)
{
    struct bale_store *store = begin();

    die(store);
    bale_store_platform.boot = "";
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ_STR(sessions_now(), "11 10=boot-a 11=");
    CHECK(certain(store, 11));
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ_STR(sessions_now(), "11 10=boot-a");
    scratch_remove();
}

static void tainted(void)
{
    struct bale_store *store = begin();

    CHECK_EQ(bale_store_taint(store), 0);
    CHECK_EQ_STR(sessions_now(), "10 10=");
    CHECK(!certain(store, 10) && certain(store, 9));
    CHECK_EQ(bale_store_checkpoint(store), BALE_E_IO);
    CHECK_EQ_STR(sessions_now(), "10 10=");
    CHECK_EQ(bale_store_close(store, true, NULL), BALE_E_IO);
    CHECK_EQ_STR(sessions_now(), "10 10=");
    store = store_open("s", BALE_STORE_WRITE);
    CHECK(!certain(store, 10) && certain(store, 11));
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ_STR(sessions_now(), "11 10=");
    scratch_remove();
}

static void close_fails_to_sync(void)
{
    struct bale_store *store = begin();

    sync_error = EIO;
    CHECK_EQ(bale_store_close(store, true, "done"), BALE_E_IO);
    CHECK_EQ_STR(sessions_now(), "10 10=");
    CHECK(strstr(get_file("s/.balefs/last-unmount.json"), "\"clean\": false"));
    scratch_remove();
}

static struct bale_store *rolling;

static int syncfs_in_roll(int fd)
{
    /* On its way to the disk: to a writer neither durable nor current. */
    CHECK_EQ_U(*view(rolling).session, 11);
    CHECK(!certain(rolling, 10) && certain(rolling, 11));
    return fake_syncfs(fd);
}

static void checkpoints(void)
{
    struct bale_store *store = begin();

    rolling = store;
    bale_store_platform.syncfs = syncfs_in_roll;
    CHECK_EQ(bale_store_checkpoint(store), 0);
    bale_store_platform.syncfs = fake_syncfs;
    CHECK_EQ(syncs, 1);
    CHECK_EQ_STR(sessions_in(during), "11 10=boot-a 11=boot-a");
    CHECK_EQ_STR(sessions_now(), "11 11=boot-a");
    CHECK_EQ_U(*view(store).session, 11);
    CHECK(certain(store, 10) && certain(store, 11) && !certain(store, 12));
    CHECK_EQ(bale_store_checkpoint(store), 0);
    CHECK_EQ_STR(sessions_now(), "12 12=boot-a");
    sync_error = EIO;
    CHECK_EQ(bale_store_checkpoint(store), BALE_E_IO);
    sync_error = 0;
    CHECK_EQ_STR(sessions_now(), "13 12= 13=");
    CHECK(!certain(store, 12) && !certain(store, 13) && certain(store, 11));
    CHECK_EQ(bale_store_close(store, true, NULL), BALE_E_IO);
    scratch_remove();
}

/* A root on its way holds the roll back. */
static atomic_bool written;

static void *write_root(void *arg)
{
    struct bale_container_config config = view(arg);
    uint32_t session;

    pthread_rwlock_rdlock(config.session_roll);
    session = atomic_load(config.session);
    for (int i = 0; i < 1000; i++)
        sched_yield();
    atomic_store(&written, true);
    CHECK_EQ_U(atomic_load(config.session), session);
    pthread_rwlock_unlock(config.session_roll);
    return NULL;
}

static void *taint(void *arg)
{
    CHECK_EQ(bale_store_taint(arg), 0);
    return NULL;
}

/* Where syncfs() is not believed nobody asks for it, nothing that an earlier mount left is taken as
 * durable, and no boot vouches for a session that is listed. */
static void syncing_each_file(void)
{
    struct bale_store *store;
    uint32_t first, second;

    bale_store_platform.believes_syncfs = -1;
    store = begin();
    CHECK(!bale_store_believes_syncfs(store) && !bale_store_has_unsynced(store));
    CHECK_EQ_STR(sessions_now(), "10 10=");
    CHECK(certain(store, 10) && certain(store, 9));
    CHECK_EQ(bale_store_sync(store), BALE_E_UNSUPPORTED);
    CHECK_EQ(bale_store_checkpoint_begin(store, &first), 0);
    CHECK_EQ_U(first, 11);
    CHECK_EQ_STR(sessions_now(), "11 10= 11=");
    CHECK(!certain(store, 10));
    CHECK_EQ(bale_store_checkpoint_begin(store, &second), 0);
    /* The first ends while the second still syncs: it vouches only for what came before it. */
    CHECK_EQ(bale_store_checkpoint_end(store, first), 0);
    CHECK_EQ_STR(sessions_now(), "12 11= 12=");
    CHECK(certain(store, 10) && !certain(store, 11));
    CHECK_EQ(bale_store_checkpoint_end(store, second), 0);
    CHECK_EQ_STR(sessions_now(), "12 12=");
    die(store);

    store = store_open("s", BALE_STORE_UNLOCKED);
    CHECK(!certain(store, 12));
    bale_store_close(store, false, NULL);
    store = store_open("s", BALE_STORE_WRITE);
    CHECK(bale_store_has_unsynced(store));
    CHECK_EQ_STR(sessions_now(), "13 12= 13=");
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ_STR(sessions_now(), "13 12=");
    store = store_open("s", BALE_STORE_WRITE);
    CHECK(!bale_store_has_unsynced(store));
    CHECK_EQ(bale_store_taint(store), 0);
    CHECK_EQ(bale_store_close(store, true, NULL), BALE_E_IO);
    CHECK_EQ_STR(sessions_now(), "14 12= 14=");
    CHECK_EQ(syncs, 0);
    bale_store_platform.believes_syncfs = 1;

    /* An older program, which believed it, listed a session with its boot. */
    scratch_remove();
    store = begin();
    die(store);
    bale_store_platform.believes_syncfs = -1;
    store = store_open("s", BALE_STORE_UNLOCKED);
    CHECK(!certain(store, 10));
    bale_store_close(store, false, NULL);
    store = store_open("s", BALE_STORE_WRITE);
    CHECK(!certain(store, 10));
    CHECK_EQ(syncs, 0);
    bale_store_close(store, true, NULL);
    CHECK_EQ_STR(sessions_now(), "11 10=boot-a");
    bale_store_platform.believes_syncfs = 1;
    scratch_remove();
}

static void *checkpoint(void *arg)
{
    bale_store_checkpoint(arg);
    return NULL;
}

static void from_many_threads(void)
{
    struct bale_store *store = begin();
    pthread_t thread[8];

    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 8; i++)
            REQUIRE(pthread_create(&thread[i], NULL, i % 4 ? write_root : checkpoint, store) == 0);
        for (int i = 0; i < 50; i++)
            CHECK(certain(store, 9));
        for (int i = 0; i < 8; i++)
            pthread_join(thread[i], NULL);
    }
    CHECK(atomic_load(&written));
    CHECK_EQ_U(*view(store).session, 50);
    CHECK_EQ_STR(sessions_now(), "50 50=boot-a");
    for (int i = 0; i < 8; i++)
        REQUIRE(pthread_create(&thread[i], NULL, i % 4 ? checkpoint : taint, store) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    CHECK(!certain(store, *view(store).session));
    CHECK_EQ(bale_store_close(store, true, NULL), BALE_E_IO);
    scratch_remove();
}

static void hostile(const char *text)
{
    put_file("s/.balefs/sessions.json", text);
    for (int i = 0; i < 2; i++) {
        refused("s", i ? BALE_STORE_WRITE : BALE_STORE_READONLY, BALE_E_CORRUPT,
                "%s/s/.balefs/sessions.json: is damaged: it lists no sessions: see "
                "balefs fsck --repair");
        CHECK_EQ_STR(get_file("s/.balefs/sessions.json"), text);
    }
}

static void hostile_lists(void)
{
    struct bale_store *store;

    scratch_make();
    store_make("s");
    hostile("{}");
    hostile("{\"last\": -1, \"uncertain\": []}");
    hostile("{\"last\": 4294967296, \"uncertain\": []}");
    hostile("{\"last\": 7, \"uncertain\": {}}");
    hostile("{\"first\": \"1\", \"last\": 7, \"uncertain\": []}");
    hostile("{\"first\": -1, \"last\": 7, \"uncertain\": []}");
    hostile("{\"last\": 7, \"uncertain\": [3]}");
    hostile("{\"first\": 5, \"last\": 7, \"uncertain\": [], \"earlier\": [3]}");
    hostile("{\"first\": 5, \"last\": 7, \"uncertain\": [], \"earlier\": [[3]]}");
    hostile("{\"first\": 5, \"last\": 7, \"uncertain\": [], \"earlier\": [[3, 2]]}");
    hostile("{\"first\": 5, \"last\": 7, \"uncertain\": [], \"earlier\": [[3, 5]]}");
    hostile("{\"first\": 5, \"last\": 7, \"uncertain\": [], \"earlier\": [[1, 2], [2, 3]]}");
    hostile("{\"last\": 7, \"uncertain\": [{\"session\": 8, \"boot\": \"\"}]}");
    hostile("{\"last\": 7, \"uncertain\": [{\"session\": 7}]}");
    hostile("{\"last\": 7, \"uncertain\": [{\"session\": 7, \"boot\": \""
            "0123456789012345678901234567890123456789012345678901234567890123456789"
            "0123456789012345678901234567890123456789\"}]}");
    store = store_open("s", BALE_STORE_UNLOCKED); /* can be looked at; nothing is certain */
    CHECK(!certain(store, 7) && !certain(store, 1));
    bale_store_close(store, true, NULL);
    put_file("s/.balefs/sessions.json", "{\"last\": 4294967295, \"uncertain\": []}");
    refused("s", BALE_STORE_WRITE, BALE_E_TOOBIG,
            "%s/s: has no session numbers left: copy its files to a new store");
    scratch_remove();
}

int main(void)
{
    bale_store_platform.believes_syncfs = 1;
    bale_store_platform.syncfs = fake_syncfs;
    clean_end();
    first_of_all();
    restored();
    no_room();
    killed_in_this_boot();
    killed_and_the_sync_fails();
    another_boot();
    another_mount_is_another_cache();
    unknown_boot_is_never_ours();
    tainted();
    close_fails_to_sync();
    checkpoints();
    syncing_each_file();
    from_many_threads();
    hostile_lists();
    return check_result();
}
