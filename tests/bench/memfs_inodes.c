#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <time.h>

#include "tests/bench/memfs.h"

static struct memfs_node root = {
    .lock = PTHREAD_RWLOCK_INITIALIZER,
    .attr = {.st_ino = FUSE_ROOT_ID, .st_mode = S_IFDIR | 0755, .st_nlink = 2},
    .lookups = 1,
};

void memfs_now(struct timespec *t)
{
    clock_gettime(CLOCK_REALTIME_COARSE, t);
}

struct memfs_node *memfs_node_get(fuse_ino_t ino)
{
    return ino == FUSE_ROOT_ID ? &root : (struct memfs_node *)(uintptr_t)ino;
}

fuse_ino_t memfs_node_ino(const struct memfs_node *node)
{
    return node == &root ? FUSE_ROOT_ID : (uintptr_t)node;
}

struct memfs_node *memfs_node_create(mode_t mode)
{
    struct memfs_node *node = calloc(1, sizeof *node);

    if (!node)
        return NULL;
    pthread_rwlock_init(&node->lock, NULL);
    node->attr.st_ino = (uintptr_t)node >> 4;
    node->attr.st_mode = mode;
    node->attr.st_blksize = 128 << 10;
    memfs_now(&node->attr.st_mtim);
    node->attr.st_atim = node->attr.st_ctim = node->attr.st_mtim;
    return node;
}

void memfs_node_destroy(struct memfs_node *node)
{
    if (!node)
        return;
    memfs_data_free(node);
    pthread_rwlock_destroy(&node->lock);
    free(node->target);
    free(node);
}

static void set_time(struct timespec *t, int set, int given, int now, struct timespec value)
{
    if (set & now)
        memfs_now(t);
    else if (set & given)
        *t = value;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int set,
                       struct fuse_file_info *fi)
{
    struct memfs_node *node = memfs_node_get(ino);
    struct stat *st = &node->attr;

    (void)fi;
    pthread_rwlock_wrlock(&node->lock);
    if (set & FUSE_SET_ATTR_MODE)
        st->st_mode = (st->st_mode & S_IFMT) | (attr->st_mode & 07777);
    if (set & FUSE_SET_ATTR_UID)
        st->st_uid = attr->st_uid;
    if (set & FUSE_SET_ATTR_GID)
        st->st_gid = attr->st_gid;
    if (set & FUSE_SET_ATTR_SIZE)
        memfs_data_resize(node, attr->st_size);
    set_time(&st->st_atim, set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, attr->st_atim);
    set_time(&st->st_mtim, set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, attr->st_mtim);
    memfs_now(&st->st_ctim);
    struct stat now = *st;
    pthread_rwlock_unlock(&node->lock);
    fuse_reply_attr(req, &now, memfs_cache_seconds);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct memfs_node *node = memfs_node_get(ino);

    (void)fi;
    pthread_rwlock_rdlock(&node->lock);
    struct stat now = node->attr;
    pthread_rwlock_unlock(&node->lock);
    now.st_blocks = (now.st_size + 511) / 512;
    fuse_reply_attr(req, &now, memfs_cache_seconds);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    fuse_reply_readlink(req, memfs_node_get(ino)->target);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    const struct statvfs st = {.f_bsize = 4096,
                               .f_frsize = 4096,
                               .f_blocks = 1 << 28,
                               .f_bfree = 1 << 28,
                               .f_bavail = 1 << 28,
                               .f_namemax = 255};
    (void)ino;
    fuse_reply_statfs(req, &st);
}

/* There are none, but the kernel must go on asking, as it does where there may be some: ls -l has
 * it ask twice for each file. */
static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    (void)ino;
    (void)name;
    (void)size;
    fuse_reply_err(req, ENODATA);
}

void memfs_inodes(struct fuse_lowlevel_ops *ops)
{
    ops->setattr = op_setattr;
    ops->getattr = op_getattr;
    ops->readlink = op_readlink;
    ops->getxattr = op_getxattr;
    ops->statfs = op_statfs;
}
