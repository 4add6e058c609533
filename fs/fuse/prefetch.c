#include "fs/fuse/prefetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

/* So much of each container is read: a disk takes hardly longer than for the root alone, and a
 * program that lists files often reads them next. */
#define HEAD (16 << 10)

bool bale_ahead_has_room(const struct bale_ahead *ahead)
{
    return ahead->count < BALE_AHEAD && !ahead->ended;
}

/* Whether reading the first byte would have to wait for the disk. An empty file does not tell. */
static void look_at_disk(struct bale_ahead *ahead, int fd)
{
    char byte;
    struct iovec piece = {&byte, 1};
    ssize_t got = preadv2(fd, &piece, 1, 0, RWF_NOWAIT);

    if (got != 0)
        ahead->disk = got < 0 && errno == EAGAIN ? BALE_DISK_COLD : BALE_DISK_WARM;
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

static void read_head(int fd)
{
    (void)posix_fadvise(fd, 0, HEAD, POSIX_FADV_WILLNEED);
}

void bale_ahead_open(struct bale_ahead *ahead, int directory, const struct bale_dirent *entry)
{
    if (entry->type != DT_REG)
        return;
    bool is_read = ahead->being_read > 0;
    ahead->being_read -= is_read;
    int fd = open_entry(ahead, directory, entry);
    if (fd < 0)
        return;
    if (!is_read && ahead->disk == BALE_DISK_UNKNOWN)
        look_at_disk(ahead, fd);
    if (!is_read && ahead->disk == BALE_DISK_COLD)
        read_head(fd);
    unsigned at = (ahead->first + ahead->count++) % BALE_AHEAD;
    ahead->open[at].entry = entry;
    ahead->open[at].fd = fd;
}

bool bale_ahead_wants_more(const struct bale_ahead *ahead)
{
    return ahead->disk == BALE_DISK_COLD && ahead->being_read == 0 && !ahead->ended;
}

static int by_inode(const void *a, const void *b)
{
    uint64_t x = (*(const struct bale_dirent *const *)a)->ino;
    uint64_t y = (*(const struct bale_dirent *const *)b)->ino;

    return (x > y) - (x < y);
}

void bale_ahead_read(struct bale_ahead *ahead, int directory, const struct bale_dirent **entries,
                     unsigned count)
{
    qsort(entries, count, sizeof entries[0], by_inode);
    for (unsigned i = 0; i < count && !ahead->ended; i++) {
        ahead->being_read++;
        int fd = open_entry(ahead, directory, entries[i]);
        if (fd < 0)
            continue;
        read_head(fd);
        close(fd);
        bale_shares_give(ahead->shares, ahead->user, 1);
    }
}

static int take_first(struct bale_ahead *ahead)
{
    int fd = ahead->open[ahead->first].fd;

    ahead->first = (ahead->first + 1) % BALE_AHEAD;
    ahead->count--;
    bale_shares_give(ahead->shares, ahead->user, 1);
    return fd;
}

int bale_ahead_take(struct bale_ahead *ahead, const struct bale_dirent *entry)
{
    bool first = ahead->count > 0 && ahead->open[ahead->first].entry == entry;

    return first ? take_first(ahead) : -1;
}

void bale_ahead_end(struct bale_ahead *ahead)
{
    ahead->being_read += ahead->count;
    while (ahead->count > 0)
        close(take_first(ahead));
}
