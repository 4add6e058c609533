/* Compares a file with what was imported of it, for a move. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/transfer/import.h"

enum bale_same bale_import_same(struct bale_transfer *transfer, struct bale_tree_dir *dir,
                                const char *name, int from, struct bale_scratch *scratch)
{
    const struct bale_import *import = transfer->arg;
    struct bale_contents copy = {0};
    struct bale_reason why;
    int fd;

    if (bale_reader_open_below(dir->to, name, &fd, &why) != BALE_OK)
        return BALE_SAME_FAILED;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (bale_contents_open(&import->reader, fd, &copy, &why) != BALE_OK) {
        errno = EIO;
        return BALE_SAME_FAILED;
    }
    struct bale_side origin = {.fd = from}, stored = {.fd = -1, .contents = &copy};
    enum bale_same same = bale_same_compare(&origin, &stored, from, scratch);
    int e = errno;
    bale_contents_close(&copy);
    errno = e;
    return same;
}

enum bale_same bale_import_mounted_same(struct bale_transfer *transfer, struct bale_tree_dir *dir,
                                        const char *name, int from, struct bale_scratch *scratch)
{
    struct bale_side origin = {.fd = from};
    struct bale_side copy = {.fd = bale_same_open(dir->to, name)};

    (void)transfer;
    if (copy.fd < 0)
        return BALE_SAME_FAILED;
    enum bale_same same = bale_same_compare(&origin, &copy, from, scratch);
    int e = errno;
    close(copy.fd);
    errno = e;
    return same;
}
