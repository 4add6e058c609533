/* balefs freeze and thaw. A freeze always ends: after a time, or soon after the command that it was
 * for. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format/err.h"
#include "kernels/base/cond.h"
#include "kernels/base/thread.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/location.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/size.h"
#include "tools/mount/signals.h"

static const char freeze_help[] =
    "usage: balefs freeze [--for TIME] MNT...\n"
    "       balefs freeze MNT... -- CMD [ARGUMENTS]\n"
    "\n"
    "Stores everything, then holds back changes in the mount: meanwhile the store can be\n"
    "copied, or a snapshot taken. With CMD, for as long as it runs; otherwise until balefs\n"
    "thaw, and no longer than TIME: the mount then thaws by itself, and thaw ends with 1.\n"
    "\n"
    "New files, directories and links can be made meanwhile, and a copy may have them, empty.\n"
    "Writing, and changes of names and attributes that were there, wait for the thaw. Reading\n"
    "continues, except listing a directory in which a change of names waits. Only the mount's\n"
    "owner may freeze it, and root if it may enter (-o allow_other).\n"
    "\n"
    "      --for TIME  the longest freeze: 90, 30s, 5m, 2h [60s]\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs freeze /mnt/scratch -- cp -a /scratch/store /backup/\n"
    "  balefs freeze --for 5m /mnt/scratch && lvcreate -s ... && balefs thaw /mnt/scratch\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage. With CMD, CMD's; 125 if freezing failed, or\n"
    "the freeze ended before CMD did; 126 CMD cannot be run, 127 there is no CMD.\n";

static const char thaw_help[] =
    "usage: balefs thaw MNT...\n"
    "\n"
    "Ends balefs freeze: changes continue. Only the mount's owner may thaw it, and root if\n"
    "it may enter (-o allow_other).\n"
    "\n"
    "  -h, --help\n"
    "\n"
    "Example:\n"
    "  balefs thaw /mnt/scratch\n"
    "\n"
    "Exit status: 0 done, 1 failed, or the mount had thawed by itself, so that a copy is not of\n"
    "one state; 2 wrong usage.\n";

enum { OPTION_FOR = 256 };
enum { EXIT_OURS = 125 }; /* with a command */

#define FREEZE_S 60                     /* unless said otherwise; with a command, extended */
#define EXTEND_NS (10 * BALE_SECOND_NS) /* how often */
#define TIME_MOST (7 * 24 * 3600)

