/* balefs mount: mounts a store. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/daemon/daemon.h"
#include "fs/store/store.h"
#include "tools/balefs.h"
#include "tools/common/message.h"
#include "tools/common/mounts.h"
#include "tools/common/options.h"
#include "tools/common/output_path.h"
#include "tools/mount/daemon_log.h"
#include "tools/mount/leaving.h"
#include "tools/mount/mount.h"
#include "tools/mount/options.h"

static const char help[] =
    "usage: balefs mount [-f] [--log FILE] [-o OPTIONS] STORE MNT\n"
    "\n"
    "Mounts STORE at the directory MNT and returns when it can be used; a daemon serves it\n"
    "until balefs umount MNT. MNT may be /dev/fd/N, an open /dev/fuse with which another\n"
    "program has mounted already, with the options for the kernel.\n"
    "\n"
    "  -f, --foreground  do not become a daemon: log to standard error, end with Ctrl-C\n"
    "      --log FILE    add the daemon's log to FILE instead of the system's log\n"
    "                    [where the system has none: .balefs/log in STORE]\n"
    "  -o OPTIONS        separated by commas; -o may be given again\n"
    "  -h, --help\n"
    "\n"
    "Options of balefs:\n"
    "  ro, rw            read-only: follows what another mount, if there is one, commits\n"
    "                    [rw]\n"
    "  create            create the store first, if STORE is new or empty\n"
    "  memory=SIZE       the most memory to use [the smaller of 1G and 1/16 of the\n"
    "                    machine's]\n"
    "  threads=N         compress in N threads [as many as there are processors]\n"
    "  engine=auto|gpu|cpu\n"
    "                    auto: use a GPU for what it does faster; gpu: for everything it\n"
    "                    can do, even if it is busy; cpu: never. Without a GPU all three\n"
    "                    mean cpu [auto]\n"
    "  gpu=N,N...        GPUs to use, by number [the nearest]\n"
    "  gpu-memory=SIZE   the most memory to use of each GPU, 256M or more [1/16 of its\n"
    "                    memory, or half of what is free if that is less; at least 2G,\n"
    "                    but no more than a quarter]\n"
    "  gpu-idle=TIME     keep the GPU's context for so long without work: 90, 30s, 5m, 2h\n"
    "                    [15m; under balefs run 30s]\n"
    "  verify=on|off     decompress what the GPU has compressed, and compare, before it is\n"
    "                    stored [on]\n"
    "  io=cached|direct  use the kernel's cache, or not: with direct many processes may\n"
    "                    write to one file at the same time [cached]\n"
    "  age=SECONDS       store data so long after it was written, 0.1 to 5 [4]\n"
    "  idle=TIME         unmount when nobody has used the mount for so long: 90, 10m, 2h\n"
    "  untrusted         the store was made by somebody else: nosuid, nodev, no GPU\n"
    "                    decompresses; always so for root if the store's directory is not\n"
    "                    root's\n"
    "  trusted           any GPU decoder may have everything in the store\n"
    "  set_id            show set-id bits of a store that keeps modes in containers, as\n"
    "                    root\n"
    "  takeover=BOOTID   mount although the store was left locked by a process of that boot:\n"
    "                    only if that process is known to have ended\n"
    "  log_level=LEVEL   error, warning, info or debug [info]\n"
    "  allow_other       let other users in; always so as root\n"
    "  auto_unmount      unmount when the daemon is killed\n"
    "\n"
    "Options for the kernel: nosuid, nodev, noexec, noatime and the like, max_read=N,\n"
    "context=C. default_permissions is always on.\n"
    "\n"
    "Examples:\n"
    "  balefs mount /scratch/store /mnt/scratch\n"
    "  balefs mount -o create,memory=4G,noatime /scratch/store /mnt/scratch\n"
    "\n"
    "Exit status, as mount(8): 0 mounted, 1 wrong usage or not allowed, 2 system error, 32\n"
    "failed.\n";

enum { OPTION_LOG = 256, OPTION_CODEC, OPTION_EXTENT };

static const struct option long_options[] = {
    {"foreground", no_argument, NULL, 'f'},
    {"log", required_argument, NULL, OPTION_LOG},
    {"options", required_argument, NULL, 'o'},
    {"codec", required_argument, NULL, OPTION_CODEC}, /* refused, with a hint */
    {"extent", required_argument, NULL, OPTION_EXTENT},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* True if the mount's daemon was killed, so that every request fails. */
static bool is_dead(const char *path)
{
    struct statx st;

    /* asks the daemon: the kernel's cache outlives it */
    return statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &st) < 0 &&
           bale_mounts_is_gone(errno);
}

/* True, after a message, if the mount point has a balefs mount, which would be hidden. */
static bool has_mount(const char *mountpoint)
{
    struct bale_mount_line mount;

    if (!bale_mounts_here(mountpoint, &mount))
        return false;
    bale_message("%s: the store %s is mounted here: balefs umount %s first, or name another "
                 "directory",
                 mountpoint, mount.source, mountpoint);
    bale_mount_line_free(&mount);
    return true;
}

/* Whether a mount of ours that is dead is the topmost at point, which is as bale_mounts_path has
 * it. */
static bool has_dead_mount(const char *point)
{
    struct bale_mount_line mount;

    if (!is_dead(point) || bale_mounts_at(point, &mount) != BALE_OK)
        return false;
    bool ours = bale_mount_line_is_balefs(&mount);
    bale_mount_line_free(&mount);
    return ours;
}

