#include "fs/fuse/names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fuse/attr.h"
#include "fs/fuse/backing.h"
#include "fs/fuse/caller.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/unsynced.h"
#include "fs/fuse/xattr_balefs.h"

/* Pins the directory in which a name is to be made. */
static int pin_directory(fuse_req_t req, fuse_ino_t parent, const char *name,
                         struct bale_node **dir, int *fd)
{
    struct bale_mount *mount = bale_mount_of(req);

    *dir = bale_node_of(mount, parent);
    return bale_name_is_hidden(mount, *dir, name) ? EPERM : bale_node_pin(mount->nodes, *dir, fd);
}

/* Extended attributes of a directory can be written only with write permission on it, even by its
 * owner: gives the owner that permission for a while. *mode is the mode to restore. False: nothing
 * was changed, because there is no need, or because restoring would take sgid away. */
static bool permit_settings(int fd, mode_t *mode)
{
    struct stat st;

    if (geteuid() == 0 || fstat(fd, &st) != 0 || st.st_mode & S_IWUSR ||
        (st.st_mode & S_ISGID && !group_member(st.st_gid)))
        return false;
    *mode = st.st_mode & 07777;
    return chmod(bale_proc_path(fd).text, *mode | S_IWUSR) == 0;
}

/* Gives a new directory its parent's settings. */
static void inherit_settings(struct bale_mount *mount, int dir_fd, const char *name)
{
    mode_t mode;
    int fd;

    do {
        fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    } while (bale_backing_retry(mount, fd));
    if (fd >= 0) {
        bool permitted = permit_settings(fd, &mode);
        (void)bale_properties_inherit(dir_fd, fd);
        if (permitted)
            (void)chmod(bale_proc_path(fd).text, mode);
        close(fd);
    }
}

void bale_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *dir;
    int fd;
    int e = pin_directory(req, parent, name, &dir, &fd);

    if (!e) {
        bale_caller_enter(req);
        e = mkdirat(fd, name, mode) != 0 ? errno : 0;
        bale_caller_leave(req);
        if (!e && bale_directory_has_settings(dir, fd))
            inherit_settings(mount, fd, name);
        if (!e)
            bale_unsynced_add(mount, dir);
        bale_node_unpin(mount->nodes, dir);
    }
    bale_entry_reply_new(req, e, dir, name);
}

void bale_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *dir;
    int fd;
    int e = pin_directory(req, parent, name, &dir, &fd);

    if (!e) {
        bale_caller_enter(req);
        e = symlinkat(target, fd, name) != 0 ? errno : 0;
        bale_caller_leave(req);
        if (!e)
            bale_unsynced_add(mount, dir);
        bale_node_unpin(mount->nodes, dir);
    }
    bale_entry_reply_new(req, e, dir, name);
}

void bale_op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    char target[PATH_MAX + 1];
    int fd;
    int e = bale_node_pin(mount->nodes, node, &fd);

    if (!e) {
        ssize_t length = readlinkat(fd, "", target, PATH_MAX);
        e = length < 0 ? errno : 0;
        target[length < 0 ? 0 : length] = '\0';
        bale_node_unpin(mount->nodes, node);
    }
    if (e)
        fuse_reply_err(req, e);
    else
        fuse_reply_readlink(req, target);
}

int bale_named_node_pin(struct bale_mount *mount, int dir_fd, const char *name,
                        struct bale_named_node *named)
{
    struct stat st;

    *named = (struct bale_named_node){.fd = -1};
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    named->ino = st.st_ino;
    named->links = S_ISDIR(st.st_mode) ? 1 : st.st_nlink;
    named->node = bale_node_find(mount->nodes, st.st_ino);
    int e = named->node ? bale_node_pin(mount->nodes, named->node, &named->fd) : 0;
    if (e) {
        bale_node_unref(mount->nodes, named->node);
        named->node = NULL;
    }
    /* ESTALE: the store was changed beside the mount; the name can be removed all the same. */
    return e == ESTALE ? 0 : e;
}

void bale_named_node_removing(struct bale_mount *mount, struct bale_named_node *named)
{
    named->losing_link = named->node && named->links > 1;
    if (named->losing_link)
        bale_attr_losing_link(mount, named->node);
}

void bale_named_node_removed(struct bale_mount *mount, struct bale_named_node *named,
                             struct bale_node *dir, const char *name)
{
    struct stat st;

    if (!named->node)
        return;
    bale_node_unlinked(mount->nodes, named->node, dir, name);
    int e = fstat(named->fd, &st) != 0 ? errno : 0;
    /* Network file systems return an error for a removed file. */
    if (e == ESTALE || e == ENOENT || (!e && (st.st_nlink == 0 || S_ISDIR(st.st_mode)))) {
        bale_node_mark_dead(mount->nodes, named->node);
        bale_opened_set_unlinked(mount, named->node, true);
        bale_unsynced_forget(mount, named->node);
        bale_volume_removed(mount->volume, named->ino);
    }
    bale_opened_touch_ctime(mount, named->node);
}

void bale_named_node_unpin(struct bale_mount *mount, struct bale_named_node *named)
{
    if (named->node) {
        bale_node_verify_name(mount->nodes, named->node);
        bale_node_unpin(mount->nodes, named->node);
        bale_node_unref(mount->nodes, named->node);
    }
    if (named->losing_link)
        bale_attr_lost_link(mount);
}

int bale_name_remove(struct bale_mount *mount, struct bale_node *dir, const char *name, int flags)
{
    struct bale_named_node named;
    int fd;
    int e = bale_node_pin(mount->nodes, dir, &fd);

    if (e)
        return e;
    e = bale_named_node_pin(mount, fd, name, &named);
    if (!e) {
        bale_named_node_removing(mount, &named);
        e = unlinkat(fd, name, flags) != 0 ? errno : 0;
        if (!e) {
            bale_named_node_removed(mount, &named, dir, name);
            bale_unsynced_add(mount, dir);
        }
        bale_named_node_unpin(mount, &named);
    }
    bale_node_unpin(mount->nodes, dir);
    return e;
}

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name, int flags)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *dir = bale_node_of(mount, parent);
    int e =
        bale_name_is_hidden(mount, dir, name) ? EPERM : bale_name_remove(mount, dir, name, flags);
    fuse_reply_err(req, e);
}

void bale_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, 0);
}

void bale_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, AT_REMOVEDIR);
}
