#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/daemon/log_file.h"
#include "fs/store/store.h"
#include "tools/common/mounts.h"
#include "tools/common/size.h"
#include "tools/doctor/doctor.h"

static void file_system(struct bale_doctor *doctor, const char *path)
{
    struct bale_mount_line mount;
    struct statvfs fs;
    char size[BALE_TEXT], left[BALE_TEXT];

    if (statvfs(path, &fs) != 0 || bale_mounts_of(path, &mount) != BALE_OK)
        return;
    bool full = fs.f_bavail == 0 || (fs.f_files > 0 && fs.f_favail == 0);
    bool fixed = fs.f_flag & ST_RDONLY;
    bale_doctor_report(doctor, "file system",
                       full    ? BALE_FINDING_BAD
                       : fixed ? BALE_FINDING_NOTE
                               : BALE_FINDING_FINE,
                       full    ? "make room"
                       : fixed ? "mount stores on it with -o ro"
                               : NULL,
                       "%s at %s%s, %s free of %s%s", mount.type, mount.point,
                       fixed ? ", read-only" : "",
                       bale_size_text((uint64_t)fs.f_bavail * fs.f_frsize, left),
                       bale_size_text((uint64_t)fs.f_blocks * fs.f_frsize, size),
                       fs.f_files > 0 && fs.f_favail == 0 ? ", no inodes" : "");
    bale_mount_line_free(&mount);
}

/* A file server may give root's files to another user and refuse root everything else. Then the
 * daemon of root's mount can act neither for root nor for others. made: a directory that this
 * process has just made, or NULL; then e says why it could not be made. True: it was reported. */
static bool report_squashed(struct bale_doctor *doctor, const char *made, int e)
{
    static const char advice[] =
        "run balefs as the user who owns the directory, or have the server's export changed to "
        "no_root_squash";
    struct stat st;

    if (geteuid() != 0)
        return false;
    if (made && lstat(made, &st) == 0 && st.st_uid != 0) {
        bale_doctor_report(doctor, "root", BALE_FINDING_BAD, advice,
                           "what root makes here belongs to user %u (root squash)", st.st_uid);
        return true;
    }
    if (!made && (e == EACCES || e == EPERM)) {
        bale_doctor_report(doctor, "root", BALE_FINDING_BAD, advice,
                           "root may not write here (root squash): %s", strerror(e));
        return true;
    }
    return false;
}

/* Probes in a new directory, so that nothing in the store changes. */
static void report_abilities(struct bale_doctor *doctor, const char *path)
{
    struct bale_store_abilities can;
    char probe[4200];

    snprintf(probe, sizeof probe, "%s/.balefs-doctor-XXXXXX", path);
    bool made = mkdtemp(probe) != NULL;
    int e = errno;
    bool reported = report_squashed(doctor, made ? probe : NULL, e);
    int err = bale_store_probe_directory(made ? probe : path, made, &can);
    if (made)
        (void)rmdir(probe);
    else if (!reported)
        bale_doctor_report(doctor, "writing", BALE_FINDING_NOTE,
                           "mount it with -o ro, or as a user who may write", "%s", strerror(e));
    if (err != BALE_OK)
        bale_doctor_report(doctor, "abilities", BALE_FINDING_BAD, "check its permissions",
                           "cannot be read: %s", bale_err_text(err));
    else
        bale_doctor_report(doctor, "abilities", can.text[0] ? BALE_FINDING_NOTE : BALE_FINDING_FINE,
                           can.text[0] ? "balefs works without it" : NULL, "%s",
                           can.text[0] ? can.text : "nothing is lacking");
}

static void report_reach(struct bale_doctor *doctor, const struct bale_store *store)
{
    const char *wrong = bale_store_reach(store);

    if (wrong)
        bale_doctor_report(doctor, "reach", BALE_FINDING_NOTE,
                           "unmounted, balefs set --closed STORE closes it", "the store %s", wrong);
}

/* The logs that daemons of the store have kept, the newest last. */
static void report_logs(struct bale_doctor *doctor, const struct bale_store *store)
{
    char path[4200], size[BALE_TEXT], when[32];
    struct stat st;
    struct tm tm;

    for (unsigned i = 0; bale_log_file_place(store, i, path, sizeof path); i++) {
        if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        localtime_r(&st.st_mtim.tv_sec, &tm);
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
        bale_doctor_report(doctor, "store's log", BALE_FINDING_FINE, NULL,
                           "%s, %s, last written to at %s", path,
                           bale_size_text((uint64_t)st.st_size, size), when);
    }
}

static void report_state(struct bale_doctor *doctor, const char *path)
{
    const struct bale_store_notice *notice;
    struct bale_store *store;
    struct bale_reason why;
    char who[256];
    int err = bale_store_open(path, BALE_STORE_UNLOCKED, &store, &why);

    if (err == BALE_E_NOENT) {
        bale_doctor_report(doctor, "store", BALE_FINDING_NOTE,
                           "balefs init makes one of an empty directory", "%s is not a store yet",
                           path);
        return;
    }
    if (err != BALE_OK) {
        bale_doctor_report(doctor, "store", BALE_FINDING_BAD,
                           err == BALE_E_UNSUPPORTED ? "use the newer balefs that made it"
                           : err == BALE_E_PERM      ? "run doctor as the store's owner or root"
                                                     : "see balefs fsck",
                           "%s", why.text);
        return;
    }
    bool held = bale_store_locked_by(path, who, sizeof who);
    bale_doctor_report(doctor, "store", BALE_FINDING_FINE, NULL, "%s, modes in %s, %s%s",
                       bale_store_path(store),
                       bale_store_config(store)->modes_in_container ? "containers" : "inodes",
                       held ? "mounted by " : "not mounted", held ? who : "");
    for (unsigned i = 0; (notice = bale_store_notice(store, i)); i++)
        bale_doctor_report(doctor, "store", BALE_FINDING_BAD, "balefs fsck --repair makes it again",
                           "%s/%s is lost or damaged, and only its copy is there",
                           bale_store_path(store), notice->below);
    report_reach(doctor, store);
    report_logs(doctor, store);
    (void)bale_store_close(store, false, NULL);
}

void bale_doctor_store(struct bale_doctor *doctor, const char *path)
{
    struct bale_mount_line mount;
    struct stat st;

    int e = stat(path, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;

    if (e != 0) {
        bale_doctor_report(doctor, "store", BALE_FINDING_BAD, "name a directory", "%s: %s", path,
                           strerror(e));
        return;
    }
    if (bale_mounts_here(path, &mount)) {
        bale_doctor_report(doctor, "store", BALE_FINDING_BAD, "name the store",
                           "%s is a mount of %s", path, mount.source);
        bale_mount_line_free(&mount);
        return;
    }
    report_state(doctor, path);
    file_system(doctor, path);
    bale_doctor_cluster(doctor, path);
    report_abilities(doctor, path);
}
