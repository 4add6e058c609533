#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/settings.h"

/* A new regular file, by create, tmpfile or mknod. */
struct create_op {
    struct bale_use use; /* its node is referenced */
    fuse_req_t req;
    struct fuse_file_info fi;
    bool opens;            /* not for mknod */
    struct bale_node *dir; /* NULL for tmpfile, as name is */
    char *name;
    struct fuse_entry_param entry;
    struct bale_container_attr attr;
};

/* Nobody has heard of the file: as if it had not been made. The kernel keeps the directory locked
 * until the reply. */
static void unmake(struct bale_mount *mount, struct bale_node *dir, const char *name)
{
    if (name)
        (void)bale_name_remove(mount, dir, name, 0);
}

static void destroy(struct create_op *op)
{
    struct bale_mount *mount = op->use.mount;

    bale_node_unref(mount->nodes, op->use.node);
    free(op->name);
    free(op);
    bale_freezer_change_end(mount->freezer);
}

static void reply(struct create_op *op)
{
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;
    int failed;

    bale_node_remember(mount->nodes, node);
    if (op->opens) {
        bale_open_flags(mount, &op->fi);
        bale_use_add_handle(&op->use, op->fi.flags);
        failed = fuse_reply_create(op->req, &op->entry, &op->fi);
    } else {
        failed = fuse_reply_entry(op->req, &op->entry);
    }
    if (failed)
        bale_node_forget(mount->nodes, node, 1);
    if (op->opens && failed)
        bale_use_drop_handle(mount, node, op->fi.flags);
    else if (!op->opens)
        bale_use_end(mount, node);
}

static void finish(struct create_op *op, int err)
{
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;

    if (!err) {
        err = bale_attr_get(mount, node, bale_file_fd(node->opened->file), NULL, &op->entry.attr,
                            &op->entry.attr_timeout);
    }
    if (err) {
        unmake(mount, op->dir, op->name);
        fuse_reply_err(op->req, err);
        bale_use_end(mount, node);
    } else {
        op->entry.ino = bale_ino_of(mount, node);
        op->entry.entry_timeout = BALE_CACHE_SECONDS;
        reply(op);
    }
    destroy(op);
}

static void attributes_set(void *arg, int64_t result)
{
    finish(arg, bale_err_to_errno(result < 0 ? (int)result : 0));
}

static void ready(struct bale_use *use, int err)
{
    struct create_op *op = (struct create_op *)use;

    if (err) {
        unmake(use->mount, op->dir, op->name);
        fuse_reply_err(op->req, err);
        destroy(op);
        return;
    }
    bale_opened_set_unlinked(use->mount, use->node, !op->name);
    if (op->attr.mode & BALE_ROOT_MODE_IN_CONTAINER) {
        /* Nobody sees the name before the mode is in its place. */
        bale_file_set_attr(use->node->opened->file, BALE_ATTR_MODE, &op->attr, attributes_set, op);
    } else {
        finish(op, 0);
    }
}

/* Goes on with a file just made; fd is owned from here on. dir and name are NULL for a file
 * without a name. */
static void begin(fuse_req_t req, struct bale_node *dir, const char *name, int fd, mode_t mode,
                  const struct bale_container_attr *attr, const struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct create_op *op = calloc(1, sizeof *op);
    struct stat st;
    char *copy = name ? strdup(name) : NULL;
    int err = op && (copy || !name) ? 0 : ENOMEM;
    int path_fd = fd;

    if (!err && !name) {
        do {
            path_fd = open(bale_proc_path(fd).text, O_PATH | O_CLOEXEC);
        } while (path_fd < 0 && (errno == EMFILE || errno == ENFILE) &&
                 bale_nodes_evict(mount->nodes));
        err = path_fd < 0 ? errno : 0;
    }
    if (!err)
        err = bale_node_add(mount->nodes, dir, name, path_fd, !name, &op->use.node, &st);
    if (err) {
        close(fd);
        free(op);
        free(copy);
        unmake(mount, dir, name);
        fuse_reply_err(req, err);
        return;
    }
    bale_freezer_change_begin(mount->freezer);
    op->use.mount = mount;
    op->use.ready = ready;
    op->req = req;
    op->opens = fi;
    op->dir = dir;
    op->name = copy;
    if (fi)
        op->fi = *fi;
    op->attr = *attr;
    op->attr.mode =
        mount->modes_in_container ? (uint16_t)(BALE_ROOT_MODE_IN_CONTAINER | (mode & 07777)) : 0;
    bool settings_new = attr->setting_explicit || attr->extent_explicit ||
                        attr->extent != mount->defaults.extent ||
                        attr->setting.codec != mount->defaults.setting.codec ||
                        attr->setting.parameter != mount->defaults.setting.parameter;
    bale_use_begin_created(&op->use, fd, attr, settings_new);
}

