/* What a writer does whose files in .balefs are removed, and when another writer has got in. */
#include <dirent.h>
#include <errno.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "fs/store/lock_file.h"
#include "fs/store/lock_watch.h"
#include "tests/unit/fs/store/scratch.h"

#define OWN "s/.balefs"
#define LOCK OWN "/lock"
#define FOREIGN "{\"host\":\"far\",\"boot\":\"b\",\"process\":1}"

static struct bale_store *store;

static int no_flock(int fd, int operation)
{
    (void)fd;
    (void)operation;
    errno = ENOSYS;
    return -1;
}

/* As another host sees it: locks of directories are not seen. */
static int unseen_flock(int fd, int operation)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : flock(fd, operation);
}

/* Whoever has the lock writes that into it while the store tries to get it. */
static int late_flock(int fd, int operation)
{
    struct stat st, lock;

    if (operation & LOCK_EX && fstat(fd, &st) == 0 && stat(at(LOCK), &lock) == 0 &&
        st.st_ino == lock.st_ino)
        put_file(LOCK, FOREIGN);
    return flock(fd, operation);
}

static void copy_directory(const char *from, const char *to)
{
    char command[20000];

    snprintf(command, sizeof command, "cp -a '%s' '%s'", at(from), at(to));
    REQUIRE(system(command) == 0);
}

/* At once: a watch may be making files in it, also while they are removed. */
static void remove_all(void)
{
    REQUIRE(rename(at(OWN), at("removed")) == 0);
    for (int i = 0; nftw(at("removed"), scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0; i++)
        REQUIRE(i < 1000);
}

/* Another process is refused, and learns who has it. */
static void try_to_get_in(void)
{
    struct bale_store *other;
    char expected[200];

    snprintf(expected, sizeof expected, "is mounted by process %ld on host node7", (long)getppid());
    CHECK_EQ(bale_store_open(at("s"), BALE_STORE_WRITE, &other, &why), BALE_E_BUSY);
    if (!CHECK(strstr(why.text, expected)))
        fprintf(stderr, "%s\n", why.text);
}

/* After a look everything is there, and the store goes on. */
static void is_whole(void)
{
    static const char *const names[] = {"lock", "volume.json", "volume-copy.json", "sessions.json"};

    bale_lock_look(store);
    CHECK(!bale_store_is_stopped(store));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];

        snprintf(name, sizeof name, OWN "/%s", names[i]);
        if (!CHECK(access(at(name), F_OK) == 0))
            fprintf(stderr, "no %s\n", name);
    }
    CHECK(bale_lock_named(store->root_fd, ".balefs", store->dir_fd) == BALE_NAMED);
    CHECK(bale_lock_named(store->dir_fd, "lock", store->lock.fd) == BALE_NAMED);
    in_child(0, try_to_get_in);
    CHECK_EQ(bale_store_checkpoint(store), 0);
}

static void begin(bool network)
{
    bale_store_platform.network = network;
    store = store_open("s", BALE_STORE_WRITE);
    is_whole();
}

static void end(void)
{
    CHECK_EQ(bale_store_close(store, true, "all is stored"), 0);
    CHECK(bale_store_platform.flock != flock || strcmp(get_file(LOCK), "\n") == 0);
    CHECK_EQ(bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL), 0);
    bale_store_platform.network = false;
}

