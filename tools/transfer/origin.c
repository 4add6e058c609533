#include "tools/transfer/origin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fs/base/same_inode.h"
#include "fs/base/timespec.h"
#include "tools/transfer/move.h"

#define HIDDEN ".balefs-moved." /* and then the name */

struct bale_origin *bale_origin_create(const struct stat *st)
{
    struct bale_origin *origin = calloc(1, sizeof *origin);

    if (origin)
        origin->st = *st;
    return origin;
}

bool bale_origin_add(struct bale_origin *origin, struct bale_tree_dir *dir, const char *name)
{
    struct bale_origin_name *one = malloc(sizeof *one + strlen(name) + 1);

    if (!one)
        return false;
    strcpy(one->name, name);
    one->dir = bale_tree_dir_ref(dir);
    one->next = origin->names;
    origin->names = one;
    origin->count++;
    return true;
}

void bale_origin_free(struct bale_origin *origin)
{
    while (origin && origin->names) {
        struct bale_origin_name *one = origin->names;

        origin->names = one->next;
        bale_tree_dir_unref(one->dir);
        free(one);
    }
    free(origin);
}

/* ---- Who else has it open -------------------------------------------------------------------- */

/* Whether the file system grants leases. The client of a network file system grants none, or only
 * one that it holds itself already, so that "in use" means nothing there. */
static bool has_leases(int fd, int e)
{
    struct statfs fs;

    if (e == EINVAL || e == EOPNOTSUPP || e == ENOLCK || e == ENOSYS || e == ENOTTY)
        return false;
    return fstatfs(fd, &fs) != 0 ||
           (fs.f_type != NFS_SUPER_MAGIC && fs.f_type != SMB_SUPER_MAGIC &&
            fs.f_type != SMB2_SUPER_MAGIC && fs.f_type != CIFS_SUPER_MAGIC);
}

/* Without --no-lease, nothing can be removed on this file system, so nothing more is copied. */
static void end_without_leases(struct bale_transfer *transfer)
{
    atomic_store(&bale_transfer_stop, true);
    if (!atomic_exchange(&transfer->move->no_leases, true))
        bale_transfer_fail_path(
            transfer, "",
            "its file system has no leases, so whether somebody else has a file "
            "open cannot be found out: nothing was removed: if nobody writes "
            "there, run it again with --no-lease");
}

/* Takes a lease, which shows that nobody else has the file open, and makes others wait who open it.
 * *leased: fd, or -1 if there are no leases and none is needed. False after a message. */
static bool lease(struct bale_transfer *transfer, const struct bale_origin_name *one, int fd,
                  int *leased)
{
    int e = fcntl(fd, F_SETLEASE, F_WRLCK) == 0 ? 0 : errno;

    *leased = e == 0 ? fd : -1;
    if (e == 0)
        return true;
    if (!has_leases(fd, e) && transfer->move->no_lease)
        return true;
    if (!has_leases(fd, e))
        end_without_leases(transfer);
    else if (e == EACCES || e == EPERM)
        bale_transfer_fail(transfer, one->dir, one->name,
                           "was copied and stays: it is another user's: let its owner or root "
                           "remove it");
    else
        bale_transfer_fail(transfer, one->dir, one->name,
                           "was copied and stays: somebody has it open: run it again later");
    return false;
}

/* ---- Removing -------------------------------------------------------------------------------- */

static bool is_unchanged(const struct stat *now, const struct stat *before)
{
    return bale_same_inode(now, before) && now->st_size == before->st_size &&
           now->st_nlink == before->st_nlink &&
           bale_nanoseconds_of(now->st_ctim) == bale_nanoseconds_of(before->st_ctim);
}

static void unlink_failed(struct bale_transfer *transfer, const struct bale_origin_name *one, int e)
{
    if (e != ENOENT) /* somebody else has removed it */
        bale_transfer_fail(transfer, one->dir, one->name,
                           "was copied and stays: it cannot be removed: %s", strerror(e));
}

/* The name that a file has while it is removed; false: it would be too long. */
static bool hide_name(const char *name, char hidden[static NAME_MAX + 1])
{
    return snprintf(hidden, NAME_MAX + 1, HIDDEN "%s", name) <= NAME_MAX;
}

const char *bale_origin_unhide(int dir, const char *name)
{
    const char *own = name + strlen(HIDDEN);

    if (strncmp(name, HIDDEN, strlen(HIDDEN)) != 0 || !*own ||
        renameat2(dir, name, dir, own, RENAME_NOREPLACE) != 0)
        return name;
    return own;
}

/* Removes the name of a file that nobody else has open. Somebody who has found the name may be
 * about to open the file, and then waits for the lease. So this first takes the name away; who
 * waits by then is seen, and gets the file. 0 or an errno; EAGAIN: somebody waits. */
static int unlink_unopened(const struct bale_origin_name *one, int leased)
{
    int dir = one->dir->from;
    char hidden[NAME_MAX + 1];
    bool hides = hide_name(one->name, hidden) &&
                 renameat2(dir, one->name, dir, hidden, RENAME_NOREPLACE) == 0;

    if (fcntl(leased, F_GETLEASE) == F_WRLCK)
        return unlinkat(dir, hides ? hidden : one->name, 0) != 0 ? errno : 0;
    if (hides)
        (void)bale_origin_unhide(dir, hidden);
    return EAGAIN;
}

/* Removes one name. The directory keeps its times, for its copy: another run may copy them again.
 * leased: the open file with its lease; -1: without one. */
