#include "fs/fuse/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/base/open.h"

#define NAME_TRIES 60
#define NAME_PAUSE_US 25000

struct bale_proc_path bale_proc_path(int fd)
{
    struct bale_proc_path path;

    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", fd);
    return path;
}

int bale_backing_open_at(int directory, const char *path, int flags)
{
    int fd = bale_open_now_at(directory, path, flags | O_NOATIME);

    return fd < 0 && errno == EPERM ? bale_open_now_at(directory, path, flags) : fd;
}

int bale_backing_open(const char *path, int flags)
{
    return bale_backing_open_at(AT_FDCWD, path, flags);
}

bool bale_backing_retry(struct bale_mount *mount, int fd)
{
    return fd < 0 && (errno == EMFILE || errno == ENFILE) && bale_nodes_evict(mount->nodes);
}

/* Whether the name leads to another inode or to none. Opening, unlike O_PATH, notices an inode that
 * is gone: after ESTALE the kernel looks the name up on the server. */
static bool leads_elsewhere(const struct bale_node *node, int dir_fd, const char *name)
{
    struct stat st;
    int fd =
        openat(dir_fd, name, O_RDONLY | O_DIRECT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT && fd < 0;
    return st.st_ino != node->ino;
}

/* After ENOENT the kernel believes the name as long as its file system lets it, which is mostly a
 * second. */
static void await_name(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_node *dir;
    char *name;
    int dir_fd;

    if (bale_node_locate(mount->nodes, node, &dir, &name) != 0)
        return;
    if (bale_node_pin(mount->nodes, dir, &dir_fd) == 0) {
        for (int i = 0; i < NAME_TRIES && !leads_elsewhere(node, dir_fd, name); i++)
            usleep(NAME_PAUSE_US);
        bale_node_unpin(mount->nodes, dir);
    }
    bale_node_unref(mount->nodes, dir);
    free(name);
}

int bale_backing_look_again(struct bale_mount *mount, struct bale_node *node, int e)
{
    if (!mount->beside || (e != ESTALE && e != ENOENT))
        return e;
    await_name(mount, node);
    return ESTALE;
}
