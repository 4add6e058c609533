#include "fs/fuse/xattr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/settings.h"

#define CAPABILITY "security.capability"
#define ACL_PREFIX "system.posix_acl_"
#define ACL_ACCESS "system.posix_acl_access"
#define VALUE_MAX 65536

/* A path by which calls reach a node: through its own descriptor, or for a symbolic link through
 * its directory's, by its name, and not followed. */
struct target {
    struct bale_node *held;
    struct bale_node *dir; /* referenced, or NULL */
    char *path;
    bool follow;
};

static int target_of(struct bale_mount *mount, struct bale_node *node, struct target *target)
{
    char *name = NULL;
    int fd;

    *target = (struct target){.follow = !S_ISLNK(node->mode)};
    int err = target->follow ? 0 : bale_node_locate(mount->nodes, node, &target->dir, &name);
    if (err)
        return err;
    struct bale_node *reach = target->follow ? node : target->dir;
    err = bale_node_pin(mount->nodes, reach, &fd);
    if (!err) {
        struct bale_proc_path proc = bale_proc_path(fd);
        target->held = reach;
        if (asprintf(&target->path, "%s%s%s", proc.text, name ? "/" : "", name ? name : "") < 0) {
            target->path = NULL;
            err = ENOMEM;
        }
    }
    free(name);
    return err;
}

static void target_release(struct bale_mount *mount, struct target *target)
{
    if (target->held)
        bale_node_unpin(mount->nodes, target->held);
    bale_node_unref(mount->nodes, target->dir);
    free(target->path);
}

/* Names that are not the backing store's: 0, or why not. Settings of regular files do not come
 * here. */
static int check_name(const struct bale_mount *mount, const struct bale_node *node,
                      const char *name)
{
    if (!mount->backing_acls && strncmp(name, ACL_PREFIX, strlen(ACL_PREFIX)) == 0)
        return EOPNOTSUPP;
    if (bale_is_setting_xattr(name) && S_ISDIR(node->mode) && strcmp(name, BALE_XATTR_CODEC) != 0 &&
        strcmp(name, BALE_XATTR_EXTENT) != 0 && strcmp(name, BALE_XATTR_MATCH) != 0)
        return ENODATA;
    return 0;
}

static bool is_setting(const struct bale_node *node, const char *name)
{
    return bale_node_is_regular(node) && bale_is_setting_xattr(name);
}

/* ---- Reading ---- */

void bale_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    struct target target;
    char capability[BALE_CAPABILITY_MAX];

    if (is_setting(node, name)) {
        bale_setting_xattr_get(req, node, name, size);
        return;
    }
    size_t known = strcmp(name, CAPABILITY) == 0 ? bale_capability_get(mount, node, capability) : 0;
    if (known > 0) {
        bale_xattr_reply(req, capability, known, size);
        return;
    }
    char *value = size ? malloc(size) : NULL;
    int err = size && !value ? ENOMEM : check_name(mount, node, name);
    if (!err) {
        err = target_of(mount, node, &target);
        if (!err) {
            ssize_t got = target.follow ? getxattr(target.path, name, value, size)
                                        : lgetxattr(target.path, name, value, size);
            err = got < 0 ? errno : 0;
            if (!err)
                bale_xattr_reply(req, value, (size_t)got, size);
        }
        target_release(mount, &target);
    }
    if (err)
        fuse_reply_err(req, err);
    free(value);
}

/* Takes out what is not shown; returns the new length. */
static size_t filter(const struct bale_mount *mount, const struct bale_node *node, char *list,
                     size_t length)
{
    size_t kept = 0;

    for (size_t at = 0; at < length;) {
        size_t size = strlen(list + at) + 1;
        if (!is_setting(node, list + at) && check_name(mount, node, list + at) == 0) {
            memmove(list + kept, list + at, size);
            kept += size;
        }
        at += size;
    }
    return kept;
}

