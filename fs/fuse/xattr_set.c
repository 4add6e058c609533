#include "fs/fuse/unsynced.h"
#include "fs/fuse/xattr.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/fuse/capability.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/request.h"
#include "fs/fuse/xattr_balefs.h"

/* Replaces the text of a directory's setting by its normal form, in clean. */
static int clean_setting(const struct bale_mount *mount, struct bale_node *node, const char *name,
                         const char **value, size_t *size, char *clean)
{
    struct bale_reason why;

    if (!bale_is_setting_xattr(name) || !S_ISDIR(node->mode))
        return 0;
    int err = bale_properties_check(name, *value, *size, clean, &why);
    if (err != BALE_OK) {
        bale_setting_xattr_refused(mount, node, why.text);
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
    bale_known_changed(mount, node, name);
    bale_xattr_path_close(mount, &path);
    if (!e)
        e = bale_permissions_changed(mount, node);
    if (!e && strcmp(name, BALE_CAPABILITY_XATTR) == 0 && bale_node_is_regular(node))
        bale_capability_set(mount, node, value, size);
    if (!e) {
        bale_opened_touch_ctime(mount, node);
        bale_unsynced_add(mount, node);
    }
    return e;
}

static int remove_xattr(struct bale_mount *mount, struct bale_node *node, const char *name)
{
    struct bale_xattr_path path;
    int e = bale_xattr_path_open(mount, node, name, &path);

    if (!e) {
        int rc = path.follow ? removexattr(path.text, name) : lremovexattr(path.text, name);
        e = rc != 0 ? errno : 0;
    }
    bale_known_changed(mount, node, name);
    bale_xattr_path_close(mount, &path);
    if (!e)
        e = bale_permissions_changed(mount, node);
    if (!e) {
        bale_opened_touch_ctime(mount, node);
        bale_unsynced_add(mount, node);
    }
    return e;
}

/* ---- Attributes that need the file first ----------------------------------------------------- */

/* Sets or removes an attribute of a regular file after a change of its container. Before a
 * capability is set, the dirty data is stored, because writing it later would take the capability
 * away. Before an ACL admits users, the container is scrubbed of what they must not find there. */
struct xattr_op {
    struct bale_use use;
    fuse_req_t req;
    struct bale_request *request;
    const char *name; /* constant */
    bool removes;
    bool kill_sgid;
    int flags;
    size_t size;
    char value[];
};

static void xattr_finish(struct xattr_op *op, int e)
{
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;

    if (!e)
        e = op->removes
                ? remove_xattr(mount, node, op->name)
                : set_xattr(mount, node, op->name, op->value, op->size, op->flags, op->kill_sgid);
    fuse_reply_err(op->req, e);
    bale_in_flight_complete(mount->in_flight, op->request);
    bale_freezer_change_end(mount->freezer);
}

static void xattr_file_prepared(void *arg, int64_t result)
{
    struct xattr_op *op = arg;
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;

    if (!op->use.only_open)
        bale_capability_put_back(node->opened);
    xattr_finish(op, bale_err_to_errno(result < 0 ? (int)result : 0));
    bale_use_end(mount, node);
    free(op);
}

/* Scrubs the container before an ACL admits users to it. */
static void xattr_scrub(struct xattr_op *op)
{
    struct bale_opened *opened = op->use.node->opened;

    if (bale_file_is_scrubbed(opened->file)) {
        xattr_file_prepared(op, BALE_OK);
    } else if (!opened->writable) {
        xattr_file_prepared(op, BALE_E_PERM);
    } else {
        bale_capability_keep(opened);
        bale_file_scrub(opened->file, xattr_file_prepared, op);
    }
}

static void xattr_file_ready(struct bale_use *use, int e)
{
    struct xattr_op *op = (struct xattr_op *)use;

    if (!e && use->only_open) {
        bale_file_flush(use->node->opened->file, false, xattr_file_prepared, op);
    } else if (!e) {
        xattr_scrub(op);
    } else {
        xattr_finish(op, use->only_open && e == ENOENT ? 0 : e);
        free(op);
    }
}

/* value NULL: removes it. */
static void prepare_and_set(fuse_req_t req, struct bale_node *node, const char *name,
                            const char *value, size_t size, int flags)
{
    bool acl = strcmp(name, BALE_ACL_ACCESS) == 0;
    struct xattr_op *op = malloc(sizeof *op + size);

    if (!op) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    *op = (struct xattr_op){
        .use = {.mount = bale_mount_of(req),
                .node = node,
                .only_open = !acl,
                .changes = true,
                .ready = xattr_file_ready},
        .req = req,
        .request = bale_in_flight_detach(bale_mount_of(req)->in_flight),
        .name = acl ? BALE_ACL_ACCESS : BALE_CAPABILITY_XATTR,
        .removes = !value,
        .kill_sgid = acl && bale_current_request.acl_kill_sgid,
        .flags = flags,
        .size = size,
    };
    if (value)
        memcpy(op->value, value, size);
    bale_freezer_change_begin(op->use.mount->freezer);
    bale_use_begin(&op->use);
}

/* Whether an ACL can let somebody read the container of the node who could not. */
static bool admits_readers(struct bale_mount *mount, const struct bale_node *node, const char *name)
{
    return bale_node_is_regular(node) && strcmp(name, BALE_ACL_ACCESS) == 0 &&
           mount->backing_acls && bale_store_is_open(mount->store);
}

/* ---- The handlers ---------------------------------------------------------------------------- */

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
    if ((bale_node_is_regular(node) && strcmp(name, BALE_CAPABILITY_XATTR) == 0) ||
        admits_readers(mount, node, name)) {
        prepare_and_set(req, node, name, value, size, flags);
        return;
    }
    int e = bale_xattr_check_name(mount, node, name);
    e = e == ENODATA ? EINVAL : e;
    if (!e)
        e = clean_setting(mount, node, name, &value, &size, clean);
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

    if (bale_xattr_is_setting(node, name)) {
        bale_setting_xattr_set(req, node, name, NULL, 0);
        return;
    }
    if (admits_readers(mount, node, name)) {
        prepare_and_set(req, node, name, NULL, 0, 0);
        return;
    }
    int e = bale_xattr_check_name(mount, node, name);
    if (!e && strcmp(name, BALE_CAPABILITY_XATTR) == 0)
        bale_capability_set(mount, node, NULL, 0); /* first, or a close would put it back */
    fuse_reply_err(req, e ? e : remove_xattr(mount, node, name));
}
