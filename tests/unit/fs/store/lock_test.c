/* One writer at a time, and what is made of a lock that was left behind. */
#include <errno.h>
#include <signal.h>
#include <sys/file.h>

#include "tests/unit/fs/store/scratch.h"

static int no_flock(int fd, int operation)
{
    (void)fd;
    (void)operation;
    errno = ENOSYS;
    return -1;
}

/* A process that opens a store and waits; with kill it dies holding it. */
static pid_t holder;
static int holder_pipe[2];

static void hold(const char *name, enum bale_store_access how)
{
    int ready[2];
    char byte;

    REQUIRE(pipe(ready) == 0 && pipe(holder_pipe) == 0);
    holder = fork();
    REQUIRE(holder >= 0);
    if (holder == 0) {
        struct bale_store *store = store_open(name, how);

        close(holder_pipe[1]);
        if (write(ready[1], "x", 1) != 1 || read(holder_pipe[0], &byte, 1) < 0)
            _exit(1);
        _exit(bale_store_close(store, true, NULL) == 0 ? 0 : 1);
    }
    close(ready[1]);
    close(holder_pipe[0]);
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
}

static void let_go(bool with_kill)
{
    int status;

    if (with_kill)
        kill(holder, SIGKILL);
    close(holder_pipe[1]);
    REQUIRE(waitpid(holder, &status, 0) == holder);
    CHECK(with_kill || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

/* "PATH/s: is mounted by process 123 on host H since T: unmount it there first" */
static void refused_beside_writer(enum bale_store_access how)
{
    char expected[BALE_REASON_SIZE];
    char who[200] = "";
    struct bale_store *store;

    CHECK_EQ(bale_store_open(at("s"), how, &store, &why), BALE_E_BUSY);
    snprintf(expected, sizeof expected, "%s: is mounted by process %ld on host node7 since 20",
             at("s"), (long)holder);
    CHECK_EQ_MEM(why.text, expected, strlen(expected));
    CHECK(strstr(why.text, "Z: unmount it there first"));
    CHECK(bale_store_locked_by(at("s"), who, sizeof who));
    snprintf(expected, sizeof expected, "process %ld on host node7 since ", (long)holder);
    CHECK_EQ_MEM(who, expected, strlen(expected));
}

static void one_writer(void)
{
    char who[200];

    hold("s", BALE_STORE_WRITE);
    refused_beside_writer(BALE_STORE_WRITE);
    refused_beside_writer(BALE_STORE_READONLY);
    bale_store_close(store_open("s", BALE_STORE_UNLOCKED), true, NULL);
    let_go(false);
    CHECK(!bale_store_locked_by(at("s"), who, sizeof who));
    CHECK_EQ_STR(get_file("s/.balefs/lock"), "");
    bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL);
}

static void readers_share(void)
{
    char who[200];

    hold("s", BALE_STORE_READONLY);
    bale_store_close(store_open("s", BALE_STORE_READONLY), true, NULL);
    refused("s", BALE_STORE_WRITE, BALE_E_BUSY,
            "%s/s: is mounted read-only by another process: unmount that first");
    CHECK(bale_store_locked_by(at("s"), who, sizeof who));
    CHECK_EQ_STR(who, "a read-only mount");
    let_go(false);
    bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL);
}

static void dead_holder_is_taken_over(void)
{
    char who[200];

    hold("s", BALE_STORE_WRITE);
    let_go(true);
    CHECK(strstr(get_file("s/.balefs/lock"), "node7"));
    CHECK(!bale_store_locked_by(at("s"), who, sizeof who));
    bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL);
}

#define TEXT(host, boot)                                                                           \
    "{\"host\":\"" host "\",\"boot\":\"" boot                                                      \
    "\",\"process\":77,\"since\":\"2026-01-02T03:04:05Z\",\"start\":5,\"namespace\":1}"

#define LEFT                                                                                       \
    "%s/s: was left locked by process 77 on host far?away since 2026-01-02T03:04:05Z, and its "    \
    "file system does not tell whether that still runs: unmount it there, or if it is gone for "   \
    "good remove %s/s/.balefs/lock"

static void foreign_host(void)
{
    /* This machine's own file system: the flock tells. */
    put_file("s/.balefs/lock", TEXT("far\\u0007away", "other"));
    bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL);
    /* A network's: it may not. */
    bale_store_platform.network = true;
    put_file("s/.balefs/lock", TEXT("far\\u0007away", "other"));
    refused("s", BALE_STORE_WRITE, BALE_E_BUSY, LEFT);
    refused("s", BALE_STORE_READONLY, BALE_E_BUSY, LEFT);
    CHECK(strstr(get_file("s/.balefs/lock"), "far"));
    /* The same host, started again. */
    put_file("s/.balefs/lock", TEXT("node7", "other"));
    bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL);
    /* No name at all. */
    bale_store_platform.host = "localhost";
    put_file("s/.balefs/lock", TEXT("localhost", "other"));
    refused("s", BALE_STORE_WRITE, BALE_E_BUSY,
            "%s/s: was left locked by process 77 on host localhost since 2026-01-02T03:04:05Z, "
            "and its file system does not tell whether that still runs: unmount it there, or if it "
            "is gone for good remove %s/s/.balefs/lock");
    bale_store_platform.host = "node7";
    put_file("s/.balefs/lock", "garbage");
    refused("s", BALE_STORE_WRITE, BALE_E_BUSY,
            "%s/s: was left locked by another process, and its file system does not tell whether "
            "that still runs: unmount it there, or if it is gone for good remove "
            "%s/s/.balefs/lock");
    put_file("s/.balefs/lock", "");
    bale_store_platform.network = false;
}

static void without_flock(void)
{
    char who[200];
    struct bale_store *store;

    bale_store_platform.flock = no_flock;
    hold("s", BALE_STORE_WRITE);
    refused_beside_writer(BALE_STORE_WRITE);
    refused_beside_writer(BALE_STORE_READONLY);
    let_go(false);
    CHECK(access(at("s/.balefs/lock"), F_OK) < 0);
    CHECK(!bale_store_locked_by(at("s"), who, sizeof who));
    bale_store_close(store_open("s", BALE_STORE_READONLY), true, NULL);
    hold("s", BALE_STORE_WRITE);
    let_go(true);
    CHECK(strstr(get_file("s/.balefs/lock"), "node7"));
    store = store_open("s", BALE_STORE_WRITE);
    CHECK(!bale_store_abilities(store)->flock);
    CHECK(strstr(bale_store_abilities(store)->text, "no flock"));
    bale_store_close(store, true, NULL);
    put_file("s/.balefs/lock", TEXT("far\\u0007away", "other"));
    refused("s", BALE_STORE_WRITE, BALE_E_BUSY, LEFT);
    REQUIRE(unlink(at("s/.balefs/lock")) == 0);
    bale_store_platform.flock = flock;
}

int main(void)
{
    bale_store_platform.host = "node7";
    scratch_make();
    store_make("s");
    one_writer();
    readers_share();
    dead_holder_is_taken_over();
    foreign_host();
    without_flock();
    scratch_remove();
    return check_result();
}
