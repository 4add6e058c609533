#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fs/inode/internal.h"
#include "fs/inode/node.h"

#define TRIES 16 /* a walk that meets a rename each time is given up */

int bale_stat_fd(int fd, struct stat *st, int64_t *btime)
{
    struct statx x;

    if (statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &x) !=
        0)
        return errno;
    *st = (struct stat){
        .st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
        .st_ino = x.stx_ino,
        .st_mode = x.stx_mode,
        .st_nlink = x.stx_nlink,
        .st_uid = x.stx_uid,
        .st_gid = x.stx_gid,
        .st_rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor),
        .st_size = (off_t)x.stx_size,
        .st_blksize = (blksize_t)x.stx_blksize,
        .st_blocks = (blkcnt_t)x.stx_blocks,
        .st_atim = {x.stx_atime.tv_sec, x.stx_atime.tv_nsec},
        .st_mtim = {x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec},
        .st_ctim = {x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec},
    };
    *btime = x.stx_mask & STATX_BTIME ? x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec : 0;
    return 0;
}

static int open_at(int dir_fd, const char *name)
{
    struct open_how how = {
        .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    long fd = syscall(SYS_openat2, dir_fd, name, &how, sizeof how);

    if (fd < 0 && errno == ELOOP) {
        /* RESOLVE_NO_SYMLINKS refuses a link as the last component too, but a link may be what we
         * are to open. */
        how.resolve &= ~(uint64_t)RESOLVE_NO_SYMLINKS;
        fd = syscall(SYS_openat2, dir_fd, name, &how, sizeof how);
    }
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
        /* A sandbox blocks the call. One name without a slash cannot leave the directory. */
        fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    }
    return (int)fd;
}

int bale_node_open_at(struct bale_nodes *nodes, int dir_fd, const char *name, int *fd)
{
    if (strchr(name, '/') || strcmp(name, "..") == 0)
        return EINVAL;
    do {
        *fd = open_at(dir_fd, name);
    } while (*fd < 0 && (errno == EMFILE || errno == ENFILE) && bale_nodes_evict(nodes));
    return *fd < 0 ? errno : 0;
}

bool bale_node_is_at(const struct bale_nodes *nodes, const struct bale_node *node, int fd,
                     struct stat *st)
{
    int64_t btime = 0;

    *st = (struct stat){.st_ino = 0};
    return bale_stat_fd(fd, st, &btime) == 0 && st->st_dev == nodes->device &&
           st->st_ino == node->ino && ((st->st_mode ^ node->mode) & S_IFMT) == 0 &&
           (!btime || !node->btime || btime == node->btime);
}

bool bale_node_pin_open(struct bale_nodes *nodes, struct bale_node *node, int *fd)
{
    pthread_mutex_lock(&nodes->lock);
    bool open = node->fd >= 0;
    if (open) {
        bale_node_add_pin(nodes, node);
        *fd = node->fd;
    }
    pthread_mutex_unlock(&nodes->lock);
    return open;
}

/* Opens node by its name in its parent, whose descriptor is parent_fd, and pins it. */
static int open_in_parent(struct bale_nodes *nodes, struct bale_node *node, int parent_fd, int *fd)
{
    char name[BALE_NODE_NAME_MAX + 1] = "";

    pthread_mutex_lock(&nodes->lock);
    if (node->name)
        strncpy(name, node->name, BALE_NODE_NAME_MAX);
    pthread_mutex_unlock(&nodes->lock);
    int found = -1;
    struct stat st;
    int err = name[0] ? bale_node_open_at(nodes, parent_fd, name, &found) : ESTALE;
    if (!err && !bale_node_is_at(nodes, node, found, &st))
        err = ESTALE;
    pthread_mutex_lock(&nodes->lock);
    if (node->fd < 0 && !err) {
        bale_node_adopt(nodes, node, found);
        found = -1;
    }
    /* It may be open although this failed: a name is removed only while the node is pinned. */
    if (node->fd >= 0) {
        bale_node_add_pin(nodes, node);
        *fd = node->fd;
        err = 0;
    }
    bale_nodes_unlock(nodes, NULL);
    if (found >= 0)
        close(found);
    return err == ENOENT ? ESTALE : err;
}

