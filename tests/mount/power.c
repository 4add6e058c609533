/* See power.h, power.sh and lossy.sh.
 *
 * usage: power MNT STORE SEED, with BALEFS in the environment and orders on standard input:
 *        work N     N operations of each actor, then the loss of power: the file system that STORE
 *                   lies on is shut down, and what its journal has not written is gone
 *        work N PID [PID]
 *                   then the process is killed: the daemon, or the one below that loses things,
 *                   which may be two.
 *                   In a third of the rounds that happens meanwhile, and in another third 3 ms
 *                   after `balefs sync` returned
 *        check      after the repair
 *        check kill after the daemon alone was killed: what it wrote is there, and not durable
 * Each is answered by a line: done, or bad. */
#include "tests/mount/power.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/mount/content.h"

/* linux/ext4.h of older systems does not have it. */
#define GOING_DOWN _IOR('X', 125, uint32_t)
#define GOING_NO_LOG_FLUSH 2u
#define ACTORS 4

atomic_bool power_lost;
const char *power_mnt;
bool power_plain, power_btrfs;

static const char *store;
static uint64_t seed, rounds;
static unsigned operations, actors_now;
static pid_t victims[2]; /* the second may be 0; both 0: the file system is shut down */
static struct actor *actors[ACTORS];
static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t power_random(struct actor *actor, uint64_t below)
{
    return content_mix(actor->random++) % below;
}

void power_note(struct actor *actor, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(actor->line[actor->lines++ % POWER_LINES], POWER_LINE, format, arguments);
    va_end(arguments);
}

void power_fault(struct actor *actor, const char *format, ...)
{
    va_list arguments;

    pthread_mutex_lock(&report_lock);
    size_t first = actor->lines > POWER_LINES ? actor->lines - POWER_LINES : 0;
    for (size_t i = first; actor->faults == 0 && i < actor->lines; i++)
        fprintf(stderr, "power: did %s\n", actor->line[i % POWER_LINES]);
    actor->faults++;
    fprintf(stderr, "power: seed %ju, round %ju: actor %u: ", (uintmax_t)seed, (uintmax_t)rounds,
            actor->number);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    pthread_mutex_unlock(&report_lock);
}

/* ---- The loss ---- */

static void pause_for(uint64_t microseconds)
{
    const struct timespec pause = {(time_t)(microseconds / 1000000),
                                   (long)(microseconds % 1000000) * 1000};

    nanosleep(&pause, NULL);
}

/* Some of what was not synced reaches the disk all the same, in any order. */
static int write_out(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)where;
    if (type != FTW_F || !S_ISREG(st->st_mode) || (st->st_ino + rounds) % 3 != 0)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        off_t from = (off_t)(content_mix(seed + rounds + st->st_ino) % 4) * 16384;
        (void)sync_file_range(fd, from, rounds % 2 ? 0 : 16384,
                              SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                  SYNC_FILE_RANGE_WAIT_AFTER);
        close(fd);
    }
    return 0;
}

static bool lose_power(void)
{
    if (victims[0]) {
        atomic_store(&power_lost, true);
        bool killed = kill(victims[0], SIGKILL) == 0;
        return (!victims[1] || kill(victims[1], SIGKILL) == 0) && killed;
    }
    uint32_t how = GOING_NO_LOG_FLUSH;
    int fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return false;
    if (rounds % 4 == 1)
        (void)nftw(store, write_out, 16, FTW_PHYS);
    atomic_store(&power_lost, true);
    bool good = ioctl(fd, GOING_DOWN, &how) == 0;
    if (!good)
        perror("power: the file system cannot be shut down");
    close(fd);
    return good;
}

/* ---- Actors ---- */

static struct actor *make_actor(unsigned number)
{
    struct actor *actor = calloc(1, sizeof *actor);

