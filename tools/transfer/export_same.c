/* Compares what was exported with the container, for a move. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/transfer/export.h"

enum bale_same bale_export_same(struct bale_transfer *transfer, struct bale_tree_dir *dir,
                                const char *name, int from, struct bale_scratch *scratch)
{
    const struct bale_export *export = transfer->arg;
    struct bale_contents origin = {0};
    struct bale_reason why;
    int own = fcntl(from, F_DUPFD_CLOEXEC, 0); /* another open file would break the lease */
    struct bale_side copy = {.fd = bale_same_open(dir->to, name)};
    enum bale_same same = BALE_SAME_FAILED;

    if (own >= 0 && copy.fd >= 0 &&
        bale_contents_open(&export->reader, own, &origin, &why) == BALE_OK) {
        struct bale_side stored = {.fd = -1, .contents = &origin};
        same = bale_same_compare(&copy, &stored, from, scratch);
    }
    int e = errno;
    bale_contents_close(&origin);
    if (copy.fd >= 0)
        close(copy.fd);
    errno = e;
    return same;
}
