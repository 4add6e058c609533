/* One writer at a time, and what is made of a lock that was left behind. */
#include <sys/file.h>

#include "tests/unit/fs/store/hold.h"

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
    bale_store_close(store_open("s", BALE_STORE_BESIDE), true, NULL);
    CHECK(bale_store_written_by(at("s"), who, sizeof who));
    let_go(false);
    CHECK(!bale_store_locked_by(at("s"), who, sizeof who));
    CHECK_EQ_STR(get_file("s/.balefs/lock"), "\n");
    hold("s", BALE_STORE_BESIDE);
    CHECK(!bale_store_locked_by(at("s"), who, sizeof who));
    bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL);
    let_go(false);
    bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL);
}

static void readers_share(void)
{
    char who[200];

    hold("s", BALE_STORE_READONLY);
    bale_store_close(store_open("s", BALE_STORE_READONLY), true, NULL);
    refused("s", BALE_STORE_WRITE, BALE_E_BUSY,
            "%s/s: is being read by a balefs fsck or export: wait for its end");
    CHECK(bale_store_locked_by(at("s"), who, sizeof who));
    CHECK_EQ_STR(who, "a balefs fsck or export");
    CHECK(!bale_store_written_by(at("s"), who, sizeof who));
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

/* The refusal of a lock that was left by who, on the boot. */
#define LEFT_BY(who, boot)                                                                         \
    "%s/s: was left locked by " who                                                                \
    ", and its file system does not tell whether that still has it: unmount it there, or only if " \
    "that is known to have ended, or if this is a copy, mount with -o takeover=" boot
#define LEFT LEFT_BY("process 77 on host far?away since 2026-01-02T03:04:05Z", "other")

static void left_on_network(const char *text, const char *message)
{
    put_file("s/.balefs/lock", text);
    refused("s", BALE_STORE_WRITE, BALE_E_BUSY, message);
    refused("s", BALE_STORE_READONLY, BALE_E_BUSY, message);
    CHECK_EQ_STR(get_file("s/.balefs/lock"), text);
}

static void foreign_host(void)
{
    /* This machine's own file system: the flock tells. */
    put_file("s/.balefs/lock", TEXT("far\\u0007away", "other"));
    bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL);
    /* A network's: it may not. */
    bale_store_platform.network = true;
    left_on_network(TEXT("far\\u0007away", "other"), LEFT);
    /* A host with the same name is no proof: containers and images share names. */
    left_on_network(TEXT("node7", "other"),
                    LEFT_BY("process 77 on host node7 since 2026-01-02T03:04:05Z", "other"));
    left_on_network(TEXT("node7", "o,ther"),
                    LEFT_BY("process 77 on host node7 since 2026-01-02T03:04:05Z", "unknown"));
    left_on_network("garbage", LEFT_BY("another process", "unknown"));
    put_file("s/.balefs/lock", "");
    bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL);
    bale_store_platform.network = false;
}

static void takeover_refused(const char *boot)
{
    struct bale_store *store;

    CHECK_EQ(bale_store_open_takeover(at("s"), BALE_STORE_WRITE, boot, &store, &why), BALE_E_BUSY);
}

static void take_over(const char *boot)
{
    struct bale_store *store = NULL;

    if (!CHECK_EQ(bale_store_open_takeover(at("s"), BALE_STORE_WRITE, boot, &store, &why), 0))
        fprintf(stderr, "%s\n", why.text);
    CHECK(strstr(get_file("s/.balefs/lock"), "node7"));
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
}

/* takeover names the boot of the holder, and replaces the lock by a new file. */
static void taken_over(void)
{
    struct stat before, after;

    bale_store_platform.network = true;
    put_file("s/.balefs/lock", TEXT("far", "other"));
    takeover_refused("another");
    takeover_refused("unknown");
    REQUIRE(stat(at("s/.balefs/lock"), &before) == 0);
    take_over("other");
    CHECK(bale_store_platform.flock != flock ||
          (stat(at("s/.balefs/lock"), &after) == 0 && after.st_ino != before.st_ino));
    put_file("s/.balefs/lock", "garbage");
    takeover_refused("other");
    take_over("unknown");
    bale_store_platform.network = false;
}

/* A process of this boot that is not there has ended, unless it is of another container: there are
 * other processes under its numbers. */
static void of_another_namespace(void)
{
    static const char text[] = "{\"host\":\"node7\",\"boot\":\"%s\",\"process\":%d,\"start\":5,"
                               "\"namespace\":%llu,\"device\":1}";
    unsigned long long namespace = bale_platform_pid_namespace();
    char boot[BALE_IDENTITY], lock[512];
    pid_t ended = fork();

    if (ended == 0)
        _exit(0);
    REQUIRE(ended > 0 && waitpid(ended, NULL, 0) == ended);
    bale_platform_boot(boot);
    bale_store_platform.network = true;
    snprintf(lock, sizeof lock, text, boot, (int)ended, namespace + 1);
    put_file("s/.balefs/lock", lock);
    takeover_refused(NULL);
    snprintf(lock, sizeof lock, text, boot, (int)ended, namespace);
    put_file("s/.balefs/lock", lock);
    take_over(NULL);
    bale_store_platform.network = false;
}

/* A process that was killed and that nobody has waited for. */
static void zombie_is_gone(void)
{
    siginfo_t info;

    bale_store_platform.network = true;
    hold("s", BALE_STORE_WRITE);
    kill(holder, SIGKILL);
    REQUIRE(waitid(P_PID, (id_t)holder, &info, WEXITED | WNOWAIT) == 0);
    take_over(NULL);
    let_go(true);
    bale_store_platform.network = false;
}

/* A holder that runs keeps its lock, also where the flock does not tell: a second mount of the
 * network file system on this host. */
static int any_flock(int fd, int operation)
{
    (void)fd;
    (void)operation;
    return 0;
}

/* The holder's text, as if it had another mount of the file system. */
static void another_mount(void)
{
    char text[4096];
    char *device;

    snprintf(text, sizeof text, "%s", get_file("s/.balefs/lock"));
    device = strstr(text, "\"device\":");
    REQUIRE(device);
    snprintf(device, 32, "\"device\":1}");
    put_file("s/.balefs/lock", text);
}

static void running_holder_stays(void)
{
    char boot[BALE_IDENTITY];

    bale_platform_boot(boot);
    bale_store_platform.network = true;
    hold("s", BALE_STORE_WRITE);
    takeover_refused(boot);
    bale_store_platform.flock = any_flock;
    another_mount();
    takeover_refused(NULL);
    takeover_refused("other");
    CHECK(strstr(why.text, "or if this is a copy, mount with -o takeover="));
    let_go(true);
    take_over(NULL);
    bale_store_platform.flock = flock;
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
    taken_over();
    bale_store_platform.flock = flock;
}

int main(void)
{
    bale_store_platform.host = "node7";
    bale_store_platform.await_ms = 1;
    scratch_make();
    store_make("s");
    one_writer();
    readers_share();
    dead_holder_is_taken_over();
    foreign_host();
    taken_over();
    of_another_namespace();
    zombie_is_gone();
    running_holder_stays();
    without_flock();
    scratch_remove();
    return check_result();
}