    if (!actor)
        abort();
    actor->number = number;
    for (unsigned i = 0; i < POWER_HELD; i++)
        actor->held[i] = -1;
    snprintf(actor->top, sizeof actor->top, "%s/a%u", power_mnt, number);
    power_object(actor, S_IFDIR, 0755)->promised = true;
    return actor;
}

/* A directory that is durable. */
static bool prepare(const struct actor *actor)
{
    int dir = open(power_mnt, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = dir >= 0 && (mkdir(actor->top, 0755) == 0 || errno == EEXIST) && fsync(dir) == 0;

    if (dir >= 0)
        close(dir);
    return good;
}

static void *act(void *arg)
{
    struct actor *actor = arg;

    for (unsigned i = 0; i < operations && !atomic_load(&power_lost); i++) {
        if (!power_step(actor)) {
            if (!atomic_load(&power_lost))
                power_fault(actor, "failed: %s", strerror(errno));
            break;
        }
    }
    return NULL;
}

/* Everything that was done is acknowledged. */
static bool sync_all_actors(void)
{
    if (!power_sync())
        return false;
    for (unsigned i = 0; i < ACTORS; i++) {
        power_note(actors[i], "balefs sync");
        power_promise_all(actors[i]);
    }
    return true;
}

static bool work(void)
{
    pthread_t ids[ACTORS];
    uint64_t random = content_mix(seed * 1000003 + rounds);
    bool sudden = random % 3 == 0, synced = random % 3 == 1;
    size_t faults = 0;
    bool good = true;

    /* One sync covers for many: with one actor more is found. */
    actors_now = random / 3 % 2 ? 1 : 1 + (unsigned)(random / 6 % ACTORS);
    for (unsigned i = 0; i < actors_now; i++)
        good = prepare(actors[i]) && good;
    atomic_store(&power_lost, false);
    for (unsigned i = 0; i < actors_now; i++) {
        actors[i]->random = content_mix(random + i) >> 8;
        actors[i]->lines = 0;
        if (pthread_create(&ids[i], NULL, act, actors[i]) != 0)
            abort();
    }
    if (sudden) {
        pause_for(content_mix(random) % (2000 * (uint64_t)operations));
        good = lose_power() && good;
    }
    for (unsigned i = 0; i < actors_now; i++)
        pthread_join(ids[i], NULL);
    if (good && synced) {
        good = sync_all_actors();
        pause_for(3000);
    }
    good = good && (sudden || lose_power());
    for (unsigned i = 0; i < ACTORS; i++) {
        for (unsigned j = 0; j < POWER_HELD; j++) {
            if (actors[i]->held[j] >= 0)
                close(actors[i]->held[j]);
            actors[i]->held[j] = -1;
        }
        faults += actors[i]->faults;
    }
    return good && faults == 0;
}

static bool check(bool killed)
{
    size_t faults = 0;

    for (unsigned i = 0; i < ACTORS; i++) {
        if (rounds > 1 || i < actors_now)
            power_check(actors[i], killed);
        faults += actors[i]->faults;
    }
    return faults == 0;
}

int main(int argc, char **argv)
{
    char line[100];

    if (argc != 4) {
        fputs("usage: power MNT STORE SEED\n", stderr);
        return 2;
    }
    umask(0);
    power_mnt = argv[1];
    store = argv[2];
    seed = strtoull(argv[3], NULL, 10);
    setenv("POWER_MNT", power_mnt, 1);
    power_plain = getenv("POWER_PLAIN");
    power_btrfs = getenv("POWER_BTRFS");
    for (unsigned i = 0; i < ACTORS; i++)
        actors[i] = make_actor(i);
    while (fgets(line, sizeof line, stdin)) {
        bool good = false;
        victims[0] = victims[1] = 0;
        if (sscanf(line, "work %u %d %d", &operations, &victims[0], &victims[1]) >= 1) {
            rounds++;
            good = work();
        } else if (strncmp(line, "check", 5) == 0) {
            good = check(strcmp(line, "check kill\n") == 0);
        }
        puts(good ? "done" : "bad");
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}
