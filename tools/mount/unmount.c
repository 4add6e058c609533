#include "tools/mount/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "fs/daemon/unmount.h"
#include "tools/balefs.h"
#include "tools/common/message.h"
#include "tools/common/program.h"

#define USERS_NAMED 5
#define BUSY_TRIES 40
#define BUSY_NS 25000000

/* True if path, followed, lies on the file system. Sends no request to a daemon. */
static bool lies_on(const char *path, dev_t device)
{
    struct statx st;

    return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &st) == 0 &&
           makedev(st.stx_dev_major, st.stx_dev_minor) == device;
}

static bool uses(const char *process, dev_t device)
{
    static const char *const links[] = {"cwd", "root", "exe"};
    char path[300];
    bool found = false;

    for (size_t i = 0; !found && i < sizeof links / sizeof *links; i++) {
        snprintf(path, sizeof path, "/proc/%s/%s", process, links[i]);
        found = lies_on(path, device);
    }
    snprintf(path, sizeof path, "/proc/%s/fd", process);
    DIR *dir = found ? NULL : opendir(path);
    struct dirent *entry;
    while (dir && !found && (entry = readdir(dir))) {
        snprintf(path, sizeof path, "/proc/%s/fd/%.16s", process, entry->d_name);
        found = entry->d_name[0] != '.' && lies_on(path, device);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* Lists processes that use the file system, "bash (12), vim (34)": those that this user may see,
 * without this process. */
static void name_users(dev_t device, char *users, size_t size)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    size_t used = 0;
    int count = 0;

    users[0] = '\0';
    while (dir && count < USERS_NAMED && (entry = readdir(dir))) {
        char path[300], name[17] = "?";
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
            atoi(entry->d_name) == (int)getpid() || !uses(entry->d_name, device))
            continue;
        snprintf(path, sizeof path, "/proc/%s/comm", entry->d_name);
        FILE *file = fopen(path, "re");
        if (file && fgets(name, sizeof name, file))
            name[strcspn(name, "\n")] = '\0';
        if (file)
            fclose(file);
        used += (size_t)snprintf(users + used, size - used, "%s%s (%.16s)", count ? ", " : "", name,
                                 entry->d_name);
        count++;
    }
    if (dir)
        closedir(dir);
}

/* Names the processes that have something open in the mount at point, or nobody. */
static void find_users(const char *point, char *users, size_t size)
{
    struct statx st;

    users[0] = '\0';
    if (statx(AT_FDCWD, point, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &st) == 0)
        name_users(makedev(st.stx_dev_major, st.stx_dev_minor), users, size);
}

static void say_busy(const char *point, struct bale_umount_how how)
{
    char users[USERS_NAMED * 48];

    find_users(point, users, sizeof users);
    if (how.run)
        bale_message(
            "%s: is in use%s%s: it is detached, and its daemon goes on until nothing uses it",
            point, users[0] ? " by " : "", users);
    else if (users[0])
        bale_message("%s: is in use by %s: end that and try again, or use --lazy", point, users);
    else
        bale_message("%s: is in use: end what uses it and try again, or use --lazy", point);
}

static int by_helper(const char *point, struct bale_umount_how how)
{
    const struct bale_fusermount helper = bale_fusermount(point, how.lazy, false);
    char said[512];
    int code = bale_program_run(helper.words, STDERR_FILENO, said, sizeof said);

    if (code == 0)
        return BALE_EXIT_DONE;
    if (code < 0 && errno != 0) {
        bale_message("fusermount3: cannot be run: %s: install the package fuse3", strerror(errno));
        return BALE_EXIT_UNMOUNT_SYSTEM;
    }
    said[strcspn(said, "\n")] = '\0';
    if (strstr(said, "busy"))
        say_busy(point, how);
    else
        bale_message("%s: cannot be unmounted: %s", point, said[0] ? said : "fusermount3 failed");
    return BALE_EXIT_UNMOUNT_FAILED;
}

/* Tries again for a second, or half of it if somebody is seen who uses the mount: a balefs stat
 * that asks the daemon just now keeps it busy for a moment. False with errno. */
static bool detach(const char *point, bool lazy)
{
    char users[USERS_NAMED * 48];

    for (unsigned tries = 0;; tries++) {
        if (umount2(point, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
            return true;
        if (errno != EBUSY)
            return false;
        find_users(point, users, sizeof users);
        errno = EBUSY;
        if (tries == BUSY_TRIES || (users[0] && tries >= BUSY_TRIES / 2))
            return false;
        nanosleep(&(struct timespec){.tv_nsec = BUSY_NS}, NULL);
    }
}

int bale_unmount(const char *point, struct bale_umount_how how)
{
    if (detach(point, how.lazy))
        return BALE_EXIT_DONE;
    if (errno == EPERM && geteuid() != 0)
        return by_helper(point, how);
    if (errno == EBUSY) {
        say_busy(point, how);
        return BALE_EXIT_UNMOUNT_FAILED;
    }
    bale_message("%s: cannot be unmounted: %s", point, strerror(errno));
    return errno == EPERM ? BALE_EXIT_UNMOUNT_USAGE : BALE_EXIT_UNMOUNT_FAILED;
}
