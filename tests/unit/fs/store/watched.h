/* A store whose .balefs others change while it is open. */
#ifndef BALE_TESTS_UNIT_FS_STORE_WATCHED_H
#define BALE_TESTS_UNIT_FS_STORE_WATCHED_H

#include <sys/file.h>

#include "fs/store/lock_file.h"
#include "fs/store/lock_watch.h"
#include "tests/unit/fs/store/scratch.h"

#define OWN "s/.balefs"
#define LOCK OWN "/lock"

static struct bale_store *store;

static inline void copy_directory(const char *from, const char *to)
{
    char command[20000];

    snprintf(command, sizeof command, "cp -a '%s' '%s'", at(from), at(to));
    REQUIRE(system(command) == 0);
}

/* At once: a watch may be making files in it, also while they are removed. */
static inline void remove_all(void)
{
    REQUIRE(rename(at(OWN), at("removed")) == 0);
    for (int i = 0; nftw(at("removed"), scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0; i++)
        REQUIRE(i < 1000);
}

/* Another process is refused, and learns who has it. */
static inline void try_to_get_in(void)
{
    struct bale_store *other;
    char expected[200];

    snprintf(expected, sizeof expected, "is mounted by process %ld on host node7", (long)getppid());
    CHECK_EQ(bale_store_open(at("s"), BALE_STORE_WRITE, &other, &why), BALE_E_BUSY);
    if (!CHECK(strstr(why.text, expected)))
        fprintf(stderr, "%s\n", why.text);
}

/* After a look everything is there, and the store goes on. */
static inline void is_whole(void)
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

static inline void begin(bool network)
{
    bale_store_platform.network = network;
    store = store_open("s", BALE_STORE_WRITE);
    is_whole();
}

static inline void end(void)
{
    CHECK_EQ(bale_store_close(store, true, "all is stored"), 0);
    CHECK(bale_store_platform.flock != flock || strcmp(get_file(LOCK), "\n") == 0);
    CHECK_EQ(bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL), 0);
    bale_store_platform.network = false;
}

static inline void put_backup_back(void)
{
    remove_all();
    copy_directory("backup", OWN);
}

static _Atomic int64_t time_now = 1000000;

static inline int64_t clock_now(void)
{
    return time_now;
}

static inline void watched_make(void)
{
    bale_store_platform.host = "node7";
    bale_store_platform.await_ms = 1;
    bale_store_platform.believes_syncfs = 1;
    scratch_make();
    store_make("s");
}

#endif
