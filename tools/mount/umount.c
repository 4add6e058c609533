/* balefs umount: ends a mount, and returns when all is stored and the daemon has ended. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/message.h"
#include "tools/common/mount_owner.h"
#include "tools/common/mounts.h"
#include "tools/common/options.h"
#include "tools/mount/daemon_end.h"
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

struct leaving {
    struct bale_daemon_end daemon;
    struct bale_umount_how how;
};

/* Stores everything. False after a message; with force a message only warns. */
static bool drain(int fd, const struct leaving *leaving)
{
    if (leaving->daemon.read_only || (syncfs(fd) == 0 && ioctl(fd, BALE_IOC_SYNC) == 0))
        return true;
    bale_message("%s: not everything written can be stored: %s: %s", leaving->daemon.mount->point,
                 strerror(errno),
                 leaving->how.force || leaving->how.run ? "unmounting anyway"
                 : errno == ENOSPC || errno == EDQUOT
                     ? "make room in the store, or give up what cannot be stored with --force"
                     : "see the daemon's log; --force gives up what cannot be stored");
    return false;
}

static bool shows_all(const struct bale_mount_line *mount)
{
    return strcmp(mount->root, "/") == 0;
}

/* Whether the daemon goes on, for another mount of the store in this namespace. Then prints a
 * message, because the store is not free, unless only a part of it was mounted here. */
static bool goes_on(const struct leaving *leaving)
{
    struct bale_mount_line other;

    if (leaving->how.others || !bale_mounts_beside(leaving->daemon.mount, &other))
        return false;
    if (shows_all(leaving->daemon.mount))
        bale_message("%s: unmounted; the store is still mounted on %s",
                     leaving->daemon.mount->point, other.point);
    bale_mount_line_free(&other);
    return true;
}

/* Call it when everything is stored or given up, or if another mount of the store goes on. */
static int unmount_and_wait(struct leaving *leaving)
{
    leaving->daemon.pidfd = bale_daemon_end_open(leaving->daemon.pid);
    int status = bale_unmount(leaving->daemon.mount->point, leaving->how);
    if (status == BALE_EXIT_DONE && !leaving->how.lazy && !goes_on(leaving)) {
        /* the daemon stores everything, detaches its mount and ends; other namespaces lose the
         * mount */
        if (leaving->how.others && leaving->daemon.pidfd >= 0)
            (void)syscall(SYS_pidfd_send_signal, leaving->daemon.pidfd, SIGTERM, NULL, 0);
        if (!bale_daemon_end_wait(&leaving->daemon) || !bale_daemon_end_report(&leaving->daemon))
            status = BALE_EXIT_UNMOUNT_FAILED;
    }
    if (leaving->daemon.pidfd >= 0)
        close(leaving->daemon.pidfd);
    return status;
}

static int not_allowed(const struct bale_mount_line *mount)
{
    const char *name = bale_owner_name(mount);

    bale_message("%s: is a mount of user %s: only %s%s may unmount it", mount->point, name, name,
                 mount->owner ? " and root" : "");
    return BALE_EXIT_UNMOUNT_USAGE;
}

/* Whether the mount may be unmounted: somebody may be copying a frozen one, and requests that wait
 * for the thaw keep it busy. */
static bool may_leave(int fd, const struct leaving *leaving, bool frozen)
{
    if (!frozen)
        return true;
    if (leaving->how.run && !leaving->how.force)
        bale_message("%s: is frozen: thawing it, because the command has ended",
                     leaving->daemon.mount->point);
    else if (!leaving->how.force)
        bale_message("%s: is frozen: end that with balefs thaw %s first, or use --force",
                     leaving->daemon.mount->point, leaving->daemon.mount->point);
    else if (ioctl(fd, BALE_IOC_THAW, &(struct bale_control_freeze){0}) == 0 || errno == ETIME)
        return true;
    else
        bale_message("%s: cannot be thawed: %s: the daemon's log says more",
                     leaving->daemon.mount->point, strerror(errno));
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
                     leaving->daemon.mount->point, strerror(errno));
        close(fd);
        return BALE_EXIT_UNMOUNT_FAILED;
    }
    leaving->daemon.pid = mount_status.pid;
    memcpy(leaving->daemon.store, mount_status.store, sizeof leaving->daemon.store);
    memcpy(leaving->daemon.log, mount_status.log, sizeof leaving->daemon.log);
    /* Remounting changes the kernel's flag alone. */
    leaving->daemon.read_only = mount_status.read_only;
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
    struct leaving leaving = {.daemon = {.mount = mount, .pidfd = -1}, .how = how};
    bool part = is_part(mount);
    int fd = part ? -1 : open_point(mount->point);

    if (fd >= 0)
        return drain_and_leave(fd, mount, &leaving);
    if (!part && bale_mounts_is_gone(errno)) {
        int status = bale_unmount(mount->point, (struct bale_umount_how){.lazy = true});
        if (status == BALE_EXIT_DONE)
            bale_message("%s: its daemon had ended before; unmounted", mount->point);
        return status;
    }
    if (part || errno == ENXIO || (errno == EACCES && geteuid() == 0)) {
        snprintf(leaving.daemon.store, sizeof leaving.daemon.store, "%s", mount->source);
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
