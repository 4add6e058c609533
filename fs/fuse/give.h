/* Giving the kernel the data of a small file while it is opened. The program then reads it without a
 * request; and without one for the attributes either, which the kernel takes for old after each
 * read, because of the access time. */
#ifndef BALE_FS_FUSE_GIVE_H
#define BALE_FS_FUSE_GIVE_H

#include "fs/fuse/opened.h"

/* A request reads a file from its beginning: the files that are opened next will be read too. */
void bale_give_note_read(struct bale_mount *mount);

/* What a node's open with these flags is followed by. That its data was given is not known to have
 * been of use, as no request tells; so after some of them a file is left to be read. */
enum bale_expected {
    BALE_EXPECT_NOTHING,
    BALE_EXPECT_READ, /* by a request */
    BALE_EXPECT_GIVE  /* the kernel has nothing of the file: give it the data */
};
enum bale_expected bale_give_expect(struct bale_mount *mount, struct bale_node *node, int flags);

/* Gives the data of a file in BALE_OPENED_OPENING, unless it is too much, and then calls done; on
 * this thread or on one of the volume's. Nobody else uses the file before that, so the kernel has no
 * newer data, and no request of its own for these pages. Counts as an access. Errors are left to
 * reads. */
typedef void bale_given(struct bale_opened *opened, struct bale_file *file);
void bale_give(struct bale_opened *opened, struct bale_file *file, bale_given *done);

#endif
