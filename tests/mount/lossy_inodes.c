/* Attributes. See lossy.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>

#include "tests/mount/lossy.h"

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
    struct lossy_node *node = lossy_node_of(ino);

    node->lookups -= lookups;
    if (node->lookups == 0 && node->links == 0 && node->id != LOSSY_ROOT)
        lossy_node_free(node);
    fuse_reply_none(req);
}

static void reply_attr(fuse_req_t req, const struct lossy_node *node)
{
    struct stat st;

    lossy_stat(node, &st);
    fuse_reply_attr(req, &st, 1000);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)fi;
    reply_attr(req, lossy_node_of(ino));
}

static void set_time(struct timespec *time, const struct timespec *value, bool now)
{
    if (now)
        clock_gettime(CLOCK_REALTIME, time);
    else
        *time = *value;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what,
                       struct fuse_file_info *fi)
{
    struct lossy_node *node = lossy_node_of(ino);

    (void)fi;
    lossy_touch(node, what & FUSE_SET_ATTR_SIZE);
    if (what & FUSE_SET_ATTR_MODE)
        node->st.st_mode = (node->st.st_mode & S_IFMT) | (st->st_mode & 07777);
    if (what & FUSE_SET_ATTR_UID)
        node->st.st_uid = st->st_uid;
    if (what & FUSE_SET_ATTR_GID)
        node->st.st_gid = st->st_gid;
    if (what & FUSE_SET_ATTR_SIZE)
        lossy_data_truncate(node, (uint64_t)st->st_size);
    if (what & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW))
        set_time(&node->st.st_atim, &st->st_atim, what & FUSE_SET_ATTR_ATIME_NOW);
    if (what & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW))
        set_time(&node->st.st_mtim, &st->st_mtim, what & FUSE_SET_ATTR_MTIME_NOW);
    reply_attr(req, node);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    fuse_reply_readlink(req, lossy_node_of(ino)->target);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    const struct statvfs vfs = {.f_bsize = LOSSY_PAGE,
                                .f_frsize = LOSSY_PAGE,
                                .f_blocks = 1 << 22,
                                .f_bfree = 1 << 21,
                                .f_bavail = 1 << 21,
                                .f_namemax = 255};

    (void)ino;
    fuse_reply_statfs(req, &vfs);
}

/* ---- Extended attributes ---- */

static struct lossy_xattr **find(struct lossy_node *node, const char *name)
{
    struct lossy_xattr **at = &node->xattrs;

    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

/* value NULL: removes it. */
void lossy_xattr_set(struct lossy_node *node, const char *name, const void *value, size_t size)
{
    struct lossy_xattr **at = find(node, name), *old = *at;

    if (value) {
        struct lossy_xattr *xattr = calloc(1, sizeof *xattr);
        if (!xattr || !(xattr->name = strdup(name)) || !(xattr->value = malloc(size + 1)))
            abort();
        memcpy(xattr->value, value, size);
        xattr->size = size;
        xattr->next = old ? old->next : NULL;
        *at = xattr;
    } else if (old) {
        *at = old->next;
    }
    if (old) {
        free(old->value);
        free(old->name);
        free(old);
    }
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
                        size_t size, int flags)
{
    struct lossy_node *node = lossy_node_of(ino);
    bool there = *find(node, name);
    int e = strncmp(name, "user.", 5) != 0    ? EOPNOTSUPP
            : flags & XATTR_CREATE && there   ? EEXIST
            : flags & XATTR_REPLACE && !there ? ENODATA
                                              : 0;

    if (!e) {
        lossy_xattr_set(node, name, value, size);
        lossy_touch(node, false);
    }
    fuse_reply_err(req, e);
}

static void reply_value(fuse_req_t req, const void *value, size_t length, size_t room)
{
    if (room == 0)
        fuse_reply_xattr(req, length);
    else if (room < length)
        fuse_reply_err(req, ERANGE);
    else
        fuse_reply_buf(req, value, length);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    const struct lossy_xattr *xattr = *find(lossy_node_of(ino), name);

    if (xattr)
        reply_value(req, xattr->value, xattr->size, size);
    else
        fuse_reply_err(req, strncmp(name, "user.", 5) == 0 ? ENODATA : EOPNOTSUPP);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    char list[65536];
    size_t length = 0;

    for (const struct lossy_xattr *x = lossy_node_of(ino)->xattrs; x; x = x->next) {
        size_t part = strlen(x->name) + 1;
        if (part > sizeof list - length)
            break;
        memcpy(list + length, x->name, part);
        length += part;
    }
    reply_value(req, list, length, size);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    struct lossy_node *node = lossy_node_of(ino);
    bool there = *find(node, name);

    lossy_xattr_set(node, name, NULL, 0);
    lossy_touch(node, false);
    fuse_reply_err(req, there ? 0 : ENODATA);
}

void lossy_inodes_ops(struct fuse_lowlevel_ops *ops)
{
    ops->forget = op_forget;
    ops->getattr = op_getattr;
    ops->setattr = op_setattr;
    ops->readlink = op_readlink;
    ops->statfs = op_statfs;
    ops->setxattr = op_setxattr;
    ops->getxattr = op_getxattr;
    ops->listxattr = op_listxattr;
    ops->removexattr = op_removexattr;
}