/* bale_mount_options.clear: also if several lie one on the other. */
static bool clear_dead_mounts(const char *point)
{
    int status = BALE_EXIT_DONE;

    while (status == BALE_EXIT_DONE && has_dead_mount(point))
        status = bale_unmount(point, (struct bale_umount_how){.lazy = true});
    return status == BALE_EXIT_DONE && !has_mount(point);
}

/* True, after a message, if the store is itself a mount. */
static bool is_mount(const char *store)
{
    struct bale_mount_line mount;

    if (!bale_mounts_here(store, &mount))
        return false;
    bale_message("%s: is not a store but a mount of the store %s: for a second mount point use "
                 "mount --bind; to move it, unmount it and name the store",
                 store, mount.source);
    bale_mount_line_free(&mount);
    return true;
}

static int exit_code(int err)
{
    switch (err) {
    case BALE_OK:
        return BALE_EXIT_DONE;
    case BALE_E_INVALID:
    case BALE_E_PERM:
        return BALE_EXIT_UNMOUNT_USAGE;
    case BALE_E_NOMEM:
        return BALE_EXIT_UNMOUNT_SYSTEM;
    default:
        return BALE_EXIT_UNMOUNT_FAILED;
    }
}

static bool choose_log(struct bale_mount_options *options, const char *file)
{
    if (file)
        options->log = bale_daemon_log_file(file);
    else if (options->foreground)
        options->log = bale_daemon_log_terminal();
    else if (bale_daemon_log_system_answers())
        options->log = bale_daemon_log_system();
    else
        options->log = bale_daemon_log_own();
    options->log_file = options->log == bale_daemon_log_own();
    return options->log != NULL;
}

/* The daemon's log says it too, but a user who mounts by hand does not see the log. */
static void warn_of_reach(const char *path)
{
    struct bale_store *store;
    const char *reach;

    if (bale_store_open(path, BALE_STORE_UNLOCKED, &store, NULL) != BALE_OK)
        return;
    reach = bale_store_reach(store);
    if (reach)
        bale_message("%s: %s: unmounted, balefs set --closed %s closes it", path, reach, path);
    (void)bale_store_close(store, false, NULL);
}

/* Says where the daemon's log is, because a user who needs it cannot guess that. With a lifeline
 * another command says it, if it matters. */
static void say_where_log_is(const struct bale_mount_options *options, const char *path)
{
    if (!options->log_file || options->lifeline)
        return;
    if (path[0])
        bale_message("%s: there is no system log here: the daemon's log is %s", options->mountpoint,
                     path);
    else
        bale_message("%s: there is no system log here, and no place for the daemon's log: keep it "
                     "with --log FILE",
                     options->mountpoint);
}

static int run_daemon(struct bale_mount_options *options)
{
    char path[BALE_LOG_PATH] = "";
    struct bale_reason why = {0};

    bale_leaving_await(options->store);
    int err = bale_daemon_run(options, &why, path);
    if (err != BALE_OK || why.text[0] != '\0')
        bale_message("%s", why.text);
    if (err == BALE_OK || (path[0] && strstr(why.text, "see the log")))
        say_where_log_is(options, path);
    if (err == BALE_OK && !options->foreground)
        warn_of_reach(options->store);
    return exit_code(err);
}

int bale_mount_store(struct bale_mount_options *options, const char *log)
{
    const char *given = options->mountpoint;
    char *point = bale_mounts_path(given);
    int status = BALE_EXIT_UNMOUNT_FAILED;

    if (!choose_log(options, log)) {
        status = BALE_EXIT_UNMOUNT_USAGE;
        goto out;
    }
    if (point && has_dead_mount(point)) {
        options->mountpoint = point;
        options->clear = clear_dead_mounts;
    }
    if (!is_mount(options->store) && (options->clear || !has_mount(options->mountpoint)) &&
        (!options->create || bale_output_path_check_mounts(options->store) == BALE_OK))
        status = run_daemon(options);
out:
    options->mountpoint = given;
    options->clear = NULL;
    free(point);
    return status;
}

/* 0 or the exit code, or a BALE_OPTION_*. */
static int parse(const struct bale_command *command, int argc, char **argv,
                 struct bale_mount_words *words, const char **log)
{
    struct bale_reason why;
    int option;

    while ((option = bale_options_next(command, argc, argv, ":fo:h", long_options)) !=
           BALE_OPTION_END)
        if (option == 'f')
            words->options.foreground = true;
        else if (option == OPTION_LOG)
            *log = optarg;
        else if (option == OPTION_CODEC || option == OPTION_EXTENT)
            return bale_mount_setting_error(command, option == OPTION_CODEC, optarg);
        else if (option != 'o')
            return option;
        else if (bale_mount_words(words, optarg, &why) != BALE_OK)
            return bale_usage_error(command, "%s", why.text);
    if (argc - optind != 2)
        return bale_usage_error(command, argc - optind < 2 ? "STORE and MNT are needed"
                                                           : "more than STORE and MNT");
    return 0;
}

static int mount_run(const struct bale_command *command, int argc, char **argv)
{
    struct bale_mount_words words = {
        .options = {.allow_other = geteuid() == 0, .log_least = BALE_LOG_INFO}};
    const char *log = NULL;

    int status = parse(command, argc, argv, &words, &log);

    if (status < 0)
        return bale_options_status(command, status);
    if (status != 0)
        return status;
    words.options.store = argv[optind];
    words.options.mountpoint = argv[optind + 1];
    return bale_mount_store(&words.options, log);
}

const struct bale_command bale_command_mount = {
    .name = "mount",
    .summary = "mounts a store",
    .help = help,
    .usage = BALE_EXIT_UNMOUNT_USAGE,
    .run = mount_run,
};
