/* balefs run: runs a command with a store mounted, for batch jobs. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <jansson.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/message.h"
#include "tools/common/mounts.h"
#include "tools/common/options.h"
#include "tools/common/size.h"
#include "tools/mount/join.h"
#include "tools/mount/mount.h"
#include "tools/mount/namespace.h"
#include "tools/mount/options.h"
#include "tools/mount/place.h"
#include "tools/mount/signals.h"

static const char help[] =
    "usage: balefs run [--join] [--grace TIME] [--log FILE] [-o OPTIONS] STORE MNT [--]\n"
    "           CMD [ARGUMENTS]\n"
    "\n"
    "Mounts STORE at the directory MNT, runs CMD, stores everything durably and unmounts.\n"
    "Prints one line at the end that says what was stored, or read. For batch jobs, and for\n"
    "ordinary users on machines where nothing is installed: without a set-user-ID\n"
    "fusermount3, CMD and the mount get a user and a mount namespace of their own, which no\n"
    "other process sees.\n"
    "\n"
    "      --join        share one mount of STORE at MNT with all tasks of this node that\n"
    "                    give --join: the first mounts, the last unmounts, and each\n"
    "                    returns when everything written so far is durable\n"
    "      --grace TIME  after SIGTERM or SIGINT, the most time to store what is left when\n"
    "                    CMD has ended: 90, 30s, 5m [30s]\n"
    "      --log FILE    add the daemon's log to FILE instead of the system's log\n"
    "                    [where the system has none: .balefs/log in STORE]\n"
    "  -o OPTIONS        as of balefs mount; gpu-idle is 30s\n"
    "  -h, --help\n"
    "\n"
    "SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 go to CMD; the mount stays until\n"
    "CMD has ended. If the working directory lies below MNT, CMD begins at the same path in\n"
    "the mount. If balefs run itself is killed, CMD gets SIGTERM, and the mount ends\n"
    "when no process uses it any more.\n"
    "\n"
    "Examples:\n"
    "  balefs run -o create $TMPDIR/store $TMPDIR/work -- ./solver --output $TMPDIR/work\n"
    "  srun balefs run --join --grace=2m $TMPDIR/store $TMPDIR/work -- ./solver\n"
    "\n"
    "Exit status: CMD's (128+N: killed by signal N); 125 wrong usage, or mounting or storing\n"
    "failed, 126 CMD cannot be run, 127 there is no CMD.\n";

enum { EXIT_OURS = 125 };
enum { OPTION_LOG = 256, OPTION_JOIN, OPTION_GRACE, OPTION_CODEC, OPTION_EXTENT };

#define GRACE_MS 30000
#define TIME_MOST (7 * 24 * 3600)
#define GPU_IDLE_MS 30000 /* short, so that what follows the job finds the GPU free */

