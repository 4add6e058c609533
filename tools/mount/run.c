/* balefs run: runs a command with a store mounted, for batch jobs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "tools/balefs.h"
#include "tools/common/message.h"
#include "tools/common/mounts.h"
#include "tools/common/options.h"
#include "tools/common/size.h"
#include "tools/mount/options.h"
#include "tools/mount/place.h"
#include "tools/mount/run_mounted.h"

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

enum { OPTION_LOG = 256, OPTION_JOIN, OPTION_GRACE, OPTION_CODEC, OPTION_EXTENT };

#define GRACE_MS 30000
#define TIME_MOST (7 * 24 * 3600)

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

/* 0 or the exit code, or a BALE_OPTION_*. */
static int parse(const struct bale_command *command, int argc, char **argv, struct bale_run *run)
{
    struct bale_reason why;
    uint64_t seconds;
    int option;

    while ((option = bale_options_next(command, argc, argv, "+:o:h", long_options)) !=
           BALE_OPTION_END)
        if (option == OPTION_JOIN)
            run->shared = true;
        else if (option == OPTION_LOG)
            run->log = optarg;
        else if (option == OPTION_CODEC || option == OPTION_EXTENT)
            return bale_mount_setting_error(command, option == OPTION_CODEC, optarg);
        else if (option == OPTION_GRACE && !bale_seconds_parse(optarg, TIME_MOST, &seconds))
            return bale_usage_error(command, "--grace %s: give a time, as 90, 30s or 5m", optarg);
        else if (option == 'o' && bale_mount_words(&run->words, optarg, &why) != BALE_OK)
            return bale_usage_error(command, "%s", why.text);
        else if (run->words.options.idle)
            return bale_usage_error(command, "-o idle: the mount ends with CMD: leave it out");
        else if (option == OPTION_GRACE)
            run->grace = (int)seconds * 1000;
        else if (option != 'o')
            return option;
    if (argc - optind > 2 && strcmp(argv[optind + 2], "--") == 0)
        run->command = argv + optind + 3;
    else if (argc - optind > 2)
        run->command = argv + optind + 2;
    if (!run->command || !run->command[0])
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

static int run_run(const struct bale_command *command, int argc, char **argv)
{
    static struct bale_run run;
    int status = BALE_EXIT_RUN;

    run = (struct bale_run){
        .words.options = {.allow_other = geteuid() == 0, .log_least = BALE_LOG_INFO},
        .grace = GRACE_MS,
        .daemon_fd = -1,
    };
    int parsed = parse(command, argc, argv, &run);
    if (parsed != 0)
        return parsed < 0 ? bale_options_status(command, parsed) : parsed;
    if (run.words.options.create)
        (void)mkdir(argv[optind], 0777); /* so that all tasks resolve the same name */
    run.store = absolute(argv[optind]);
    run.mnt = absolute(argv[optind + 1]);
    if (run.store && run.mnt) {
        run.words.options.store = run.store;
        run.words.options.mountpoint = run.mnt;
        run.inside = bale_place_inside(run.mnt);
        status = bale_run_mounted(&run);
    }
    free(run.inside);
    free(run.store);
    free(run.mnt);
    return status;
}

const struct bale_command bale_command_run = {
    .name = "run",
    .summary = "runs a command with a store mounted",
    .help = help,
    .usage = BALE_EXIT_RUN,
    .run = run_run,
};
