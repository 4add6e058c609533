/* Opening the bale_file of a node. */
#ifndef BALE_FS_FUSE_OPENED_FILE_H
#define BALE_FS_FUSE_OPENED_FILE_H

#include "fs/fuse/opened.h"

/* Opens the container, from opened->fd if that is set, which it takes over; else through the node,
 * for writing if possible, and sets opened->writable. opened is in BALE_OPENED_OPENING, so no other
 * thread uses these members. May verify the container, which takes long: in a handler only if
 * BALE_MARK_UNCERTAIN is not set. Logs the first failure of a node, and sets its marks. 0 or a
 * positive errno. */
int bale_opened_open_file(struct bale_opened *opened, struct bale_file **file);

#endif