static const struct option freeze_options[] = {
    {"for", required_argument, NULL, OPTION_FOR},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const struct option thaw_options[] = {
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* A mount that is frozen for a command. */
struct held {
    const char *path;
    int fd;
    uint64_t number; /* of the freeze */
};

struct hold {
    struct held *mounts;
    size_t count;
    pthread_t thread;
    pthread_mutex_t lock; /* guards ended, and wakes the thread */
    pthread_cond_t wake;
    bool ended;
    atomic_bool lost; /* a freeze ended before the command */
};

static void explain(const char *path, const char *what)
{
    if (errno == EPERM || errno == EACCES)
        bale_message("%s: only root and the mount's owner may %s it", path, what);
    else if (errno == EBUSY)
        bale_message("%s: is frozen already: balefs thaw ends it", path);
    else if (errno == ETIME)
        bale_message("%s: had thawed before, so what was copied is not of one state: copy it "
                     "again, with a longer "
                     "balefs freeze --for, or with balefs freeze MNT -- CMD",
                     path);
    else if (errno == ENOTTY)
        bale_message(
            "%s: shows only a part of a balefs mount: name the mount point of the whole mount",
            path);
    else
        bale_message("%s: cannot %s: %s: the daemon's log says more", path, what, strerror(errno));
}

/* A path below a mount point stands for all of the mount. */
static void say_whole(const char *path)
{
    struct bale_location location;

    if (bale_location_find(path, &location) != BALE_OK)
        return;
    if (location.mounted && strcmp(location.real, location.top) != 0)
        bale_message("%s: all of %s is frozen, since only whole mounts can be", path, location.top);
    bale_location_free(&location);
}

/* *fd is open afterwards, and belongs to the caller, if there is a number. */
static bool freeze_one(const char *path, uint32_t seconds, int *fd, uint64_t *number)
{
    struct bale_control_freeze freeze = {.seconds = seconds};

    if (bale_control_open(path, fd) != BALE_OK)
        return false;
    /* the kernel writes back mappings and its cache, then the daemon stores everything */
    if (syncfs(*fd) == 0 && ioctl(*fd, BALE_IOC_FREEZE, &freeze) == 0) {
        *number = freeze.number;
        say_whole(path);
        return true;
    }
    explain(path, "freeze");
    close(*fd);
    return false;
}

static bool thaw_one(const char *path, int fd, uint64_t number)
{
    struct bale_control_freeze freeze = {.number = number};

    if (ioctl(fd, BALE_IOC_THAW, &freeze) == 0)
        return true;
    explain(path, "thaw");
    return false;
}

/* ---- With a command ---- */

static void *extend_thread(void *argument)
{
    struct hold *hold = argument;

    pthread_mutex_lock(&hold->lock);
    while (!hold->ended) {
        (void)bale_cond_wait_until(&hold->wake, &hold->lock, bale_clock_ns() + EXTEND_NS);
        for (size_t i = 0; i < hold->count && !hold->ended; i++) {
            struct bale_control_freeze freeze = {hold->mounts[i].number, FREEZE_S, 0};
            if (ioctl(hold->mounts[i].fd, BALE_IOC_FREEZE, &freeze) != 0 && errno == ETIME)
                atomic_store(&hold->lost, true);
        }
    }
    pthread_mutex_unlock(&hold->lock);
    return NULL;
}

static int run_command(struct bale_signals *signals, char **command)
{
    int state;
    pid_t child = bale_signals_fork(signals);

    if (child == 0)
        bale_signals_become(command);
    if (child < 0) {
        bale_message("%s: cannot be run: %s", command[0], strerror(errno));
        return EXIT_OURS;
    }
    (void)bale_signals_wait(signals, child, true, -1, &state);
    return bale_signals_status(state);
}

/* The command's status, or EXIT_OURS. If this process is killed, the mounts thaw by themselves. */
static int freeze_for(char **paths, size_t count, char **command)
{
    struct hold hold = {.mounts = calloc(count, sizeof *hold.mounts)};
    struct bale_signals signals = {0};
    int status = EXIT_OURS;

    bale_signals_block(&signals);
    for (bool done = hold.mounts; done && hold.count < count;) {
        struct held *held = &hold.mounts[hold.count];
        held->path = paths[hold.count];
        done = freeze_one(held->path, FREEZE_S, &held->fd, &held->number);
        hold.count += done;
    }
    if (!hold.mounts || hold.count < count)
        goto out;
    pthread_mutex_init(&hold.lock, NULL);
    bale_cond_init(&hold.wake);
    int e = bale_thread_start(&hold.thread, "balefs-freeze", extend_thread, &hold);
    if (e != 0) {
        bale_message("a thread cannot be made: %s", strerror(e));
        goto out;
    }
    status = signals.end ? 128 + signals.end : run_command(&signals, command);
    pthread_mutex_lock(&hold.lock);
    hold.ended = true;
    pthread_cond_signal(&hold.wake);
    pthread_mutex_unlock(&hold.lock);
    pthread_join(hold.thread, NULL);
out:
    for (size_t i = 0; i < hold.count; i++) {
        if (!thaw_one(hold.mounts[i].path, hold.mounts[i].fd, hold.mounts[i].number))
            atomic_store(&hold.lost, true);
        close(hold.mounts[i].fd);
    }
    free(hold.mounts);
    return atomic_load(&hold.lost) ? EXIT_OURS : status;
}

/* ---- Arguments ---- */

static int freeze_run(const struct bale_command *command, int argc, char **argv)
{
    uint64_t seconds = 0, number;
    int words = 1, option, fd, status = BALE_EXIT_DONE;

    while (words < argc && strcmp(argv[words], "--") != 0)
        words++;
    char **run = words < argc ? argv + words + 1 : NULL;
    while ((option = bale_options_next(command, words, argv, ":h", freeze_options)) !=
           BALE_OPTION_END)
        if (option != OPTION_FOR)
            return bale_options_status(command, option);
        else if (!bale_seconds_parse(optarg, TIME_MOST, &seconds) || seconds == 0)
            return bale_usage_error(command, "--for %s: give a time, as 90, 30s or 5m", optarg);
    if (optind == words)
        return bale_usage_error(command, "MNT is missing");
    if (run && !run[0])
        return bale_usage_error(command, "CMD is missing");
    if (run && seconds)
        return bale_usage_error(command,
                                "with CMD the freeze lasts as long as it runs, not --for a time");
    if (run)
        return freeze_for(argv + optind, (size_t)(words - optind), run);
    for (int i = optind; i < words; i++)
        if (freeze_one(argv[i], (uint32_t)(seconds ? seconds : FREEZE_S), &fd, &number))
            close(fd);
        else
            status = BALE_EXIT_FAILED;
    return status;
}

static int thaw_run(const struct bale_command *command, int argc, char **argv)
{
    int option, fd, status = BALE_EXIT_DONE;

    while ((option = bale_options_next(command, argc, argv, ":h", thaw_options)) != BALE_OPTION_END)
        return bale_options_status(command, option);
    if (optind == argc)
        return bale_usage_error(command, "MNT is missing");
    for (int i = optind; i < argc; i++) {
        bool opened = bale_control_open(argv[i], &fd) == BALE_OK;
        if (!opened || !thaw_one(argv[i], fd, 0))
            status = BALE_EXIT_FAILED;
        if (opened)
            close(fd);
    }
    return status;
}

const struct bale_command bale_command_freeze = {
    .name = "freeze",
    .summary = "stores everything and holds back changes",
    .help = freeze_help,
    .usage = BALE_EXIT_USAGE,
    .run = freeze_run,
};

const struct bale_command bale_command_thaw = {
    .name = "thaw",
    .summary = "ends a freeze",
    .help = thaw_help,
    .usage = BALE_EXIT_USAGE,
    .run = thaw_run,
};
