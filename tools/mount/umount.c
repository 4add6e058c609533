/* balefs umount: ends a mount, and returns when all is stored and the daemon has ended. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/message.h"
#include "tools/common/mount_owner.h"
#include "tools/common/mounts.h"
#include "tools/common/options.h"
#include "tools/mount/holders.h"
#include "tools/mount/mount.h"

static const char help[] =
    "usage: balefs umount [-f] [-l] [--other-namespaces] MNT...\n"
    "\n"
    "Stores everything written in the mount, unmounts it, and returns when its daemon has\n"
    "ended and the store is free. A mount that is in use or frozen, or whose data cannot be\n"
    "stored, stays mounted.\n"
    "\n"
    "  -f, --force  unmount even if not everything can be stored, and thaw it first if it\n"
    "               is frozen\n"
    "  -l, --lazy   detach it now, and let it end when it is no longer in use; does not\n"
    "               wait\n"
    "      --other-namespaces\n"
    "               root's: ends the daemon when everything is stored, although containers or\n"
    "               other mount namespaces have the mount, too; they lose it\n"
    "  -h, --help\n"
    "\n"
    "Example:\n"
    "  balefs umount /mnt/scratch\n"
    "\n"
    "Exit status, as umount(8): 0 done, 1 wrong usage or not allowed, 2 system error, 32\n"
    "failed.\n";

enum { OPTION_OTHERS = 256 };

static const struct option long_options[] = {
    {"force", no_argument, NULL, 'f'},
    {"lazy", no_argument, NULL, 'l'},
    {"other-namespaces", no_argument, NULL, OPTION_OTHERS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

#define PATIENCE_MS 3000 /* before a message says what is waited for */

struct leaving {
    const struct bale_mount_line *mount;
    struct bale_umount_how how;
    bool read_only;
    int pidfd; /* the daemon, or -1 */
    int pid;   /* 0: unknown */
    char store[sizeof((struct bale_control_status *)0)->store];
    char log[sizeof((struct bale_control_status *)0)->log]; /* or empty */
};

/* Stores everything. False after a message; with force a message only warns. */
static bool drain(int fd, const struct leaving *leaving)
{
    if (leaving->read_only || (syncfs(fd) == 0 && ioctl(fd, BALE_IOC_SYNC) == 0))
        return true;
    bale_message("%s: not everything written can be stored: %s: %s", leaving->mount->point,
                 strerror(errno),
                 leaving->how.force || leaving->how.run ? "unmounting anyway"
                 : errno == ENOSPC || errno == EDQUOT
                     ? "make room in the store, or give up what cannot be stored with --force"
                     : "see the daemon's log; --force gives up what cannot be stored");
    return false;
}

/* Opens a pidfd of the daemon, or returns -1. Checks that the process is a balefs here too: if the
 * daemon lives in another container, the number may belong to some other process. */
static int open_daemon(int pid)
{
    char path[48], name[16] = "";
    int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

    if (pidfd < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(name, sizeof name, file) || strncmp(name, "balefs", 6) != 0) {
        close(pidfd);
        pidfd = -1;
    }
    if (file)
        fclose(file);
    return pidfd;
}

static int milliseconds_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int)((now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000);
}

/* After a while without an end: says what is waited for, or who keeps the daemon, which then goes
 * on. False: waiting is useless. */
static bool may_end_yet(const struct leaving *leaving)
{
    char holders[256];

    if (!bale_holders(leaving->mount, leaving->pid, holders, sizeof holders)) {
        bale_message("%s: unmounted; waiting for its daemon to store what is left",
                     leaving->mount->point);
        return true;
    }
    bale_message(
        "%s: unmounted here and stored, but still mounted in the mount namespace of %s: end that, "
        "or end the daemon with kill %d, which stores everything first",
        leaving->mount->point, holders, leaving->pid);
    return false;
}

/* Waits until the daemon has ended: for its process if that is visible, else for the lock of the
 * store. False after a message: it is kept from ending. */
static bool wait_for_end(const struct leaving *leaving)
{
    struct pollfd end = {.fd = leaving->pidfd, .events = POLLIN};
    struct timespec start;
    char who[256];
    bool reported = false;

    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        if (poll(&end, leaving->pidfd >= 0, 50) > 0)
            return true;
        if (leaving->pidfd < 0 &&
            (leaving->read_only || !bale_store_locked_by(leaving->store, who, sizeof who)))
            return true;
        if (!reported && milliseconds_since(&start) > PATIENCE_MS) {
            if (!may_end_yet(leaving))
                return false;
            reported = true;
        }
    }
}

