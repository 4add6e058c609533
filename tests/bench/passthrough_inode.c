#include "passthrough_inode.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUCKETS = 1 << 16, ROOT_NUMBER = 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct inode *table[BUCKETS];
static struct inode root = {.fd = -1};

static struct inode **bucket(dev_t dev, ino_t ino)
{
    uint64_t hash = (ino ^ (dev << 32)) * 0x9e3779b97f4a7c15ULL;
    return &table[hash >> 48];
}

int inode_root_open(const char *path)
{
    struct stat st;
    root.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root.fd < 0 || fstat(root.fd, &st) != 0)
        return -errno;
    root.dev = st.st_dev;
    root.ino = st.st_ino;
    return 0;
}

struct inode *inode_get(uint64_t number)
{
    return number == ROOT_NUMBER ? &root : (struct inode *)(uintptr_t)number;
}

/* An inode's descriptor keeps its number from being used again, so (dev, ino) is unique in the
 * table. Takes fd. */
static struct inode *find_or_add(int fd, const struct stat *st)
{
    struct inode **head = bucket(st->st_dev, st->st_ino), *inode;
    pthread_mutex_lock(&lock);
    for (inode = *head; inode; inode = inode->next)
        if (inode->dev == st->st_dev && inode->ino == st->st_ino)
            break;
    if (inode) {
        close(fd);
    } else if ((inode = malloc(sizeof *inode))) {
        *inode = (struct inode){.fd = fd, .dev = st->st_dev, .ino = st->st_ino, .next = *head};
        *head = inode;
    }
    if (inode)
        inode->lookups++;
    pthread_mutex_unlock(&lock);
    return inode;
}

int inode_lookup(struct inode *parent, const char *name, struct inode **out, struct stat *st)
{
    int fd = openat(parent->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = fstat(fd, st) == 0 ? 0 : -errno;
    if (rc == 0 && !(*out = find_or_add(fd, st)))
        rc = -ENOMEM;
    if (rc != 0)
        close(fd);
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
            close(inode->fd);
            free(inode);
        }
    }
    if (root.fd >= 0)
        close(root.fd);
    root.fd = -1;
}

const char *inode_proc_path(const struct inode *inode, char path[INODE_PROC_MAX])
{
    snprintf(path, INODE_PROC_MAX, "/proc/self/fd/%d", inode->fd);
    return path;
}