/* A look at a store that nobody has touched writes nothing: a disk may sleep. */
static void nothing_removed(void)
{
    struct stat before, after;

    begin(false);
    REQUIRE(stat(at(OWN), &before) == 0);
    for (int i = 0; i < 10; i++)
        bale_lock_look(store);
    REQUIRE(stat(at(OWN), &after) == 0);
    CHECK(before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
          before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    end();
}

static void each_removed(bool network)
{
    begin(network);
    for (;;) {
        DIR *dir = opendir(at(OWN));
        struct dirent *entry;
        static unsigned next;
        unsigned i = 0;

        REQUIRE(dir);
        while ((entry = readdir(dir)))
            if (entry->d_name[0] != '.' && entry->d_type == DT_REG && i++ == next)
                break;
        if (entry)
            REQUIRE(unlinkat(dirfd(dir), entry->d_name, 0) == 0);
        closedir(dir);
        next = entry ? next + 1 : 0;
        if (!entry)
            break;
        is_whole();
    }
    end();
}

static void all_removed(bool network)
{
    char before[4096];
    struct stat st;

    begin(network);
    snprintf(before, sizeof before, "%s", get_file(OWN "/volume.json"));
    remove_all();
    is_whole();
    CHECK_EQ_STR(get_file(OWN "/volume.json"), before);
    CHECK_EQ_STR(get_file(OWN "/volume-copy.json"), before);
    CHECK(stat(at(OWN), &st) == 0 && (st.st_mode & 07777) == 0711);
    remove_all(); /* just before the end */
    end();
    begin(network);
    REQUIRE(rename(at(OWN), at("s/moved")) == 0);
    is_whole();
    REQUIRE(rename(at("s/moved"), at("s/.moved")) == 0); /* that one is not ours any more */
    is_whole();
    end();
    REQUIRE(nftw(at("s/.moved"), scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

/* A lock that nobody holds: it was put back, or made by hand. */
static void unheld_lock(void)
{
    begin(false);
    REQUIRE(unlink(at(LOCK)) == 0);
    put_file(LOCK, "");
    is_whole();
    CHECK(strstr(get_file(LOCK), "node7"));
    end();
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

/* The own sessions.json is changed for one that is older, or no JSON: it is made again. */
static void older_sessions(bool network)
{
    char older[4096];

    snprintf(older, sizeof older, "%s", get_file(OWN "/sessions.json"));
    begin(network);
    char own[4096];
    snprintf(own, sizeof own, "%s", get_file(OWN "/sessions.json"));
    put_file(OWN "/sessions.json", own); /* a copy of what it is */
    is_whole();
    put_file(OWN "/sessions.json", "{");
    is_whole();
    CHECK(strstr(get_file(OWN "/sessions.json"), store->sessions.writer));
    put_file(OWN "/sessions.json", older);
    is_whole();
    CHECK(strstr(get_file(OWN "/sessions.json"), store->sessions.writer));
    end();
}

/* What another writer does that comes while this one is suspended, and goes again. */
static void visit(void)
{
    struct bale_store *other;

    bale_store_platform.flock = unseen_flock;
    if (CHECK_EQ(bale_store_open(at("s"), BALE_STORE_WRITE, &other, &why), 0))
        CHECK_EQ(bale_store_close(other, true, NULL), 0);
}

static _Atomic int64_t time_now = 1000000;

static int64_t clock_now(void)
{
    return time_now;
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

static void put_backup_back(void)
{
    remove_all();
    copy_directory("backup", OWN);
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

/* The kernel of a network's client may remember a name that is gone: what it leads to has none. */
static void remembered_name(void)
{
    int fd;

    REQUIRE(mkdir(at("gone"), 0700) == 0);
    fd = open(at("gone"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK(bale_lock_named(fd, ".", fd) == BALE_NAMED);
    REQUIRE(rmdir(at("gone")) == 0);
    CHECK(bale_lock_named(fd, ".", fd) != BALE_NAMED);
    close(fd);
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

/* On a local file system the lock of the directory proves that nobody came, so a backup, however
 * old, costs nothing. */
static void backup_is_harmless(void)
{
    begin(false);
    CHECK_EQ(bale_store_checkpoint(store), 0);
    put_backup_back();
    is_whole();
    CHECK(strstr(get_file(OWN "/sessions.json"), store->sessions.writer));
    end();
}

static const char *const read_only[] = {OWN "/volume.json", OWN "/volume-copy.json", OWN};

static void make_old(void)
{
    const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};

    for (size_t i = 0; i < sizeof read_only / sizeof *read_only; i++)
        REQUIRE(utimensat(AT_FDCWD, at(read_only[i]), old, 0) == 0);
}

static bool are_young(void)
{
    struct stat st;
    bool young = true;

    for (size_t i = 0; i < sizeof read_only / sizeof *read_only; i++) {
        REQUIRE(stat(at(read_only[i]), &st) == 0);
        young = young && st.st_mtim.tv_sec > 1000000 && st.st_atim.tv_sec > 1000000;
    }
    return young;
}

/* What cleans up scratch space goes by age: the files that a mount only reads stay young. */
static void stays_young(void)
{
    make_old();
    begin(false);
    CHECK(are_young());
    make_old();
    bale_store_platform.now = clock_now;
    bale_lock_look(store);
    CHECK_EQ(bale_store_watch(store), 0);
    CHECK(!are_young());
    time_now += (int64_t)25 * 3600 * 1000;
    for (int i = 0; i < 2000 && !are_young(); i++)
        usleep(10000);
    CHECK(are_young());
    bale_lock_watch_end(store);
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

/* A program that only looks who has the store, or reads it, has locked what was put in the place of
 * our file: the store goes on, and the file is ours once that has gone. */
static void looked_at(bool network, const char *name, int operation)
{
    char path[64];
    int fd;

    begin(network);
    snprintf(path, sizeof path, OWN "/%s", name);
    REQUIRE(unlink(at(path)) == 0);
    put_file(path, "");
    fd = open(at(path), O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && flock(fd, operation) == 0);
    bale_lock_look(store);
    CHECK(!bale_store_is_stopped(store));
    close(fd);
    is_whole();
    end();
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

/* The thread looks by itself. */
static void watched(void)
{
    begin(false);
    CHECK_EQ(bale_store_watch(store), 0);
    remove_all();
    while (access(at(OWN "/sessions.json"), F_OK) < 0)
        usleep(1000);
    is_whole();
    end();
}

int main(void)
{
    bale_store_platform.host = "node7";
    bale_store_platform.await_ms = 1;
    bale_store_platform.believes_syncfs = 1;
    scratch_make();
    store_make("s");
    nothing_removed();
    each_removed(false);
    each_removed(true);
    all_removed(false);
    all_removed(true);
    unheld_lock();
    watched();
    older_sessions(false);
    older_sessions(true);
    copy_directory(OWN, "backup");
    CHECK_EQ(bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL), 0);
    CHECK_EQ(bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL), 0);
    visited(put_backup_back);
    visited(remove_sessions);
    visited(remove_locks);
    remembered_name();
    nothing_known();
    backup_is_harmless();
    stays_young();
    looked_at(false, "lock", LOCK_SH);
    looked_at(false, "lock", LOCK_EX);
    looked_at(true, "lock2", LOCK_SH);
    foreign_flock(FOREIGN);
    REQUIRE(unlink(at(LOCK)) == 0);
    bale_store_platform.flock = late_flock;
    foreign_flock("");
    bale_store_platform.flock = flock;
    REQUIRE(unlink(at(LOCK)) == 0);
    foreign_text(true);
    bale_store_platform.flock = no_flock;
    foreign_text(true);
    each_removed(true);
    all_removed(true);
    bale_store_platform.flock = flock;
    foreign_directory();
    scratch_remove();
    return check_result();
}
