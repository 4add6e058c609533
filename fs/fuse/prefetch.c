#include "fs/fuse/prefetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "format/limits.h"

/* A container of no more bytes is read whole: a disk takes hardly longer, and a program that lists
 * files often reads them next. */
#define WHOLE_MOST (16 << 10)

/* Whether reading the first byte would have to wait for the disk. */
static bool is_cold(int fd)
{
    char byte;
    struct iovec piece = {&byte, 1};

    return preadv2(fd, &piece, 1, 0, RWF_NOWAIT) < 0 && errno == EAGAIN;
}

static off_t length_to_read(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_size <= WHOLE_MOST ? st.st_size : BALE_DATA_START;
}

void bale_prefetch_heads(int fd, const char *entries, size_t length)
{
    bool cold = false;

    for (size_t at = 0; at < length;) {
        const struct bale_dirent *entry = (const void *)(entries + at);
        at += entry->length;
        if (entry->type != DT_REG)
            continue;
        int file =
            openat(fd, entry->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
        cold = cold || (file >= 0 && is_cold(file));
        if (cold && file >= 0)
            (void)posix_fadvise(file, 0, length_to_read(file), POSIX_FADV_WILLNEED);
        if (file >= 0)
            close(file);
        if (!cold)
            return;
    }
}
