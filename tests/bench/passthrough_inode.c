#include "tests/bench/passthrough_inode.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUCKETS = 1 << 16, ROOT_NUMBER = 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct inode *table[BUCKETS];
static struct inode root = {.fd = -1};
static int files_fd = -1; /* the root's file system, for handles; -1: there are none */

/* As the kernel writes it. */
union handle {
    struct file_handle head;
    unsigned char room[sizeof(struct file_handle) + INODE_HANDLE_MAX];
};

static struct inode **bucket(dev_t dev, ino_t ino)
{
    uint64_t hash = (ino ^ (dev << 32)) * 0x9e3779b97f4a7c15ULL;

    return &table[hash >> 48];
}

static bool get_handle(int dir, const char *name, int flags, union handle *handle)
{
    int mount;

    handle->head.handle_bytes = INODE_HANDLE_MAX;
    return name_to_handle_at(dir, name, &handle->head, &mount, flags) == 0;
}

/* Handles that can be opened again need the capability, and a file system that has them. */
static void try_handles(const char *path)
{
    union handle handle;
    int fd = -1;

    files_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files_fd >= 0 && get_handle(files_fd, "", AT_EMPTY_PATH, &handle))
        fd = open_by_handle_at(files_fd, &handle.head, O_PATH | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    } else if (files_fd >= 0) {
        close(files_fd);
        files_fd = -1;
    }
}

int inode_root_open(const char *path)
{
    struct stat st;

    root.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root.fd < 0 || fstat(root.fd, &st) != 0)
        return -errno;
    root.dev = st.st_dev;
    root.ino = st.st_ino;
    try_handles(path);
    return 0;
}

bool inode_have_handles(void)
{
    return files_fd >= 0;
}

struct inode *inode_get(uint64_t number)
{
    return number == ROOT_NUMBER ? &root : (struct inode *)(uintptr_t)number;
}

static bool is_same(const struct inode *a, const struct inode *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->handle_type == b->handle_type &&
           a->handle_size == b->handle_size && memcmp(a->handle, b->handle, a->handle_size) == 0;
}

/* An inode's descriptor keeps its number from being used again, and its handle tells it from a
 * later one with the same number. Takes the descriptor. */
static struct inode *find_or_add(const struct inode *found)
{
    struct inode **head = bucket(found->dev, found->ino), *inode;

    pthread_mutex_lock(&lock);
    for (inode = *head; inode; inode = inode->next)
        if (is_same(inode, found))
            break;
    if (inode) {
        if (found->fd >= 0)
            close(found->fd);
    } else if ((inode = malloc(sizeof *inode))) {
        *inode = *found;
        inode->next = *head;
        *head = inode;
    }
    if (inode)
        inode->lookups++;
    pthread_mutex_unlock(&lock);
    return inode;
}

static bool find_by_handle(int dir, const char *name, struct inode *found, struct stat *st)
{
    union handle handle;

    if (files_fd < 0 || fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(st->st_mode) ||
        st->st_dev != root.dev || !get_handle(dir, name, 0, &handle))
        return false;
    found->handle_type = handle.head.handle_type;
    found->handle_size = handle.head.handle_bytes;
    memcpy(found->handle, handle.head.f_handle, found->handle_size);
    return true;
}

int inode_lookup(struct inode *parent, const char *name, struct inode **out, struct stat *st)
{
    struct inode found = {.fd = -1};

    if (!find_by_handle(parent->fd, name, &found, st)) {
        found.fd = openat(parent->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (found.fd < 0)
            return -errno;
    }
    int rc = found.fd < 0 || fstat(found.fd, st) == 0 ? 0 : -errno;
    found.dev = st->st_dev;
    found.ino = st->st_ino;
    if (rc == 0 && !(*out = find_or_add(&found)))
        rc = -ENOMEM;
    if (rc != 0 && found.fd >= 0)
        close(found.fd);
    return rc;
}

void inode_forget(struct inode *inode, uint64_t count)
{
    if (inode == &root)
        return;
    pthread_mutex_lock(&lock);
    inode->lookups -= count;
    if (inode->lookups > 0)
        inode = NULL;
    if (inode) {
        struct inode **at = bucket(inode->dev, inode->ino);
        while (*at != inode)
            at = &(*at)->next;
        *at = inode->next;
    }
    pthread_mutex_unlock(&lock);
    if (inode) {
        if (inode->fd >= 0)
            close(inode->fd);
        free(inode);
    }
}

void inode_close_all(void)
{
    for (int i = 0; i < BUCKETS; i++) {
        while (table[i]) {
            struct inode *inode = table[i];
            table[i] = inode->next;
            if (inode->fd >= 0)
                close(inode->fd);
            free(inode);
        }
    }
    if (root.fd >= 0)
        close(root.fd);
    if (files_fd >= 0)
        close(files_fd);
    root.fd = files_fd = -1;
}

int inode_pin(const struct inode *inode, struct inode_pin *hold)
{
    union handle handle;

    hold->fd = inode->fd;
    hold->opened = inode->fd < 0;
    if (hold->opened) {
        handle.head.handle_bytes = inode->handle_size;
        handle.head.handle_type = inode->handle_type;
        memcpy(handle.head.f_handle, inode->handle, inode->handle_size);
        hold->fd = open_by_handle_at(files_fd, &handle.head, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (hold->fd < 0)
            return -errno;
    }
    snprintf(hold->path, sizeof hold->path, "/proc/self/fd/%d", hold->fd);
    return 0;
}

void inode_unpin(struct inode_pin *hold)
{
    int saved = errno;

    if (hold->opened)
        close(hold->fd);
    errno = saved;
}
