#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/fuse/attr.h"
#include "fs/fuse/backing.h"
#include "fs/fuse/caller.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/names.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/request.h"
#include "fs/fuse/unsynced.h"
#include "fs/fuse/xattr_balefs.h"

/* A new regular file, by create, tmpfile or mknod. */
struct create_op {
    struct bale_use use; /* its node is referenced */
    fuse_req_t req;
    struct bale_request *request;
    struct fuse_file_info fi;
    bool opens;            /* the reply opens the file; false for mknod */
    struct bale_node *dir; /* referenced; NULL for tmpfile, and name too */
    char *name;
    struct fuse_entry_param entry;
    struct bale_container_attr attr;
    struct stat made; /* the backing inode */
};

/* Removes the new file again. No other program has seen it: the kernel keeps the directory locked
 * until the reply. */
static void create_undo(struct bale_mount *mount, struct bale_node *dir, const char *name)
{
    if (name)
        (void)bale_name_remove(mount, dir, name, 0);
}

static void create_destroy(struct create_op *op)
{
    struct bale_mount *mount = op->use.mount;

    bale_node_unref(mount->nodes, op->use.node);
    if (op->dir)
        bale_node_unref(mount->nodes, op->dir);
    bale_in_flight_complete(mount->in_flight, op->request);
    free(op->name);
    free(op);
}

static void create_reply(struct create_op *op)
{
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;
    int failed;

    bale_node_remember(mount->nodes, node);
    if (op->opens) {
        bale_use_add_handle(&op->use, &op->fi);
        failed = fuse_reply_create(op->req, &op->entry, &op->fi);
    } else {
        failed = fuse_reply_entry(op->req, &op->entry);
    }
    if (failed)
        bale_node_forget(mount->nodes, node, 1);
    if (op->opens && failed)
        bale_use_drop_handle(mount, node, &op->fi);
    else if (!op->opens)
        bale_use_end(mount, node);
}

static void create_finish(struct create_op *op, int e)
{
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;

    bool is_changed = op->attr.mode & BALE_ROOT_MODE_IN_CONTAINER;
    if (!e) {
        e = bale_attr_get(mount, node, bale_file_fd(node->opened->file),
                          is_changed ? NULL : &op->made, &op->entry.attr, &op->entry.attr_timeout);
    }
    if (e) {
        create_undo(mount, op->dir, op->name);
        fuse_reply_err(op->req, e);
        bale_use_end(mount, node);
    } else {
        op->entry.ino = bale_ino_of(mount, node);
        op->entry.generation = bale_generation_of(mount, node);
        op->entry.entry_timeout = BALE_CACHE_SECONDS;
        create_reply(op);
    }
    create_destroy(op);
}

static void create_mode_set(void *arg, int64_t result)
{
    create_finish(arg, bale_err_to_errno(result < 0 ? (int)result : 0));
}

static void create_file_ready(struct bale_use *use, int e)
{
    struct create_op *op = (struct create_op *)use;

    if (e) {
        create_undo(use->mount, op->dir, op->name);
        fuse_reply_err(op->req, e);
        create_destroy(op);
        return;
    }
    bale_opened_set_unlinked(use->mount, use->node, !op->name);
    if (op->attr.mode & BALE_ROOT_MODE_IN_CONTAINER) {
        /* Reply after the mode is stored: until then no program sees the name. */
        bale_file_set_attr(use->node->opened->file, BALE_ATTR_MODE, &op->attr, create_mode_set, op);
    } else {
        create_finish(op, 0);
    }
}

/* Goes on with a file that has just been made; takes over fd. dir and name are NULL for a file
 * without a name; fi is NULL if the file is not to be opened. */
static void create_begin(fuse_req_t req, struct bale_node *dir, const char *name, int fd,
                         mode_t mode, const struct bale_container_attr *attr,
                         const struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct create_op *op = calloc(1, sizeof *op);
    char *copy = name ? strdup(name) : NULL;
    int e = !op || (name && !copy) ? ENOMEM : bale_request_is_given_up() ? EINTR : 0;
    int path_fd = fd;

    if (!e && !name) {
        do {
            path_fd = open(bale_proc_path(fd).text, O_PATH | O_CLOEXEC);
        } while (bale_backing_retry(mount, path_fd));
        e = path_fd < 0 ? errno : 0;
    }
    if (!e)
        e = bale_node_add(mount->nodes, dir, name, path_fd, !name, &op->use.node, &op->made);
    if (e) {
        close(fd);
        free(op);
        free(copy);
        create_undo(mount, dir, name);
        fuse_reply_err(req, e);
        return;
    }
    atomic_fetch_or(&op->use.node->marks, BALE_MARK_MADE | BALE_MARK_INCAPABLE);
    op->use.mount = mount;
    op->use.changes = true; /* without a use the name is removed again */
    op->use.ready = create_file_ready;
    op->req = req;
    op->request = bale_in_flight_detach(mount->in_flight);
    op->opens = fi;
    op->dir = dir;
    if (dir)
        bale_node_ref(mount->nodes, dir);
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
    bale_use_begin_created(&op->use, fd, &op->made, attr, settings_new);
}

