/* Compares a file with its copy, of which one may be a container. */
#ifndef BALE_TOOLS_TRANSFER_SAME_H
#define BALE_TOOLS_TRANSFER_SAME_H

#include "tools/common/contents.h"

enum bale_same {
    BALE_SAME,
    BALE_SAME_NOT,    /* they differ */
    BALE_SAME_FAILED, /* one of them cannot be read; errno or 0 */
    BALE_SAME_BROKEN, /* somebody else wants the file that is leased, or the transfer ends */
};

/* A plain file, or a container. */
struct bale_side {
    int fd;
    const struct bale_contents *contents; /* NULL: fd is a plain file */
};

/* leased: a descriptor of the file with a lease that is given up as soon as somebody else opens the
 * file; without a lease it does not matter. Reads what is in neither's holes. */
enum bale_same bale_same_compare(const struct bale_side *one, const struct bale_side *other,
                                 int leased, struct bale_scratch *scratch);

/* Opens name in dir for reading it back from its file system: without what the page cache has, as
 * far as that is possible. -1 and errno. */
int bale_same_open(int dir, const char *name);

#endif