/* Gets the nodes from the one below the nearest open ancestor down to node, referenced. Pins that
 * ancestor. */
static int chain_of(struct bale_nodes *nodes, struct bale_node *node, struct bale_node ***chain,
                    size_t *count, struct bale_node **top)
{
    size_t n = 0;
    int err = 0;

    pthread_mutex_lock(&nodes->lock);
    for (struct bale_node *at = node; at && at->fd < 0; at = at->parent)
        n++;
    *chain = malloc((n + 1) * sizeof(struct bale_node *));
    *count = n;
    struct bale_node *at = node;
    for (; *chain && at && at->fd < 0; at = at->parent) {
        (*chain)[--n] = at;
        at->refs++;
    }
    if (!*chain) {
        err = ENOMEM;
        *count = 0;
    } else if (at) {
        bale_node_add_pin(nodes, at);
    } else {
        err = ESTALE;
    }
    *top = at;
    pthread_mutex_unlock(&nodes->lock);
    return err;
}

int bale_node_open_number(struct bale_nodes *nodes, uint64_t number, int *fd)
{
    int err;

    do {
        err = bale_handle_open(nodes->handles, number, fd);
    } while ((err == EMFILE || err == ENFILE) && bale_nodes_evict(nodes));
    return err;
}

/* Opens node by its number, and pins it. */
static int open_by_number(struct bale_nodes *nodes, struct bale_node *node, int *fd)
{
    int found;
    struct stat st;
    int err = bale_node_open_number(nodes, node->number, &found);

    if (err)
        return err;
    if (!bale_node_is_at(nodes, node, found, &st)) {
        close(found);
        return ESTALE;
    }
    pthread_mutex_lock(&nodes->lock);
    if (node->fd < 0) {
        bale_node_adopt(nodes, node, found);
        found = -1;
    }
    bale_node_add_pin(nodes, node);
    *fd = node->fd;
    bale_nodes_unlock(nodes, NULL);
    if (found >= 0)
        close(found);
    return 0;
}

/* Opens node from its nearest open ancestor downwards, and pins it. */
static int walk_down(struct bale_nodes *nodes, struct bale_node *node, int *fd)
{
    struct bale_node **chain, *top;
    size_t count;
    int err = chain_of(nodes, node, &chain, &count, &top);
    /* Above a node that was found by its number no names are known. */
    bool nameless = err == ESTALE && nodes->handles && !(node->state & BALE_NODE_IN_SLOT);
    int at = err ? -1 : top->fd;

    for (size_t i = 0; !err && i < count; i++) {
        int next = -1;
        err = open_in_parent(nodes, chain[i], at, &next);
        bale_node_unpin(nodes, top);
        top = err ? NULL : chain[i];
        at = err ? -1 : next;
    }
    for (size_t i = 0; i < count; i++)
        bale_node_unref(nodes, chain[i]);
    free(chain);
    if (nameless)
        return open_by_number(nodes, node, fd);
    *fd = at;
    return err;
}

/* Whether a rename has ended since *renamed was read, if necessary after waiting for one that is
 * under way. Sets *renamed to the present number. */
static bool await_rename(struct bale_nodes *nodes, uint64_t *renamed)
{
    pthread_mutex_lock(&nodes->lock);
    while (nodes->renamed == *renamed && nodes->renaming > 0)
        pthread_cond_wait(&nodes->rename_ended, &nodes->lock);
    bool ended = nodes->renamed != *renamed;
    *renamed = nodes->renamed;
    pthread_mutex_unlock(&nodes->lock);
    return ended;
}

int bale_node_pin(struct bale_nodes *nodes, struct bale_node *node, int *fd)
{
    if (bale_node_pin_open(nodes, node, fd))
        return 0;
    pthread_mutex_lock(&nodes->lock);
    uint64_t renamed = nodes->renamed;
    pthread_mutex_unlock(&nodes->lock);
    /* A rename may have moved a name that was walked through. Walks do not wait for renames
     * otherwise, because a rename may stall. */
    int err = walk_down(nodes, node, fd);
    for (unsigned tries = 1; err == ESTALE && tries < TRIES && await_rename(nodes, &renamed);
         tries++)
        err = walk_down(nodes, node, fd);
    return err;
}