static const struct option long_options[] = {
    {"join", no_argument, NULL, OPTION_JOIN},
    {"grace", required_argument, NULL, OPTION_GRACE},
    {"log", required_argument, NULL, OPTION_LOG},
    {"options", required_argument, NULL, 'o'},
    {"codec", required_argument, NULL, OPTION_CODEC}, /* refused, with a hint */
    {"extent", required_argument, NULL, OPTION_EXTENT},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct batch {
    struct bale_mount_words words;
    const char *log;
    char *store, *mnt; /* absolute */
    char *inside;      /* of the mount: where CMD begins; NULL: in our working directory */
    char **command;
    int grace; /* milliseconds */
    bool shared;
    int daemon;    /* its process id */
    int daemon_fd; /* a pidfd */
    char daemon_log[BALE_LOG_PATH];
    struct bale_join join;
    struct bale_signals signals;
};

/* ---- Before ---- */

/* The daemon's process id, or 0. log gets the file that has its log; empty: there is none. */
static int daemon_process(const char *mnt, char log[static BALE_LOG_PATH])
{
    struct bale_control_status status = {0};
    bool answers = bale_control_status_at(mnt, &status);

    snprintf(log, BALE_LOG_PATH, "%s", status.log);
    return answers ? status.pid : 0;
}

/* Mounts in a child, so that the daemon inherits none of our descriptors. */
static bool mount_store(struct batch *batch)
{
    int state;

    if (bale_namespace_needed() && bale_namespace_enter() != BALE_OK)
        return false;
    pid_t child = bale_signals_fork(&batch->signals);
    if (child == 0) {
        bale_join_forget(&batch->join);
        batch->words.options.lifeline = batch->join.reader;
        if (batch->words.options.engine.gpu.release_ms == 0)
            batch->words.options.engine.gpu.release_ms = GPU_IDLE_MS;
        _exit(bale_mount_store(&batch->words.options, batch->log));
    }
    if (child < 0) {
        bale_message("cannot fork: %s", strerror(errno));
        return false;
    }
    (void)bale_signals_wait(&batch->signals, child, false, -1, &state);
    if (bale_signals_status(state) != BALE_EXIT_DONE)
        return false;
    batch->daemon = daemon_process(batch->mnt, batch->daemon_log);
    bale_join_mounted(&batch->join, batch->daemon);
    return true;
}

/* Enters the mount that another task made. */
static bool enter_mount(struct batch *batch)
{
    if (bale_namespace_join(batch->daemon) != BALE_OK)
        return false;
    if (daemon_process(batch->mnt, batch->daemon_log) == batch->daemon)
        return true;
    bale_message("%s: the mount of the other tasks does not answer: see its daemon's log",
                 batch->mnt);
    return false;
}

static bool begin_batch(struct batch *batch)
{
    bool first = true;
    int err = batch->shared ? bale_join_begin(&batch->join, batch->store, batch->mnt,
                                              &batch->signals, &first, &batch->daemon)
                            : bale_join_alone(&batch->join);

    if (err != BALE_OK || !(first ? mount_store(batch) : enter_mount(batch)))
        return false;
    batch->daemon_fd = (int)syscall(SYS_pidfd_open, batch->daemon, 0);
    return true;
}

/* ---- The command ---- */

static void __attribute__((noreturn)) be_command(const struct batch *batch, pid_t parent)
{
    /* The command must not go on when its files are about to vanish. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_OURS);
    if (batch->inside && !bale_place_enter(batch->mnt, batch->inside))
        _exit(EXIT_OURS);
    bale_signals_become(batch->command);
}

static int run_command(struct batch *batch)
{
    pid_t parent = getpid(), child;
    int state;

    if (batch->signals.end)
        return 128 + batch->signals.end;
    child = bale_signals_fork(&batch->signals);
    if (child == 0)
        be_command(batch, parent);
    if (child < 0) {
        bale_message("%s: cannot be run: %s", batch->command[0], strerror(errno));
        return EXIT_OURS;
    }
    (void)bale_signals_wait(&batch->signals, child, true, -1, &state);
    return bale_signals_status(state);
}

/* ---- After ---- */

static int sync_batch(struct batch *batch)
{
    char *words[] = {(char[]){"sync"}, (char[]){"--"}, batch->mnt, NULL};

    optind = 0;
    return bale_command_sync.run(&bale_command_sync, 3, words);
}

static bool still_mounted(const char *mnt)
{
    struct bale_mount_line mount;

    if (!bale_mounts_here(mnt, &mount))
        return false;
    bale_mount_line_free(&mount);
    return true;
}

/* Gives up data that cannot be stored, and detaches a busy mount lazily, because the job ends here.
 */
static int unmount_batch(struct batch *batch)
{
    int status = bale_umount_all(1, &batch->mnt, (struct bale_umount_how){.run = true});

    if (status != BALE_EXIT_DONE && still_mounted(batch->mnt))
        (void)bale_umount_all(1, &batch->mnt,
                              (struct bale_umount_how){.force = true, .lazy = true, .run = true});
    return status;
}

static int give_up_batch(struct batch *batch)
{
    int status =
        bale_umount_all(1, &batch->mnt, (struct bale_umount_how){.force = true, .run = true});

    if (still_mounted(batch->mnt))
        (void)bale_umount_all(1, &batch->mnt,
                              (struct bale_umount_how){.force = true, .lazy = true, .run = true});
    return status == BALE_EXIT_DONE ? BALE_EXIT_FAILED : status;
}

/* Runs a step in a child that no signal ends; only the grace time does. */
static bool run_in_time(struct batch *batch, int (*part)(struct batch *batch))
{
    int state;

    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(part(batch));
    if (child < 0)
        return false;
    if (bale_signals_wait(&batch->signals, child, false, batch->grace, &state))
        return bale_signals_status(state) == BALE_EXIT_DONE;
    kill(child, SIGKILL);
    bale_message("%s: not all was stored within %d s after a signal: its daemon continues alone; "
                 "--grace sets a longer time",
                 batch->mnt, batch->grace / 1000);
    return false;
}

/* A daemon whose mount is busy, or that is late, goes on without us. */
static bool daemon_goes_on(const struct batch *batch)
{
    struct pollfd end = {.fd = batch->daemon_fd, .events = POLLIN};

    return batch->daemon_fd >= 0 && poll(&end, 1, 0) == 0;
}

static uint64_t count_of(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void sum_up(struct batch *batch, uint64_t read, uint64_t compressed, uint64_t stored)
{
    char texts[3][BALE_TEXT], text[128];

    if (compressed > 0)
        snprintf(text, sizeof text, "%s stored as %s, ratio %s",
                 bale_size_text(compressed, texts[0]), bale_size_text(stored, texts[1]),
                 bale_ratio_text(compressed, stored, texts[2]));
    else if (read > 0)
        snprintf(text, sizeof text, "%s read, nothing written", bale_size_text(read, texts[0]));
    else
        snprintf(text, sizeof text, "nothing read or written");
    if (!bale_join_said(&batch->join, text))
        bale_message("%s: %s", batch->store, text);
}

/* Reports the result that the daemon wrote when it ended. False: it did not write one. */
static bool report_end(struct batch *batch)
{
    json_t *last = bale_store_last_unmount(batch->store);
    bool ended = batch->daemon != 0 && (int)count_of(last, "process") == batch->daemon;

    if (ended)
        sum_up(batch, count_of(last, "read"), count_of(last, "compressed"),
               count_of(last, "stored"));
    else
        bale_message("%s: its daemon did not end cleanly: what was written last may be lost: "
                     "check with balefs fsck %s",
                     batch->mnt, batch->store);
    json_decref(last);
    return ended;
}

/* True: everything is stored and durable. */
static bool end_batch(struct batch *batch)
{
    struct bale_control_status status = {0};

    (void)!chdir("/"); /* the working directory may be in the mount */
    bool synced = run_in_time(batch, sync_batch);
    if (!bale_join_leave(&batch->join))
        return synced;
    /* A read-only mount leaves nothing in the store that says it. */
    bool asked =
        synced && batch->words.options.read_only && bale_control_status_at(batch->mnt, &status);
    bool unmounted = run_in_time(batch, synced ? unmount_batch : give_up_batch);
    if (asked)
        sum_up(batch, status.read, 0, 0);
    bool ended = batch->words.options.read_only || daemon_goes_on(batch) || report_end(batch);
    return synced && unmounted && ended;
}

/* ---- The whole ---- */

/* 0 or the exit code, or a BALE_OPTION_*. */
static int parse(const struct bale_command *command, int argc, char **argv, struct batch *batch)
{
    struct bale_reason why;
    uint64_t seconds;
    int option;

    while ((option = bale_options_next(command, argc, argv, "+:o:h", long_options)) !=
           BALE_OPTION_END)
        if (option == OPTION_JOIN)
            batch->shared = true;
        else if (option == OPTION_LOG)
            batch->log = optarg;
        else if (option == OPTION_CODEC || option == OPTION_EXTENT)
            return bale_mount_setting_error(command, option == OPTION_CODEC, optarg);
        else if (option == OPTION_GRACE && !bale_seconds_parse(optarg, TIME_MOST, &seconds))
            return bale_usage_error(command, "--grace %s: give a time, as 90, 30s or 5m", optarg);
        else if (option == 'o' && bale_mount_words(&batch->words, optarg, &why) != BALE_OK)
            return bale_usage_error(command, "%s", why.text);
        else if (batch->words.options.idle)
            return bale_usage_error(command, "-o idle: the mount ends with CMD: leave it out");
        else if (option == OPTION_GRACE)
            batch->grace = (int)seconds * 1000;
        else if (option != 'o')
            return option;
    if (argc - optind > 2 && strcmp(argv[optind + 2], "--") == 0)
        batch->command = argv + optind + 3;
    else if (argc - optind > 2)
        batch->command = argv + optind + 2;
    if (!batch->command || !batch->command[0])
        return bale_usage_error(command, "STORE, MNT and CMD are needed");
    return 0;
}

static char *absolute(const char *path)
{
    char *found = bale_mounts_path(path);

    if (!found)
        bale_message("%s: %s: check the path", path, strerror(errno));
    return found;
}

static int run_batch(struct batch *batch)
{
    int status = EXIT_OURS;

    bale_signals_block(&batch->signals);
    if (begin_batch(batch)) {
        status = run_command(batch);
        if (!end_batch(batch)) {
            status = EXIT_OURS;
            if (batch->daemon_log[0])
                bale_message("%s: its daemon's log is %s", batch->mnt, batch->daemon_log);
        }
    } else if (batch->signals.end) {
        status = 128 + batch->signals.end;
    }
    bale_join_close(&batch->join);
    if (batch->daemon_fd >= 0)
        close(batch->daemon_fd);
    return status;
}

static int run_run(const struct bale_command *command, int argc, char **argv)
{
    static struct batch batch;
    int status = EXIT_OURS;

    batch = (struct batch){
        .words.options = {.allow_other = geteuid() == 0, .log_least = BALE_LOG_INFO},
        .grace = GRACE_MS,
        .daemon_fd = -1,
    };
    int parsed = parse(command, argc, argv, &batch);
    if (parsed != 0)
        return parsed < 0 ? bale_options_status(command, parsed) : parsed;
    if (batch.words.options.create)
        (void)mkdir(argv[optind], 0777); /* so that all tasks resolve the same name */
    batch.store = absolute(argv[optind]);
    batch.mnt = absolute(argv[optind + 1]);
    if (batch.store && batch.mnt) {
        batch.words.options.store = batch.store;
        batch.words.options.mountpoint = batch.mnt;
        batch.inside = bale_place_inside(batch.mnt);
        if (still_mounted(batch.mnt) || bale_place_is_free(batch.mnt))
            status = run_batch(&batch);
    }
    free(batch.inside);
    free(batch.store);
    free(batch.mnt);
    return status;
}

const struct bale_command bale_command_run = {
    .name = "run",
    .summary = "runs a command with a store mounted",
    .help = help,
    .usage = EXIT_OURS,
    .run = run_run,
};
