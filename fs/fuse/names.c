#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fuse/mount.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/settings.h"

/* The directory of a name to be made or removed; its descriptor is held. */
static int hold_directory(fuse_req_t req, fuse_ino_t parent, const char *name,
                          struct bale_node **dir, int *fd)
{
    struct bale_mount *mount = bale_mount_of(req);

    *dir = bale_node_of(mount, parent);
    return bale_name_is_hidden(mount, *dir, name) ? EPERM : bale_node_pin(mount->nodes, *dir, fd);
}

/* Attributes are written only by who may write the directory, its owner too, who gets the permission
 * for as long as it takes. *mode is what it had. False: no need of it, or the change back would take
 * sgid away. */
static bool open_for_settings(int fd, mode_t *mode)
{
    struct stat st;

    if (geteuid() == 0 || fstat(fd, &st) != 0 || st.st_mode & S_IWUSR ||
        (st.st_mode & S_ISGID && !group_member(st.st_gid)))
        return false;
    *mode = st.st_mode & 07777;
    return chmod(bale_proc_path(fd).text, *mode | S_IWUSR) == 0;
}

/* A new directory has its parent's settings. */
static void inherit(struct bale_mount *mount, int dir_fd, const char *name)
{
    mode_t mode;
    int fd;

    do {
        fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    } while (fd < 0 && (errno == EMFILE || errno == ENFILE) && bale_nodes_evict(mount->nodes));
    if (fd >= 0) {
        bool opened = open_for_settings(fd, &mode);
        (void)bale_properties_inherit(dir_fd, fd);
        if (opened)
            (void)chmod(bale_proc_path(fd).text, mode);
        close(fd);
    }
}

void bale_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *dir;
    int fd;
    int err = hold_directory(req, parent, name, &dir, &fd);

    if (!err) {
        bale_caller_enter(req);
        err = mkdirat(fd, name, mode) != 0 ? errno : 0;
        bale_caller_leave(req);
        if (!err && bale_directory_has_settings(dir, fd))
            inherit(mount, fd, name);
        bale_node_unpin(mount->nodes, dir);
    }
    bale_entry_reply_new(req, err, dir, name);
}

void bale_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *dir;
    int fd;
    int err = hold_directory(req, parent, name, &dir, &fd);

    if (!err) {
        bale_caller_enter(req);
        err = symlinkat(target, fd, name) != 0 ? errno : 0;
        bale_caller_leave(req);
        bale_node_unpin(mount->nodes, dir);
    }
    bale_entry_reply_new(req, err, dir, name);
}

void bale_op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    char target[PATH_MAX + 1];
    int fd;
    int err = bale_node_pin(mount->nodes, node, &fd);

    if (!err) {
        ssize_t length = readlinkat(fd, "", target, PATH_MAX);
        err = length < 0 ? errno : 0;
        target[length < 0 ? 0 : length] = '\0';
        bale_node_unpin(mount->nodes, node);
    }
    if (err)
        fuse_reply_err(req, err);
    else
        fuse_reply_readlink(req, target);
}

int bale_named_node_pin(struct bale_mount *mount, int dir_fd, const char *name,
                        struct bale_named_node *victim)
{
    struct stat st;

    *victim = (struct bale_named_node){.fd = -1};
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    victim->ino = st.st_ino;
    victim->node = bale_node_find(mount->nodes, st.st_ino);
    int err = victim->node ? bale_node_pin(mount->nodes, victim->node, &victim->fd) : 0;
    if (err) {
        bale_node_unref(mount->nodes, victim->node);
        victim->node = NULL;
    }
    return err == ESTALE ? 0
                         : err; /* somebody else changed the store: no reason not to remove it */
}

void bale_named_node_removed(struct bale_mount *mount, struct bale_named_node *victim,
                             struct bale_node *dir, const char *name)
{
    struct stat st;

    if (!victim->node)
        return;
    bale_node_unlinked(mount->nodes, victim->node, dir, name);
    int err = fstat(victim->fd, &st) != 0 ? errno : 0;
    /* Network file systems know nothing of a removed file. */
    if (err == ESTALE || err == ENOENT || (!err && (st.st_nlink == 0 || S_ISDIR(st.st_mode)))) {
        bale_node_mark_dead(mount->nodes, victim->node);
        bale_opened_set_unlinked(mount, victim->node, true);
    }
    bale_opened_touch_ctime(mount, victim->node);
}

void bale_named_node_unpin(struct bale_mount *mount, struct bale_named_node *victim)
{
    if (victim->node) {
        bale_node_verify_name(mount->nodes, victim->node);
        bale_node_unpin(mount->nodes, victim->node);
        bale_node_unref(mount->nodes, victim->node);
    }
}

int bale_name_remove(struct bale_mount *mount, struct bale_node *dir, const char *name, int flags)
{
    struct bale_named_node victim;
    int fd;
    int err = bale_node_pin(mount->nodes, dir, &fd);

    if (err)
        return err;
    err = bale_named_node_pin(mount, fd, name, &victim);
    if (!err) {
        err = unlinkat(fd, name, flags) != 0 ? errno : 0;
        if (!err)
            bale_named_node_removed(mount, &victim, dir, name);
        bale_named_node_unpin(mount, &victim);
    }
    bale_node_unpin(mount->nodes, dir);
    return err;
}

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name, int flags)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *dir = bale_node_of(mount, parent);
    int err =
        bale_name_is_hidden(mount, dir, name) ? EPERM : bale_name_remove(mount, dir, name, flags);
    fuse_reply_err(req, err);
}

void bale_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, 0);
}

void bale_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, AT_REMOVEDIR);
}
