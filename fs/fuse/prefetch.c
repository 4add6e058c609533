#include "fs/fuse/prefetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

/* So much of each container is read: a disk takes hardly longer than for the root alone, and a
 * program that lists files often reads them next. */
#define HEAD (16 << 10)

/* Of what a listing opens at a time: whether the disk has to be waited for. */
enum disk { UNKNOWN, COLD, WARM };

/* Whether reading the first byte would have to wait for the disk. An empty file does not tell. */
static enum disk look_at_disk(int fd)
{
    char byte;
    struct iovec piece = {&byte, 1};
    ssize_t got = preadv2(fd, &piece, 1, 0, RWF_NOWAIT);

    if (got == 0)
        return UNKNOWN;
    return got < 0 && errno == EAGAIN ? COLD : WARM;
}

/* Takes one of the user's descriptors. -1: it cannot be opened, and the user has it back. */
static int open_entry(struct bale_ahead *ahead, int directory, const struct bale_dirent *entry)
{
    if (bale_shares_take(ahead->shares, ahead->user) != BALE_SHARE_TAKEN) {
        ahead->ended = true;
        return -1;
    }
    int fd = openat(directory, entry->name,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_NOATIME | O_CLOEXEC);
    if (fd < 0) {
        /* Too few descriptors, or files of other users, whose times would be changed: the next
         * ones are no better. */
        ahead->ended = errno == EMFILE || errno == ENFILE || errno == EPERM || errno == EACCES;
        bale_shares_give(ahead->shares, ahead->user, 1);
    }
    return fd;
}

static int by_inode(const void *a, const void *b)
{
    uint64_t x = (*(struct bale_ahead_entry *const *)a)->dirent->ino;
    uint64_t y = (*(struct bale_ahead_entry *const *)b)->dirent->ino;

    return (x > y) - (x < y);
}

static void open_in_order(struct bale_ahead *ahead, int directory, struct bale_ahead_entry **order)
{
    enum disk disk = UNKNOWN;

    for (unsigned i = 0; i < ahead->count && !ahead->ended; i++) {
        int fd = open_entry(ahead, directory, order[i]->dirent);
        order[i]->fd = fd;
        if (fd >= 0 && disk == UNKNOWN)
            disk = look_at_disk(fd);
        if (fd >= 0 && disk == COLD)
            (void)posix_fadvise(fd, 0, HEAD, POSIX_FADV_WILLNEED);
    }
}

void bale_ahead_open(struct bale_ahead *ahead, int directory, const struct bale_dirent **entries,
                     unsigned count)
{
    struct bale_ahead_entry *order[BALE_AHEAD];

    bale_ahead_end(ahead);
    for (unsigned i = 0; i < count; i++) {
        ahead->entries[i] = (struct bale_ahead_entry){entries[i], -1};
        order[i] = &ahead->entries[i];
    }
    ahead->next = 0;
    ahead->count = count;
    qsort(order, count, sizeof order[0], by_inode);
    open_in_order(ahead, directory, order);
}

static int take_next(struct bale_ahead *ahead)
{
    int fd = ahead->entries[ahead->next++].fd;

    if (fd >= 0)
        bale_shares_give(ahead->shares, ahead->user, 1);
    return fd;
}

int bale_ahead_take(struct bale_ahead *ahead, const struct bale_dirent *entry)
{
    bool is_next = ahead->next < ahead->count && ahead->entries[ahead->next].dirent == entry;

    return is_next ? take_next(ahead) : -1;
}

void bale_ahead_end(struct bale_ahead *ahead)
{
    while (ahead->next < ahead->count) {
        int fd = take_next(ahead);
        if (fd >= 0)
            close(fd);
    }
}