void bale_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    struct target target;
    ssize_t got = 0;
    char *list = malloc(VALUE_MAX + BALE_SETTING_XATTR_LIST);

    if (!list) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    int err = target_of(mount, node, &target);
    if (!err) {
        got = target.follow ? listxattr(target.path, list, VALUE_MAX)
                            : llistxattr(target.path, list, VALUE_MAX);
        err = got < 0 && errno != EOPNOTSUPP ? errno : 0;
        got = got < 0 ? 0 : got;
    }
    if (!err) {
        size_t length = filter(mount, node, list, (size_t)got);
        int fd;
        if (bale_node_is_regular(node) && bale_node_pin(mount->nodes, node, &fd) == 0) {
            length += bale_setting_xattr_list(mount, node, fd, list + length);
            bale_node_unpin(mount->nodes, node);
        }
        bale_xattr_reply(req, list, length, size);
    } else {
        fuse_reply_err(req, err);
    }
    target_release(mount, &target);
    free(list);
}

/* ---- Writing ---- */

/* Of a directory's setting: the text in its normal form. */
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

/* The kernel asks for it when the caller may not keep the bit and an ACL is set. */
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

static int set_now(struct bale_mount *mount, struct bale_node *node, const char *name,
                   const char *value, size_t size, int flags, bool kill_sgid)
{
    struct target target;
    int err = target_of(mount, node, &target);

    if (!err) {
        int rc = target.follow ? setxattr(target.path, name, value, size, flags)
                               : lsetxattr(target.path, name, value, size, flags);
        err = rc != 0 ? errno : 0;
    }
    atomic_fetch_and(&node->marks, ~(uint32_t)BALE_MARK_NO_SETTINGS);
    if (!err && kill_sgid)
        err = clear_sgid(node, target.path);
    target_release(mount, &target);
    if (!err && strcmp(name, CAPABILITY) == 0 && bale_node_is_regular(node))
        bale_capability_set(mount, node, value, size);
    if (!err)
        bale_opened_touch_ctime(mount, node);
    return err;
}

/* A capability is set when nothing of the file waits to be written: writing would take it away. */
struct capability_op {
    struct bale_use use;
    fuse_req_t req;
    int flags;
    size_t size;
    char value[];
};

static void set_capability(struct capability_op *op, int err)
{
    if (!err) {
        err =
            set_now(op->use.mount, op->use.node, CAPABILITY, op->value, op->size, op->flags, false);
    }
    fuse_reply_err(op->req, err);
    bale_freezer_change_end(op->use.mount->freezer);
}

static void flushed(void *arg, int64_t result)
{
    struct capability_op *op = arg;
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;

    set_capability(op, bale_err_to_errno(result < 0 ? (int)result : 0));
    bale_use_end(mount, node);
    free(op);
}

static void ready(struct bale_use *use, int err)
{
    struct capability_op *op = (struct capability_op *)use;

    if (!err) {
        bale_file_flush(use->node->opened->file, false, flushed, op);
        return;
    }
    set_capability(op, err == ENOENT ? 0 : err);
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
        .use = {.mount = bale_mount_of(req), .node = node, .only_open = true, .ready = ready},
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

    if (is_setting(node, name)) {
        bale_setting_xattr_set(req, node, name, value, size);
        return;
    }
    if (bale_node_is_regular(node) && strcmp(name, CAPABILITY) == 0) {
        flush_and_set_capability(req, node, value, size, flags);
        return;
    }
    int err = check_name(mount, node, name);
    err = err == ENODATA ? EINVAL : err;
    if (!err)
        err = clean_setting(node, name, &value, &size, clean);
    if (!err) {
        err = set_now(mount, node, name, value, size, flags,
                      bale_current_request.acl_kill_sgid && strcmp(name, ACL_ACCESS) == 0);
    }
    fuse_reply_err(req, err);
}

void bale_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    struct target target;

    if (is_setting(node, name)) {
        bale_setting_xattr_set(req, node, name, NULL, 0);
        return;
    }
    int err = check_name(mount, node, name);
    if (!err && strcmp(name, CAPABILITY) == 0)
        bale_capability_set(mount, node, NULL, 0); /* first, lest it be put back */
    if (!err) {
        err = target_of(mount, node, &target);
        if (!err) {
            int rc =
                target.follow ? removexattr(target.path, name) : lremovexattr(target.path, name);
            err = rc != 0 ? errno : 0;
        }
        target_release(mount, &target);
    }
    if (!err)
        bale_opened_touch_ctime(mount, node);
    fuse_reply_err(req, err);
}
