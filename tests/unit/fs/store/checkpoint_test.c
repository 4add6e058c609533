/* Checkpoints: sessions that follow each other while a store is mounted, also where each file is
 * synced by itself, and from many threads. */
#include <errno.h>

#include "tests/unit/fs/store/sessions.h"

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

int main(void)
{
    sessions_begin();
    checkpoints();
    syncing_each_file();
    from_many_threads();
    return check_result();
}
