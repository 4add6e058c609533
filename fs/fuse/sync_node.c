#include "fs/fuse/sync_node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fuse/backing.h"
#include "fs/fuse/sync_tree.h"

/* Opens a node to sync it; a file for writing, because on some file systems fsync of a descriptor
 * for reading syncs nothing. -1 and errno. */
static int open_node(struct bale_mount *mount, const struct bale_node *node, int path_fd)
{
    const struct bale_proc_path path = bale_proc_path(path_fd);
    int fd;

    if (S_ISDIR(node->mode)) {
        do {
            fd = bale_backing_open(path.text, O_RDONLY | O_DIRECTORY);
        } while (bale_backing_retry(mount, fd));
        return fd;
    }
    do {
        fd = bale_backing_open(path.text, O_RDWR);
        if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
            fd = bale_backing_open(path.text, O_RDONLY);
    } while (bale_backing_retry(mount, fd));
    return fd;
}

/* As open_node. If the owner, who runs the daemon, may not read the node, gives that permission for
 * a moment. */
static int open_permitted(struct bale_mount *mount, const struct bale_node *node, int path_fd,
                          const struct stat *st)
{
    const struct bale_proc_path path = bale_proc_path(path_fd);
    int fd = open_node(mount, node, path_fd);

    if (fd >= 0 || errno != EACCES || st->st_uid != mount->owner || st->st_mode & S_IRUSR ||
        chmod(path.text, (st->st_mode & 07777) | S_IRUSR) != 0)
        return fd;
    fd = open_node(mount, node, path_fd);
    int e = errno;
    if (chmod(path.text, st->st_mode & 07777) != 0 && fd >= 0) {
        e = errno;
        close(fd);
        fd = -1;
    }
    errno = e;
    return fd;
}

static int sync_descriptor(const struct bale_node *node, int fd)
{
    int rc;

    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    if (rc == 0)
        return 0;
    /* Some file systems cannot sync directories: changes of names are durable there at once. */
    return S_ISDIR(node->mode) && (errno == EINVAL || errno == ENOTSUP) ? 0 : errno;
}

static int sync_path(struct bale_mount *mount, const struct bale_node *node, int path_fd,
                     const struct stat *st)
{
    int fd = open_permitted(mount, node, path_fd, st);

    if (fd < 0)
        return errno;
    int e = 0;
    if (S_ISDIR(node->mode) && node->marks & BALE_MARK_MOVED) {
        e = bale_sync_tree_at(fd, "a directory that was moved");
    } else {
        e = sync_descriptor(node, fd);
        close(fd);
    }
    if (!e && node == bale_nodes_root(mount->nodes))
        e = bale_store_top_sync(mount->store); /* the mount's root shows its attributes */
    return e;
}

/* Syncs what has that name now: nothing, if the node was removed, here or beside the mount. On
 * overlayfs that may be a copy of the file with another inode number. */
static int sync_at(struct bale_mount *mount, const struct bale_node *node, int dir_fd,
                   const char *name)
{
    struct stat st;
    int fd, e = 0;

    do {
        fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    } while (bale_backing_retry(mount, fd));
    if (fd < 0)
        return errno == ENOENT ? 0 : errno;
    if (fstat(fd, &st) != 0)
        e = errno;
    else if (((st.st_mode ^ node->mode) & S_IFMT) == 0)
        e = sync_path(mount, node, fd, &st);
    close(fd);
    return e == ENOENT ? 0 : e;
}

static int sync_named(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_node *dir;
    char *name;
    int dir_fd;

    if (bale_node_locate(mount->nodes, node, &dir, &name) != 0)
        return 0;
    int e = bale_node_pin(mount->nodes, dir, &dir_fd);
    if (!e) {
        e = sync_at(mount, node, dir_fd, name);
        bale_node_unpin(mount->nodes, dir);
    } else if (e == ENOENT || e == ESTALE) {
        e = 0; /* the directory was removed */
    }
    bale_node_unref(mount->nodes, dir);
    free(name);
    return e;
}

static int sync_known(struct bale_mount *mount, struct bale_node *node)
{
    struct stat st;
    int path_fd;
    int e = bale_node_pin(mount->nodes, node, &path_fd);

    if (e)
        return e;
    if (fstat(path_fd, &st) != 0)
        e = errno;
    else if (st.st_nlink > 0)
        e = sync_path(mount, node, path_fd, &st);
    bale_node_unpin(mount->nodes, node);
    return e;
}

int bale_sync_node(struct bale_mount *mount, struct bale_node *node)
{
    int e = sync_known(mount, node);

    /* It may be removed again and again while it is synced. */
    for (int i = 0; i < 3 && (e == ENOENT || e == ESTALE); i++)
        e = sync_named(mount, node);
    return e;
}
