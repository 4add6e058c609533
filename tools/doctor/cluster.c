/* What users of clusters meet: file systems of several machines, options of the mount, quotas, and
 * programs that remove old files. */
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/common/mounts.h"
#include "tools/common/size.h"
#include "tools/doctor/doctor.h"

#define PROJECT_QUOTA 2 /* of the kernel: PRJQUOTA */
#define QUOTA_BLOCK 1024u

/* Types of file systems that several machines mount, and what shows a user's quota there. */
static const struct shared_type {
    const char *type, *quota;
} shared_types[] = {
    {"nfs", "quota -s"},
    {"nfs4", "quota -s"},
    {"lustre", "lfs quota -h"},
    {"gpfs", "mmlsquota"},
    {"beegfs", "beegfs-ctl --getquota"},
    {"ceph", "getfattr -n ceph.quota.max_bytes"},
    {"cifs", NULL},
    {"fuse.glusterfs", NULL},
    {"fuse.ceph-fuse", NULL},
    {"fuse.mfs", NULL},
    {"fuse.juicefs", "juicefs quota"},
    {"fuse.sshfs", NULL},
};

static const struct shared_type *find_shared(const char *type)
{
    for (size_t i = 0; i < sizeof shared_types / sizeof *shared_types; i++)
        if (strcmp(shared_types[i].type, type) == 0)
            return &shared_types[i];
    return NULL;
}

/* The type by its own name: FUSE file systems may call themselves fuse. */
static void report_machines(struct bale_doctor *doctor, const struct bale_mount_line *mount)
{
    if (find_shared(mount->type))
        bale_doctor_report(doctor, "machines", BALE_FINDING_NOTE,
                           "mount a store to write on one of them at a time; others may read",
                           "%s: other machines may have it mounted, too", mount->type);
}

static void mount_options(struct bale_doctor *doctor, const struct bale_mount_line *mount,
                          unsigned long flags)
{
    bool noexec = flags & ST_NOEXEC;

    bale_doctor_report(doctor, "mount options", noexec ? BALE_FINDING_NOTE : BALE_FINDING_FINE,
                       noexec ? "programs cannot be run from here, nor from a mount of a store "
                                "here: keep them elsewhere"
                              : NULL,
                       "%s:%s%s%s%s", mount->point, noexec ? " noexec" : "",
                       flags & ST_NODEV ? " nodev" : "", flags & ST_NOSUID ? " nosuid" : "",
                       flags & (ST_NOEXEC | ST_NODEV | ST_NOSUID) ? "" : " none that matters");
}

/* ---- Quotas ---- */

/* limit 0: none. BAD: it is used up. */
static enum bale_finding judge_quota(uint64_t used, uint64_t soft, uint64_t hard)
{
    if (hard > 0 && used >= hard)
        return BALE_FINDING_BAD;
    if ((soft > 0 && used >= soft) || (hard > 0 && used >= hard / 10 * 9))
        return BALE_FINDING_NOTE;
    return BALE_FINDING_FINE;
}

/* True if there is a quota, which it reports. */
static bool quota_of(struct bale_doctor *doctor, int fd, unsigned type, const char *whose,
                     unsigned id)
{
    struct dqblk quota;
    char used[BALE_TEXT], most[BALE_TEXT], files[64] = "";

    if (syscall(SYS_quotactl_fd, fd, QCMD((unsigned)Q_GETQUOTA, type), id, &quota) != 0)
        return false;
    uint64_t soft = quota.dqb_bsoftlimit * QUOTA_BLOCK, hard = quota.dqb_bhardlimit * QUOTA_BLOCK;
    uint64_t most_bytes = hard ? hard : soft;
    uint64_t most_files = quota.dqb_ihardlimit ? quota.dqb_ihardlimit : quota.dqb_isoftlimit;
    if (!most_bytes && !most_files)
        return false;
    enum bale_finding bytes = judge_quota(quota.dqb_curspace, soft, hard);
    enum bale_finding inodes =
        judge_quota(quota.dqb_curinodes, quota.dqb_isoftlimit, quota.dqb_ihardlimit);
    enum bale_finding worst = inodes > bytes ? inodes : bytes;
    if (most_files)
        snprintf(files, sizeof files, ", %llu of %llu files",
                 (unsigned long long)quota.dqb_curinodes, (unsigned long long)most_files);
    bale_doctor_report(doctor, "quota", worst,
                       worst == BALE_FINDING_FINE ? NULL
                                                  : "make room, or ask for more, before you write",
                       "%s %u: %s of %s%s", whose, id, bale_size_text(quota.dqb_curspace, used),
                       most_bytes ? bale_size_text(most_bytes, most) : "any size", files);
    return true;
}

static void report_quotas(struct bale_doctor *doctor, const char *path,
                          const struct bale_mount_line *mount)
{
    const struct shared_type *shared = find_shared(mount->type);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct fsxattr of = {0};
    bool any = false;

    if (fd < 0)
        return;
    any |= quota_of(doctor, fd, USRQUOTA, "user", geteuid());
    any |= quota_of(doctor, fd, GRPQUOTA, "group", getegid());
    if (ioctl(fd, FS_IOC_FSGETXATTR, &of) == 0 && of.fsx_projid != 0)
        any |= quota_of(doctor, fd, PROJECT_QUOTA, "project", of.fsx_projid);
    close(fd);
    if (!any && shared && shared->quota)
        bale_doctor_report(doctor, "quota", BALE_FINDING_NOTE, NULL,
                           "cannot be seen on %s: %s shows it", mount->type, shared->quota);
    else if (!any)
        bale_doctor_report(doctor, "quota", BALE_FINDING_FINE, NULL, "none for this user");
}

void bale_doctor_cluster(struct bale_doctor *doctor, const char *path)
{
    struct bale_mount_line mount;
    struct statvfs fs;

    if (statvfs(path, &fs) != 0 || bale_mounts_of(path, &mount) != BALE_OK)
        return;
    report_machines(doctor, &mount);
    mount_options(doctor, &mount, fs.f_flag);
    report_quotas(doctor, path, &mount);
    bale_doctor_purge(doctor, path, find_shared(mount.type) != NULL);
    bale_mount_line_free(&mount);
}