/* The mode to make the container with, and the settings of the file. dir_fd is held. */
static int prepare(fuse_req_t req, struct bale_node *dir, int dir_fd, const char *name,
                   mode_t *mode, mode_t *backing, struct bale_container_attr *attr)
{
    struct bale_mount *mount = bale_mount_of(req);

    *mode = bale_caller_mode(req, dir_fd, *mode);
    *backing = mount->modes_in_container ? (*mode & 0777) | S_IRUSR | S_IWUSR : *mode & 07777;
    int settings = bale_directory_has_settings(dir, dir_fd) ? dir_fd : -1;
    return bale_err_to_errno(bale_properties_for_new(mount->store, settings, name, attr));
}

static int make(fuse_req_t req, int dir_fd, const char *name, int flags, mode_t mode, int *fd)
{
    struct bale_mount *mount = bale_mount_of(req);

    do {
        bale_caller_enter(req);
        *fd = openat(dir_fd, name, flags | O_RDWR | O_NOFOLLOW | O_NOATIME | O_CLOEXEC, mode);
        bale_caller_leave(req);
    } while (*fd < 0 && (errno == EMFILE || errno == ENFILE) && bale_nodes_evict(mount->nodes));
    return *fd < 0 ? errno : 0;
}

static int make_in(fuse_req_t req, struct bale_node *dir, const char *name, int flags, mode_t *mode,
                   struct bale_container_attr *attr, int *fd)
{
    struct bale_mount *mount = bale_mount_of(req);
    mode_t backing = 0;
    int dir_fd;
    int err = name && bale_name_is_hidden(mount, dir, name)
                  ? EPERM
                  : bale_node_pin(mount->nodes, dir, &dir_fd);

    if (err)
        return err;
    err = prepare(req, dir, dir_fd, name ? name : "", mode, &backing, attr);
    if (!err)
        err = make(req, dir_fd, name ? name : ".", flags, backing, fd);
    bale_node_unpin(mount->nodes, dir);
    return err;
}

void bale_op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                    struct fuse_file_info *fi)
{
    struct bale_node *dir = bale_node_of(bale_mount_of(req), parent);
    struct bale_container_attr attr;
    int fd;
    int err = make_in(req, dir, name, O_CREAT | O_EXCL, &mode, &attr, &fd);

    if (err) {
        /* The kernel did not know of it: it shall look again. */
        fuse_reply_err(req, err == EEXIST && !(fi->flags & O_EXCL) ? ESTALE : err);
    } else {
        begin(req, dir, name, fd, mode, &attr, fi);
    }
}

void bale_op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi)
{
    struct bale_node *dir = bale_node_of(bale_mount_of(req), parent);
    struct bale_container_attr attr;
    int fd;
    int err = make_in(req, dir, NULL, O_TMPFILE | (fi->flags & O_EXCL), &mode, &attr, &fd);

    if (err)
        fuse_reply_err(req, err == EISDIR ? EOPNOTSUPP : err);
    else
        begin(req, NULL, NULL, fd, mode, &attr, fi);
}

void bale_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *dir = bale_node_of(mount, parent);
    struct bale_container_attr attr;
    int fd, dir_fd;
    int err;

    if (S_ISREG(mode)) {
        err = make_in(req, dir, name, O_CREAT | O_EXCL, &mode, &attr, &fd);
        if (!err) {
            begin(req, dir, name, fd, mode, &attr, NULL);
            return;
        }
    } else if (bale_name_is_hidden(mount, dir, name)) {
        err = EPERM;
    } else {
        err = bale_node_pin(mount->nodes, dir, &dir_fd);
        if (!err) {
            bale_caller_enter(req);
            err = mknodat(dir_fd, name, mode, rdev) != 0 ? errno : 0;
            bale_caller_leave(req);
            bale_node_unpin(mount->nodes, dir);
        }
    }
    bale_entry_reply_new(req, err, dir, name);
}