/* Reports the result that the daemon wrote when it ended. False: not everything was stored. */
static bool ended_well(const struct leaving *leaving)
{
    bool well = false;

    if (leaving->read_only)
        return true;
    json_t *last = bale_store_last_unmount(leaving->store);
    const json_t *process = json_object_get(last, "process");
    const char *result = json_string_value(json_object_get(last, "result"));
    if (!json_is_integer(process) || (leaving->pid && json_integer_value(process) != leaving->pid))
        bale_message(
            "%s: unmounted, but its daemon did not end cleanly: see its log, and check the "
            "store with balefs fsck",
            leaving->mount->point);
    else if (!json_is_true(json_object_get(last, "clean")))
        bale_message("%s: unmounted: %s", leaving->mount->point,
                     result ? result : "not everything was stored: see the daemon's log");
    else
        well = true;
    if (!well && leaving->log[0])
        bale_message("%s: its daemon's log is %s", leaving->mount->point, leaving->log);
    json_decref(last);
    return well;
}

static bool shows_all(const struct bale_mount_line *mount)
{
    return strcmp(mount->root, "/") == 0;
}

/* Whether the daemon goes on for another mount of the store in this namespace. Says so, as the
 * store is not free, unless only a part of it was mounted here. */
static bool goes_on(const struct leaving *leaving)
{
    struct bale_mount_line other;

    if (leaving->how.others || !bale_mounts_beside(leaving->mount, &other))
        return false;
    if (shows_all(leaving->mount))
        bale_message("%s: unmounted; the store is still mounted on %s", leaving->mount->point,
                     other.point);
    bale_mount_line_free(&other);
    return true;
}

/* Call it when everything is stored or given up, or if another mount of the store goes on. */
static int unmount_and_wait(struct leaving *leaving)
{
    leaving->pidfd = open_daemon(leaving->pid);
    int status = bale_unmount(leaving->mount->point, leaving->how);
    if (status == BALE_EXIT_DONE && !leaving->how.lazy && !goes_on(leaving)) {
        /* It stores everything, detaches its mount and ends; other namespaces lose theirs. */
        if (leaving->how.others && leaving->pidfd >= 0)
            (void)syscall(SYS_pidfd_send_signal, leaving->pidfd, SIGTERM, NULL, 0);
        if (!wait_for_end(leaving) || !ended_well(leaving))
            status = BALE_EXIT_UNMOUNT_FAILED;
    }
    if (leaving->pidfd >= 0)
        close(leaving->pidfd);
    return status;
}

static int not_allowed(const struct bale_mount_line *mount)
{
    const char *name = bale_owner_name(mount);

    bale_message("%s: is a mount of user %s: only %s%s may unmount it", mount->point, name, name,
                 mount->owner ? " and root" : "");
    return BALE_EXIT_UNMOUNT_USAGE;
}

/* A frozen mount may be being copied, and requests that wait for the thaw keep it busy. */
static bool may_leave(int fd, const struct leaving *leaving, bool frozen)
{
    if (!frozen)
        return true;
    if (leaving->how.run && !leaving->how.force)
        bale_message("%s: is frozen: thawing it, because the command has ended",
                     leaving->mount->point);
    else if (!leaving->how.force)
        bale_message("%s: is frozen: end that with balefs thaw %s first, or use --force",
                     leaving->mount->point, leaving->mount->point);
    else if (ioctl(fd, BALE_IOC_THAW, &(struct bale_control_freeze){0}) == 0 || errno == ETIME)
        return true;
    else
        bale_message("%s: cannot be thawed: %s: the daemon's log says more", leaving->mount->point,
                     strerror(errno));
    return false;
}

static int drain_and_leave(int fd, const struct bale_mount_line *mount, struct leaving *leaving)
{
    struct bale_control_status mount_status;

    bool answers = bale_control_status(fd, &mount_status);

    if (!answers && (errno == EPERM || errno == EACCES)) {
        close(fd);
        return not_allowed(mount);
    }
    if (!answers) {
        bale_message("%s: its daemon does not answer: %s: unmount it with umount(8)",
                     leaving->mount->point, strerror(errno));
        close(fd);
        return BALE_EXIT_UNMOUNT_FAILED;
    }
    leaving->pid = mount_status.pid;
    memcpy(leaving->store, mount_status.store, sizeof leaving->store);
    memcpy(leaving->log, mount_status.log, sizeof leaving->log);
    leaving->read_only = mount_status.read_only; /* remounting changes the kernel's flag alone */
    if (!may_leave(fd, leaving, mount_status.frozen)) {
        close(fd);
        return BALE_EXIT_UNMOUNT_FAILED;
    }
    bool drained = drain(fd, leaving);
    close(fd); /* otherwise we would keep it busy */
    if (!drained && !leaving->how.force)
        return BALE_EXIT_UNMOUNT_FAILED;
    int status = unmount_and_wait(leaving);
    return drained || status != BALE_EXIT_DONE ? status : BALE_EXIT_UNMOUNT_FAILED;
}

