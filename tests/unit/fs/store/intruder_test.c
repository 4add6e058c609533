/* What a writer does when another writer has got in, or may have. */
#include "tests/unit/fs/store/watched.h"

#define FOREIGN "{\"host\":\"far\",\"boot\":\"b\",\"process\":1}"

/* As another host sees it: locks of directories are not seen. */
static int unseen_flock(int fd, int operation)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : flock(fd, operation);
}

/* What the holder of the lock writes into it while the store tries to get it. */
static int late_flock(int fd, int operation)
{
    struct stat st, lock;

    if (operation & LOCK_EX && fstat(fd, &st) == 0 && stat(at(LOCK), &lock) == 0 &&
        st.st_ino == lock.st_ino)
        put_file(LOCK, FOREIGN);
    return flock(fd, operation);
}

/* Nothing is written any more, and what is the other's stays. */
static void is_stopped(const char *lock)
{
    struct bale_store_config config = *bale_store_config(store);
    char sessions[4096];

    snprintf(sessions, sizeof sessions, "%s", get_file(OWN "/sessions.json"));
    unlink(at(OWN "/last-unmount.json"));
    bale_lock_look(store);
    CHECK(bale_store_is_stopped(store));
    CHECK_EQ(bale_store_checkpoint(store), BALE_E_IO);
    CHECK_EQ(bale_store_set_config(store, &config, &why), BALE_E_IO);
    CHECK_EQ(bale_store_close(store, true, "all is stored"), BALE_E_IO);
    CHECK_EQ_STR(get_file(LOCK), lock);
    CHECK_EQ_STR(get_file(OWN "/sessions.json"), sessions);
    CHECK(access(at(OWN "/last-unmount.json"), F_OK) < 0);
    bale_store_platform.network = false;
}

/* What another writer does that comes while this one is suspended, and goes again. */
static void visit(void)
{
    struct bale_store *other;

    bale_store_platform.flock = unseen_flock;
    if (CHECK_EQ(bale_store_open(at("s"), BALE_STORE_WRITE, &other, &why), 0))
        CHECK_EQ(bale_store_close(other, true, NULL), 0);
}

/* It finds .balefs as a backup has it, on another host, which does not see this one's lock of the
 * directory: afterwards no lock tells that it was here. */
static void visited(void (*prepare)(void))
{
    char sessions[4096];

    begin(true);
    bale_store_platform.now = clock_now;
    bale_lock_look(store);
    prepare();
    in_child(0, visit);
    CHECK_EQ_STR(get_file(LOCK), "\n");
    snprintf(sessions, sizeof sessions, "%s", get_file(OWN "/sessions.json"));
    time_now += 1500;
    CHECK(!bale_store_is_stopped(store)); /* that was no pause */
    time_now += 1500;
    CHECK(bale_store_is_stopped(store));
    CHECK_EQ(bale_store_checkpoint(store), BALE_E_IO);
    CHECK_EQ(bale_store_close(store, true, "all is stored"), BALE_E_IO);
    CHECK_EQ_STR(get_file(OWN "/sessions.json"), sessions);
    bale_store_platform.now = NULL;
    bale_store_platform.network = false;
    CHECK_EQ(bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL), 0);
}

static void remove_locks(void)
{
    REQUIRE(unlink(at(LOCK)) == 0 && unlink(at(OWN "/lock2")) == 0);
}

static void remove_sessions(void)
{
    REQUIRE(unlink(at(OWN "/sessions.json")) == 0);
    remove_locks();
}

/* After a pause nothing is written before it is known whose the store is. */
static void nothing_known(void)
{
    begin(true);
    bale_store_platform.now = clock_now;
    bale_lock_look(store);
    REQUIRE(rename(at(OWN), at("removed")) == 0);
    put_file(OWN, "");
    time_now += 1500;
    CHECK(!bale_store_is_stopped(store));
    time_now += 1500;
    CHECK(bale_store_is_stopped(store));
    REQUIRE(unlink(at(OWN)) == 0 && rename(at("removed"), at(OWN)) == 0);
    CHECK(!bale_store_is_stopped(store));
    bale_store_platform.now = NULL;
    end();
}

/* A program that knows the lock's file alone has made it again and has it. */
static void foreign_flock(const char *text)
{
    int fd;

    begin(false);
    REQUIRE(unlink(at(LOCK)) == 0);
    put_file(LOCK, text);
    fd = open(at(LOCK), O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && flock(fd, LOCK_EX) == 0);
    is_stopped(FOREIGN);
    close(fd);
}

/* Another host has taken the store over. */
static void foreign_text(bool network)
{
    const char *text = FOREIGN;

    begin(network);
    REQUIRE(unlink(at(LOCK)) == 0);
    put_file(LOCK, text);
    is_stopped(text);
    put_file(LOCK, "");
    CHECK_EQ(unlink(at(LOCK)), 0);
}

/* The whole directory is another's. */
static void foreign_directory(void)
{
    const char *text = FOREIGN;

    begin(true);
    remove_all();
    REQUIRE(mkdir(at(OWN), 0711) == 0);
    put_file(LOCK, text);
    is_stopped(text);
    remove_all();
}

int main(void)
{
    watched_make();
    copy_directory(OWN, "backup");
    CHECK_EQ(bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL), 0);
    CHECK_EQ(bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL), 0);
    visited(put_backup_back);
    visited(remove_sessions);
    visited(remove_locks);
    nothing_known();
    foreign_flock(FOREIGN);
    REQUIRE(unlink(at(LOCK)) == 0);
    bale_store_platform.flock = late_flock;
    foreign_flock("");
    bale_store_platform.flock = flock;
    REQUIRE(unlink(at(LOCK)) == 0);
    foreign_text(true);
    bale_store_platform.flock = no_flock;
    foreign_text(true);
    bale_store_platform.flock = flock;
    foreign_directory();
    scratch_remove();
    return check_result();
}