static bool remove_name(struct bale_transfer *transfer, const struct bale_origin_name *one,
                        const struct stat *st, int leased)
{
    const struct timespec times[2] = {one->dir->st.st_atim, one->dir->st.st_mtim};
    struct stat now;

    bool found = fstatat(one->dir->from, one->name, &now, AT_SYMLINK_NOFOLLOW) == 0;
    int e = found ? 0 : errno;
    if (found && !bale_same_inode(&now, st))
        e = ESTALE;
    else if (found && leased >= 0)
        e = unlink_unopened(one, leased);
    else if (found &&
             unlinkat(one->dir->from, one->name, S_ISDIR(st->st_mode) ? AT_REMOVEDIR : 0) != 0)
        e = errno;
    if (found)
        (void)futimens(one->dir->from, times);
    if (e == ESTALE)
        bale_transfer_fail(transfer, one->dir, one->name,
                           "was replaced meanwhile: it stays: run it again");
    else if (e == EAGAIN)
        bale_transfer_fail(transfer, one->dir, one->name,
                           "was copied and stays: somebody has opened it: run it again later");
    else if (e == ENOTEMPTY || e == EEXIST || e == EBUSY)
        bale_transfer_fail(transfer, one->dir, one->name, "stays: it is not empty: run it again");
    else if (e)
        unlink_failed(transfer, one, e);
    return e == 0;
}

/* leased: as of remove_name. */
static void remove_names(struct bale_transfer *transfer, const struct bale_origin *origin,
                         int leased)
{
    for (const struct bale_origin_name *one = origin->names; one; one = one->next)
        if (remove_name(transfer, one, &origin->st, leased))
            atomic_fetch_add(&transfer->move->removed, 1);
}

static void tell_difference(struct bale_transfer *transfer, const struct bale_origin_name *one,
                            enum bale_same same, int e)
{
    if (same == BALE_SAME_BROKEN && atomic_load(&bale_transfer_stop))
        return;
    if (same == BALE_SAME_BROKEN)
        bale_transfer_fail(transfer, one->dir, one->name,
                           "was copied and stays: somebody has opened it: run it again later");
    else if (same == BALE_SAME_NOT)
        bale_transfer_fail(transfer, one->dir, one->name,
                           "stays: what is in %s differs from it: remove that and run it again",
                           transfer->to_top);
    else
        bale_transfer_fail(transfer, one->dir, one->name,
                           "stays: it was copied, and cannot be read back from %s: %s",
                           transfer->to_top, e ? strerror(e) : "it is too short");
}

static void remove_file(struct bale_transfer *transfer, const struct bale_origin *origin,
                        struct bale_scratch *scratch)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    const struct bale_origin_name *one = origin->names;
    struct stat now;
    int leased = -1;

    int fd = openat(one->dir->from, one->name, flags);
    if (fd < 0) {
        unlink_failed(transfer, one, errno == EAGAIN ? EBUSY : errno);
        return;
    }
    if (fstat(fd, &now) == 0 && S_ISREG(now.st_mode) && !lease(transfer, one, fd, &leased)) {
        close(fd);
        return;
    }
    if (fstat(fd, &now) != 0 || !is_unchanged(&now, &origin->st)) {
        bale_transfer_fail(transfer, one->dir, one->name,
                           "was changed after it was copied: it stays: run it again");
    } else {
        errno = 0;
        enum bale_same same = transfer->move->same(transfer, one->dir, one->name, fd, scratch);
        if (same == BALE_SAME)
            remove_names(transfer, origin, leased);
        else
            tell_difference(transfer, one, same, errno);
    }
    close(fd);
}

/* Removes a link, fifo, socket or device if its copy is the same, and it was not changed. If it has
 * several names, its times do not tell that: they change when one of the names is removed. */
static void remove_special(struct bale_transfer *transfer, const struct bale_origin *origin)
{
    const struct bale_origin_name *one = origin->names;
    char here[PATH_MAX], there[PATH_MAX];
    struct stat now, copy;
    ssize_t length = 0;

    if (fstatat(one->dir->from, one->name, &now, AT_SYMLINK_NOFOLLOW) != 0) {
        unlink_failed(transfer, one, errno);
        return;
    }
    bool same = fstatat(one->dir->to, one->name, &copy, AT_SYMLINK_NOFOLLOW) == 0 &&
                now.st_ino == origin->st.st_ino &&
                (now.st_mode & S_IFMT) == (copy.st_mode & S_IFMT) && now.st_rdev == copy.st_rdev &&
                (now.st_nlink > 1 || origin->st.st_nlink > 1 || is_unchanged(&now, &origin->st));
    if (same && S_ISLNK(now.st_mode)) {
        length = readlinkat(one->dir->from, one->name, here, sizeof here);
        same = length > 0 && readlinkat(one->dir->to, one->name, there, sizeof there) == length &&
               memcmp(here, there, (size_t)length) == 0;
    }
    if (same)
        remove_names(transfer, origin, -1);
    else
        bale_transfer_fail(transfer, one->dir, one->name,
                           "was changed after it was copied: it stays: run it again");
}

void bale_origin_remove(struct bale_transfer *transfer, struct bale_origin *origin,
                        struct bale_scratch *scratch)
{
    if (S_ISREG(origin->st.st_mode))
        remove_file(transfer, origin, scratch);
    else if (S_ISDIR(origin->st.st_mode))
        remove_name(transfer, origin->names, &origin->st, -1);
    else
        remove_special(transfer, origin);
}