/* Opens what is mounted at point, a directory or a file. ENXIO: opening it may have effects. */
static int open_point(const char *point)
{
    struct stat st;

    if (stat(point, &st) != 0)
        return -1;
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
        errno = ENXIO;
        return -1;
    }
    return open(point, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* A bind mount of a file or directory in a mount that stays. */
static bool is_part(const struct bale_mount_line *mount)
{
    struct bale_mount_line other;

    if (shows_all(mount) || !bale_mounts_beside(mount, &other))
        return false;
    bale_mount_line_free(&other);
    return true;
}

/* mount is a balefs mount. Even root may not enter another user's mount, but may unmount it; the
 * daemon then stores what is left. */
static int leave_mount(const struct bale_mount_line *mount, struct bale_umount_how how)
{
    struct leaving leaving = {.mount = mount, .how = how, .pidfd = -1};
    bool part = is_part(mount);
    int fd = part ? -1 : open_point(mount->point);

    if (fd >= 0)
        return drain_and_leave(fd, mount, &leaving);
    if (!part && errno == ENOTCONN) {
        int status = bale_unmount(mount->point, (struct bale_umount_how){.lazy = true});
        if (status == BALE_EXIT_DONE)
            bale_message("%s: its daemon had ended before; unmounted", mount->point);
        return status;
    }
    if (part || errno == ENXIO || (errno == EACCES && geteuid() == 0)) {
        snprintf(leaving.store, sizeof leaving.store, "%s", mount->source);
        return unmount_and_wait(&leaving);
    }
    if (errno == EACCES)
        return not_allowed(mount);
    bale_message("%s: cannot be opened: %s: its daemon's log may say more", mount->point,
                 strerror(errno));
    return BALE_EXIT_UNMOUNT_FAILED;
}

/* point: the resolved path. */
static int umount_one(const char *path, const char *point, struct bale_umount_how how)
{
    struct bale_mount_line mount = {0};
    int status = BALE_EXIT_UNMOUNT_FAILED;
    int err = bale_mounts_at(point, &mount);

    if (err == BALE_E_NOENT) {
        bale_message("%s: is not mounted: name a mount point", path);
    } else if (err != BALE_OK) {
        bale_message("/proc/self/mountinfo: cannot be read: %s", bale_err_text(err));
        status = BALE_EXIT_UNMOUNT_SYSTEM;
    } else if (!bale_mount_line_is_balefs(&mount)) {
        bale_message("%s: is a mount of type %s: use umount(8)", path, mount.type);
        status = BALE_EXIT_UNMOUNT_USAGE;
    } else {
        status = leave_mount(&mount, how);
    }
    bale_mount_line_free(&mount);
    return status;
}

/* Resolves all paths first, because our own working directory may keep a mount busy. */
int bale_umount_all(int count, char **paths, struct bale_umount_how how)
{
    char **points = calloc((size_t)count, sizeof *points);
    int worst = points ? BALE_EXIT_DONE : BALE_EXIT_UNMOUNT_SYSTEM;

    if (!points)
        bale_message("out of memory");
    for (int i = 0; points && i < count; i++) {
        points[i] = bale_mounts_path(paths[i]);
        if (points[i])
            continue;
        bale_message("%s: %s: check the path", paths[i], strerror(errno));
        worst = BALE_EXIT_UNMOUNT_USAGE;
    }
    (void)!chdir("/");
    for (int i = 0; points && i < count; i++) {
        int status = points[i] ? umount_one(paths[i], points[i], how) : BALE_EXIT_DONE;
        if (status > worst)
            worst = status;
        free(points[i]);
    }
    free(points);
    return worst;
}

static int umount_run(const struct bale_command *command, int argc, char **argv)
{
    struct bale_umount_how how = {0};
    int option;

    while ((option = bale_options_next(command, argc, argv, ":flh", long_options)) !=
           BALE_OPTION_END)
        if (option == 'f')
            how.force = true;
        else if (option == 'l')
            how.lazy = true;
        else if (option == OPTION_OTHERS)
            how.others = true;
        else
            return bale_options_status(command, option);
    if (optind == argc)
        return bale_usage_error(command, "MNT is missing");
    if (how.others && geteuid() != 0) {
        bale_message("--other-namespaces: is for root: other users' containers lose the mount");
        return BALE_EXIT_UNMOUNT_USAGE;
    }
    return bale_umount_all(argc - optind, argv + optind, how);
}

const struct bale_command bale_command_umount = {
    .name = "umount",
    .summary = "stores everything and ends a mount",
    .help = help,
    .usage = BALE_EXIT_UNMOUNT_USAGE,
    .run = umount_run,
};