/* The file's mode, the mode to make its container with (*backing), and its settings. dir_fd is
 * pinned. */
static int create_prepare(fuse_req_t req, struct bale_node *dir, int dir_fd, const char *name,
                          mode_t *mode, mode_t *backing, struct bale_container_attr *attr)
{
    struct bale_mount *mount = bale_mount_of(req);

    *mode = bale_caller_mode(req, dir_fd, *mode);
    if (mount->hides_set_id)
        *mode &= ~(mode_t)(S_ISUID | S_ISGID);
    *backing = mount->modes_in_container ? bale_root_backing_mode(*mode) : *mode & 07777;
    int settings = bale_directory_has_settings(dir, dir_fd) ? dir_fd : -1;
    return bale_err_to_errno(bale_properties_for_new(mount->store, settings, name, attr));
}

static int make_file(fuse_req_t req, int dir_fd, const char *name, int flags, mode_t mode, int *fd)
{
    struct bale_mount *mount = bale_mount_of(req);

    do {
        bale_caller_enter(req);
        *fd = openat(dir_fd, name, flags | O_RDWR | O_NOFOLLOW | O_NOATIME | O_CLOEXEC, mode);
        bale_caller_leave(req);
    } while (bale_backing_retry(mount, *fd));
    return *fd < 0 ? errno : 0;
}

/* Makes the file of a request, with the caller's ids; *fd is open for reading and writing. */
static int make_in(fuse_req_t req, struct bale_node *dir, const char *name, int flags, mode_t *mode,
                   struct bale_container_attr *attr, int *fd)
{
    struct bale_mount *mount = bale_mount_of(req);
    mode_t backing = 0;
    int dir_fd;
    int e = name && bale_name_is_hidden(mount, dir, name)
                ? EPERM
                : bale_node_pin(mount->nodes, dir, &dir_fd);

    if (e)
        return e;
    e = create_prepare(req, dir, dir_fd, name ? name : "", mode, &backing, attr);
    if (!e)
        e = make_file(req, dir_fd, name ? name : ".", flags, backing, fd);
    if (!e && name)
        bale_unsynced_add(mount, dir);
    bale_node_unpin(mount->nodes, dir);
    return e;
}

void bale_op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                    struct fuse_file_info *fi)
{
    struct bale_node *dir = bale_node_of(bale_mount_of(req), parent);
    struct bale_container_attr attr;
    int fd;
    int e = make_in(req, dir, name, O_CREAT | O_EXCL, &mode, &attr, &fd);

    bale_mount_count_error(bale_mount_of(req), e);
    if (e) {
        /* The kernel believed that the name is absent; ESTALE makes it look up again. */
        fuse_reply_err(req, e == EEXIST && !(fi->flags & O_EXCL) ? ESTALE : e);
    } else {
        create_begin(req, dir, name, fd, mode, &attr, fi);
    }
}

void bale_op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi)
{
    struct bale_node *dir = bale_node_of(bale_mount_of(req), parent);
    struct bale_container_attr attr;
    int fd = -1;
    int e = bale_store_abilities(bale_mount_of(req)->store)->tmpfile
                ? make_in(req, dir, NULL, O_TMPFILE | (fi->flags & O_EXCL), &mode, &attr, &fd)
                : EOPNOTSUPP;

    if (e)
        fuse_reply_err(req, e == EISDIR ? EOPNOTSUPP : e);
    else
        create_begin(req, NULL, NULL, fd, mode, &attr, fi);
}

void bale_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *dir = bale_node_of(mount, parent);
    struct bale_container_attr attr;
    int fd, dir_fd;
    int e;

    if (S_ISREG(mode)) {
        e = make_in(req, dir, name, O_CREAT | O_EXCL, &mode, &attr, &fd);
        if (!e) {
            create_begin(req, dir, name, fd, mode, &attr, NULL);
            return;
        }
    } else if (bale_name_is_hidden(mount, dir, name) ||
               (mount->hides_devices && (S_ISCHR(mode) || S_ISBLK(mode)))) {
        e = EPERM;
    } else {
        e = bale_node_pin(mount->nodes, dir, &dir_fd);
        if (!e) {
            bale_caller_enter(req);
            e = mknodat(dir_fd, name, mode, rdev) != 0 ? errno : 0;
            bale_caller_leave(req);
            if (!e)
                bale_unsynced_add(mount, dir);
            bale_node_unpin(mount->nodes, dir);
        }
    }
    bale_entry_reply_new(req, e, dir, name);
}
