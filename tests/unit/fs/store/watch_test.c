/* What a writer does whose files in .balefs are removed or replaced. */
#include <dirent.h>

#include "tests/unit/fs/store/watched.h"

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
    watched_make();
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
    remembered_name();
    backup_is_harmless();
    stays_young();
    looked_at(false, "lock", LOCK_SH);
    looked_at(false, "lock", LOCK_EX);
    looked_at(true, "lock2", LOCK_SH);
    bale_store_platform.flock = no_flock;
    each_removed(true);
    all_removed(true);
    bale_store_platform.flock = flock;
    scratch_remove();
    return check_result();
}
