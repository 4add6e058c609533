#include "fs/container/direct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"

#define BLOCK 4096u /* the strictest alignment that is asked for */
#define PIECE (1u << 20)

/* Reads at position, which is aligned, until the piece is full or the file ends. */
static int read_piece(int fd, uint8_t *piece, size_t length, uint64_t position, size_t *got)
{
    *got = 0;
    while (*got < length) {
        ssize_t n = pread(fd, piece + *got, length - *got, (off_t)(position + *got));

        if (n < 0 && errno != EINTR)
            return bale_err_from_errno(errno);
        if (n == 0)
            return BALE_OK;
        *got += n > 0 ? (size_t)n : 0;
        if (*got % BLOCK != 0) /* the end of the file */
            return BALE_OK;
    }
    return BALE_OK;
}

int bale_direct_read(int fd, void *data, size_t length, uint64_t position, size_t *got)
{
    void *piece;
    int err = BALE_OK;

    *got = 0;
    if (position > INT64_MAX - PIECE || length > INT64_MAX - PIECE - position)
        return BALE_E_TOOBIG;
    if (posix_memalign(&piece, BLOCK, length < PIECE - BLOCK ? length + 2 * BLOCK : PIECE) != 0)
        return BALE_E_NOMEM;
    while (*got < length && err == BALE_OK) {
        uint64_t at = position + *got;
        size_t before = at % BLOCK, read;
        size_t want = (before + length - *got + BLOCK - 1) / BLOCK * BLOCK;

        err = read_piece(fd, piece, want < PIECE ? want : PIECE, at - before, &read);
        if (err != BALE_OK || read <= before)
            break;
        size_t n = read - before < length - *got ? read - before : length - *got;
        memcpy((uint8_t *)data + *got, (uint8_t *)piece + before, n);
        *got += n;
        if (read % BLOCK != 0)
            break;
    }
    free(piece);
    return err;
}
