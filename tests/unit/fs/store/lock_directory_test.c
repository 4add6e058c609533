/* The lock of the store's directory, which outlives whatever is done to .balefs, and the second file
 * for those who do not see it. */
#include <sys/file.h>

#include "fs/store/lock_watch.h"
#include "tests/unit/fs/store/hold.h"

/* Writers, readers and those who make stores are refused, and learn the holder's number. */
static void all_refused(void)
{
    const struct bale_store_config config = {.setting = {.codec = BALE_CODEC_ZSTD, .parameter = 3},
                                             .extent = 131072};
    char expected[BALE_REASON_SIZE];
    char who[200] = "";

    snprintf(expected, sizeof expected,
             "%%s/s: is mounted by process %ld on this host: unmount it there first", (long)holder);
    refused("s", BALE_STORE_WRITE, BALE_E_BUSY, expected);
    refused("s", BALE_STORE_REPAIR, BALE_E_BUSY, expected);
    refused("s", BALE_STORE_READONLY, BALE_E_BUSY, expected);
    CHECK_EQ(bale_store_remake(at("s"), &config, &why), BALE_E_BUSY);
    CHECK_EQ_STR(why.text, text_of(expected));
    snprintf(expected, sizeof expected, "process %ld on this host", (long)holder);
    CHECK(bale_store_locked_by(at("s"), who, sizeof who));
    CHECK_EQ_STR(who, expected);
}

/* The lock was removed: that of the directory keeps others out. */
static void lock_removed(bool network)
{
    bale_store_platform.network = network;
    hold("s", BALE_STORE_WRITE);
    REQUIRE(unlink(at("s/.balefs/lock")) == 0);
    all_refused();
    CHECK(access(at("s/.balefs/lock"), F_OK) < 0);
    let_go(false);
    CHECK_EQ_STR(get_file("s/.balefs/lock"), "\n"); /* it was made again at the end */
    hold("s", BALE_STORE_READONLY);
    refused("s", BALE_STORE_WRITE, BALE_E_BUSY,
            "%s/s: is being read by a balefs fsck or export: wait for its end");
    let_go(false);
    bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL);
    bale_store_platform.network = false;
}

/* The lock of a directory is not known on the other hosts of a network: a second file tells them.
 * For them it is as if only that file had the flock. */
static int no_directory_flock(int fd, int operation)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return flock(fd, operation);
}

static void second_file(void)
{
    bale_store_platform.network = true;
    bale_store_platform.flock = no_directory_flock;
    hold("s", BALE_STORE_WRITE);
    REQUIRE(unlink(at("s/.balefs/lock")) == 0);
    refused("s", BALE_STORE_WRITE, BALE_E_BUSY,
            "%s/s: is mounted by another process: unmount it there first");
    let_go(false);
    bale_store_platform.flock = flock;
    bale_store_platform.network = false;
}

/* A copy of .balefs, made while nobody had the store, is put in its place: no file there says that
 * the store is mounted. */
static void copy_put_back(bool network)
{
    const struct bale_store_config config = {.setting = {.codec = BALE_CODEC_ZSTD, .parameter = 3},
                                             .extent = 131072};
    char command[20000];

    bale_store_platform.network = network;
    snprintf(command, sizeof command, "rm -rf '%s/copy'; cp -a '%s/s/.balefs' '%s/copy'", scratch,
             scratch, scratch);
    REQUIRE(system(command) == 0);
    hold("s", BALE_STORE_WRITE);
    kill(holder, SIGSTOP); /* what has no time to look must not matter */
    REQUIRE(rename(at("s/.balefs"), at("s/away")) == 0);
    CHECK_EQ(bale_store_init(at("s"), &config, &why), BALE_E_BUSY);
    REQUIRE(rename(at("copy"), at("s/.balefs")) == 0);
    all_refused();
    REQUIRE(nftw(at("s/.balefs"), scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
    CHECK_EQ(bale_store_remake(at("s"), &config, &why), BALE_E_BUSY);
    REQUIRE(rename(at("s/away"), at("s/.balefs")) == 0);
    kill(holder, SIGCONT);
    let_go(false);
    bale_store_platform.network = false;
}

#define NOBODY 65534

/* Everybody who may read the directory of an open store can lock it. That keeps nobody out. */
static void locked_by_stranger(void)
{
    int ready[2];
    int end[2];
    char byte;

    if (geteuid() != 0)
        return;
    REQUIRE(chmod(scratch, 0711) == 0 && pipe(ready) == 0 && pipe(end) == 0);
    holder = fork();
    REQUIRE(holder >= 0);
    if (holder == 0) {
        int fd = open(at("s"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        close(end[1]);
        if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0 || flock(fd, LOCK_EX) < 0 ||
            write(ready[1], "x", 1) != 1 || read(end[0], &byte, 1) < 0)
            _exit(1);
        _exit(0);
    }
    close(ready[1]);
    close(end[0]);
    REQUIRE(read(ready[0], &byte, 1) == 1);
    struct bale_store *store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ(store->lock.directory, -1);
    CHECK(store->lock.second >= 0);
    close(end[1]);
    REQUIRE(waitpid(holder, NULL, 0) == holder);
    bale_lock_look(store);
    CHECK(store->lock.directory >= 0);
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    close(ready[0]);
}

int main(void)
{
    bale_store_platform.host = "node7";
    bale_store_platform.await_ms = 1;
    scratch_make();
    store_make("s");
    lock_removed(false);
    lock_removed(true);
    second_file();
    copy_put_back(false);
    copy_put_back(true);
    locked_by_stranger();
    scratch_remove();
    return check_result();
}
