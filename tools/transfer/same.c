#include "tools/transfer/same.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/transfer/transfer.h"

#define PIECE ((uint64_t)1 << 20)
#define ALIGNED 4096u /* what reads without the page cache are aligned to */

int bale_same_open(int dir, const char *name)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(dir, name, flags | O_DIRECT);

    if (fd < 0 && errno == EINVAL)
        fd = openat(dir, name, flags);
    if (fd >= 0)
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return fd;
}

/* -1: it cannot be found out. */
static int64_t size_of(const struct bale_side *side)
{
    struct stat st;

    if (side->contents)
        return (int64_t)side->contents->attr.size;
    return fstat(side->fd, &st) == 0 ? st.st_size : -1;
}

/* Where the first data at or after at begins; size: there is none. */
static uint64_t next_data(const struct bale_side *side, uint64_t at, uint64_t size)
{
    uint64_t from, to;

    if (side->contents)
        return bale_contents_next(side->contents, at, &from, &to) ? from : size;
    off_t data = lseek(side->fd, (off_t)at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? size : at;
    return (uint64_t)data;
}

/* Reads whole blocks, as reads without the page cache must; gets less at the end of the file. */
static bool read_plain(int fd, uint64_t at, size_t length, uint8_t *buffer)
{
    while (length > 0) {
        size_t whole = (length + ALIGNED - 1) / ALIGNED * ALIGNED;
        ssize_t got = pread(fd, buffer, whole, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = 0;
        if (got <= 0)
            return false;
        size_t some = (size_t)got < length ? (size_t)got : length;
        at += some;
        buffer += some;
        length -= some;
    }
    return true;
}

static bool read_side(const struct bale_side *side, struct bale_scratch *scratch, uint64_t at,
                      size_t length, uint8_t *buffer)
{
    struct bale_damage damage;

    if (!side->contents)
        return read_plain(side->fd, at, length, buffer);
    bale_damage_init(&damage);
    int err = bale_contents_read(side->contents, scratch, at, length, buffer, &damage);
    bool whole = err == BALE_OK && !bale_damage_any(&damage);
    bale_damage_clear(&damage);
    errno = whole ? 0 : err == BALE_OK ? EIO : bale_err_to_errno(err);
    return whole;
}

static bool is_broken(int leased, bool had)
{
    return atomic_load(&bale_transfer_stop) || (had && fcntl(leased, F_GETLEASE) != F_WRLCK);
}

static enum bale_same compare(const struct bale_side *one, const struct bale_side *other,
                              int leased, struct bale_scratch *scratch, uint64_t size,
                              uint8_t *buffers)
{
    bool had = fcntl(leased, F_GETLEASE) == F_WRLCK;
    uint64_t at = 0;

    while (at < size) {
        uint64_t a = next_data(one, at, size), b = next_data(other, at, size);
        at = (a < b ? a : b) / ALIGNED * ALIGNED;
        if (at >= size || (a >= size && b >= size))
            break;
        size_t length = size - at < PIECE ? (size_t)(size - at) : PIECE;
        if (is_broken(leased, had))
            return BALE_SAME_BROKEN;
        if (!read_side(one, scratch, at, length, buffers) ||
            !read_side(other, scratch, at, length, buffers + PIECE))
            return BALE_SAME_FAILED;
        if (memcmp(buffers, buffers + PIECE, length) != 0)
            return BALE_SAME_NOT;
        at += length;
    }
    return is_broken(leased, had) ? BALE_SAME_BROKEN : BALE_SAME;
}

enum bale_same bale_same_compare(const struct bale_side *one, const struct bale_side *other,
                                 int leased, struct bale_scratch *scratch)
{
    int64_t size = size_of(one);
    void *buffers;

    if (size < 0)
        return BALE_SAME_FAILED;
    if (size != size_of(other))
        return BALE_SAME_NOT;
    if (posix_memalign(&buffers, ALIGNED, 2 * PIECE) != 0) {
        errno = ENOMEM;
        return BALE_SAME_FAILED;
    }
    enum bale_same same = compare(one, other, leased, scratch, (uint64_t)size, buffers);
    int e = errno;
    free(buffers);
    errno = e;
    return same;
}
