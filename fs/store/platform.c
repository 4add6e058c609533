#include "fs/store/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define OVERFLOW_USER 65534

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif

struct bale_store_platform bale_store_platform = {
    .await_ms = 2500, .syncfs = syncfs, .flock = flock};

/* The first line of a file of /proc; empty if there is none. */
static void read_line(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

    if (fd >= 0)
        close(fd);
    text[got < 0 ? 0 : got] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

int64_t bale_platform_now(void)
{
    struct timespec now;

    if (bale_store_platform.now)
        return bale_store_platform.now();
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void bale_platform_boot(char boot[static BALE_IDENTITY])
{
    if (bale_store_platform.boot)
        snprintf(boot, BALE_IDENTITY, "%s", bale_store_platform.boot);
    else
        read_line("/proc/sys/kernel/random/boot_id", boot, 64);
}

void bale_platform_host(char host[static BALE_HOST])
{
    if (bale_store_platform.host)
        snprintf(host, BALE_HOST, "%s", bale_store_platform.host);
    else if (gethostname(host, BALE_HOST - 1) < 0)
        host[0] = '\0';
    host[BALE_HOST - 1] = '\0';
}

/* The unique mount id is never reused; before Linux 6.8 there is only one that may be. */
static bool mount_id(int fd, uint64_t *id)
{
    struct statx st;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID_UNIQUE, &st) == 0 &&
        (st.stx_mask & STATX_MNT_ID_UNIQUE)) {
        *id = st.stx_mnt_id;
        return true;
    }
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) == 0 && (st.stx_mask & STATX_MNT_ID)) {
        *id = st.stx_mnt_id;
        return true;
    }
    return false;
}

void bale_platform_identity(int fd, char identity[static BALE_IDENTITY])
{
    char boot[BALE_IDENTITY];
    uint64_t id;

    bale_platform_boot(boot);
    /* Elsewhere a daemon or another machine has what was written, and may lose it while the mount
     * and this machine live on. */
    if (boot[0] == '\0' || !bale_platform_believes_syncfs(fd) || !mount_id(fd, &id))
        identity[0] = '\0';
    else
        snprintf(identity, BALE_IDENTITY, "%.64s:%" PRIu64, boot, id);
}

/* Copies field number (3 or more) and what follows it of /proc/PID/stat; empty: there is none. */
static void read_stat(pid_t pid, int number, char *field, size_t size)
{
    char path[32];
    char text[1024];
    const char *at;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    read_line(path, text, sizeof text);
    at = strrchr(text, ')'); /* the process name before it may contain any character */
    for (int i = 2; at && i < number; i++)
        at = strchr(at + 1, ' ');
    snprintf(field, size, "%s", at ? at + 1 : "");
}

uint64_t bale_platform_process_start(pid_t pid)
{
    char start[32];

    read_stat(pid, 22, start, sizeof start);
    return strtoull(start, NULL, 10);
}

bool bale_platform_process_ended(pid_t pid)
{
    char state[8];
    char threads[32];

    if (kill(pid, 0) < 0 && errno == ESRCH)
        return true;
    read_stat(pid, 3, state, sizeof state);
    read_stat(pid, 20, threads, sizeof threads);
    /* A process whose first thread has ended looks like a zombie, and may still be at work. */
    return (state[0] == 'Z' || state[0] == 'X') && strtoull(threads, NULL, 10) <= 1;
}

/* In a namespace of users, those who are not in it all have the same number. */
static bool knows_all_users(void)
{
    unsigned long inside, outside, count;
    char line[64];

    read_line("/proc/self/uid_map", line, sizeof line);
    return sscanf(line, "%lu %lu %lu", &inside, &outside, &count) == 3 && count == UINT32_MAX;
}

bool bale_platform_process_user(pid_t pid, uid_t *user)
{
    char path[32];
    char line[128];
    bool found = false;
    FILE *status;

    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    status = fopen(path, "re");
    if (!status)
        return false;
    while (!found && fgets(line, sizeof line, status))
        found = sscanf(line, "Uid: %u", user) == 1;
    fclose(status);
    return found && (*user != OVERFLOW_USER || knows_all_users());
}

uint64_t bale_platform_pid_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static bool has_type(int fd, const uint32_t *magics, size_t count)
{
    struct statfs st;

    if (fstatfs(fd, &st) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if ((uint32_t)st.f_type == magics[i])
            return true;
    return false;
}

bool bale_platform_keeps_tmpfile(int fd)
{
    static const uint32_t magics[] = {FUSE_SUPER_MAGIC};

    return !has_type(fd, magics, 1);
}

/* By the magic numbers of file systems that several machines can write, from linux/magic.h and from
 * the file systems themselves. A FUSE file system may be one: there is no way to tell. */
bool bale_platform_is_network(int fd)
{
    static const uint32_t magics[] = {
        0x6969,     /* NFS */
        0x0bd00bd0, /* Lustre */
        0x00c36400, /* Ceph */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x517b,     /* SMB */
        0x47504653, /* GPFS */
        0x65735546, /* FUSE: GlusterFS, sshfs */
        0x01021997, /* 9P */
        0x19830326, /* BeeGFS */
        0x5346414f, /* AFS */
        0x6b414653, /* kAFS */
        0x7461636f, /* OCFS2 */
        0x01161970, /* GFS2 */
        0x20030528, /* OrangeFS */
        0xaad7aaea, /* PanFS */
        0x013111a8, /* IBRIX */
    };
    struct statfs st;

    return bale_store_platform.network || fstatfs(fd, &st) < 0 ||
           has_type(fd, magics, sizeof magics / sizeof magics[0]);
}

/* On overlayfs, a file that is open for reading stays that of the lower directory when a writer
 * copies it up. */
bool bale_platform_may_be_stale(int fd)
{
    static const uint32_t magics[] = {OVERLAYFS_SUPER_MAGIC};

    return bale_platform_is_network(fd) || has_type(fd, magics, 1);
}

bool bale_platform_believes_syncfs(int fd)
{
    static const uint32_t magics[] = {
        0xef53,     /* ext2, ext3, ext4 */
        0x58465342, /* XFS */
        0x9123683e, /* btrfs */
        0xf2f52010, /* f2fs */
        0x2fc12fc1, /* ZFS */
        0x01021994, /* tmpfs: there is nothing to keep */
    };

    if (bale_store_platform.believes_syncfs != 0)
        return bale_store_platform.believes_syncfs > 0;
    return has_type(fd, magics, sizeof magics / sizeof magics[0]);
}
