#include "fs/fuse/xattr.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/fuse/capability.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/request.h"
#include "fs/fuse/xattr_balefs.h"

/* Replaces the text of a directory's setting by its normal form, in clean. */
static int clean_setting(const struct bale_node *node, const char *name, const char **value,
                         size_t *size, char *clean)
{
    struct bale_reason why;

    if (!bale_is_setting_xattr(name) || !S_ISDIR(node->mode))
        return 0;
    int err = bale_properties_check(name, *value, *size, clean, &why);
    if (err != BALE_OK) {
        bale_log(BALE_LOG_INFO, "%s", why.text);
        return bale_err_to_errno(err);
    }
    *value = clean;
    *size = strlen(clean);
    return 0;
}

/* The kernel asks for this when a caller that may not keep the bit sets an ACL. */
static int clear_sgid(struct bale_node *node, const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno;
    if (st.st_mode & S_ISGID) {
        st.st_mode &= ~(mode_t)S_ISGID;
        if (chmod(path, st.st_mode & 07777) != 0)
            return errno;
    }
    node->mode = st.st_mode;
    return 0;
}

static int set_xattr(struct bale_mount *mount, struct bale_node *node, const char *name,
                     const char *value, size_t size, int flags, bool kill_sgid)
{
    struct bale_xattr_path path;
    int e = bale_xattr_path_open(mount, node, name, &path);

    if (!e) {
        int rc = path.follow ? setxattr(path.text, name, value, size, flags)
                             : lsetxattr(path.text, name, value, size, flags);
        e = rc != 0 ? errno : 0;
    }
    atomic_fetch_and(&node->marks, ~(uint32_t)BALE_MARK_NO_SETTINGS);
    if (!e && kill_sgid)
        e = clear_sgid(node, path.text);
    bale_xattr_path_close(mount, &path);
    if (!e)
        e = bale_permissions_changed(mount, node);
    if (!e && strcmp(name, BALE_CAPABILITY_XATTR) == 0 && bale_node_is_regular(node))
        bale_capability_set(mount, node, value, size);
    if (!e)
        bale_opened_touch_ctime(mount, node);
    return e;
}

/* Sets a capability after the file's dirty data is stored: writing it later would take the
 * capability away. */
struct capability_op {
    struct bale_use use;
    fuse_req_t req;
    int flags;
    size_t size;
    char value[];
};

static void set_capability(struct capability_op *op, int e)
{
    if (!e) {
        e = set_xattr(op->use.mount, op->use.node, BALE_CAPABILITY_XATTR, op->value, op->size,
                      op->flags, false);
    }
    fuse_reply_err(op->req, e);
    bale_freezer_change_end(op->use.mount->freezer);
}

static void capability_file_flushed(void *arg, int64_t result)
{
    struct capability_op *op = arg;
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;

    set_capability(op, bale_err_to_errno(result < 0 ? (int)result : 0));
    bale_use_end(mount, node);
    free(op);
}

static void capability_file_ready(struct bale_use *use, int e)
{
    struct capability_op *op = (struct capability_op *)use;

    if (!e) {
        bale_file_flush(use->node->opened->file, false, capability_file_flushed, op);
        return;
    }
    set_capability(op, e == ENOENT ? 0 : e);
    free(op);
}

static void flush_and_set_capability(fuse_req_t req, struct bale_node *node, const char *value,
                                     size_t size, int flags)
{
    struct capability_op *op = malloc(sizeof *op + size);

    if (!op) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    *op = (struct capability_op){
        .use = {.mount = bale_mount_of(req),
                .node = node,
                .only_open = true,
                .ready = capability_file_ready},
        .req = req,
        .flags = flags,
        .size = size,
    };
    memcpy(op->value, value, size);
    bale_freezer_change_begin(op->use.mount->freezer);
    bale_use_begin(&op->use);
}

void bale_op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
                      size_t size, int flags)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    char clean[4096];

    if (bale_xattr_is_setting(node, name)) {
        bale_setting_xattr_set(req, node, name, value, size);
        return;
    }
    if (mount->hides_set_id && strcmp(name, BALE_CAPABILITY_XATTR) == 0) {
        fuse_reply_err(req, EPERM);
        return;
    }
    if (bale_node_is_regular(node) && strcmp(name, BALE_CAPABILITY_XATTR) == 0) {
        flush_and_set_capability(req, node, value, size, flags);
        return;
    }
    int e = bale_xattr_check_name(mount, node, name);
    e = e == ENODATA ? EINVAL : e;
    if (!e)
        e = clean_setting(node, name, &value, &size, clean);
    if (!e) {
        e = set_xattr(mount, node, name, value, size, flags,
                      bale_current_request.acl_kill_sgid && strcmp(name, BALE_ACL_ACCESS) == 0);
    }
    fuse_reply_err(req, e);
}

void bale_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    struct bale_xattr_path path;

    if (bale_xattr_is_setting(node, name)) {
        bale_setting_xattr_set(req, node, name, NULL, 0);
        return;
    }
    int e = bale_xattr_check_name(mount, node, name);
    if (!e && strcmp(name, BALE_CAPABILITY_XATTR) == 0)
        bale_capability_set(mount, node, NULL, 0); /* first, or a close would put it back */
    if (!e) {
        e = bale_xattr_path_open(mount, node, name, &path);
        if (!e) {
            int rc = path.follow ? removexattr(path.text, name) : lremovexattr(path.text, name);
            e = rc != 0 ? errno : 0;
        }
        bale_xattr_path_close(mount, &path);
    }
    if (!e)
        e = bale_permissions_changed(mount, node);
    if (!e)
        bale_opened_touch_ctime(mount, node);
    fuse_reply_err(req, e);
}
