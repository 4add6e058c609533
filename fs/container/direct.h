/* Reading without the page cache. */
#ifndef BALE_FS_CONTAINER_DIRECT_H
#define BALE_FS_CONTAINER_DIRECT_H

#include <stddef.h>
#include <stdint.h>

/* As struct bale_io_ops.read, for a descriptor that may be open with O_DIRECT: reads whole blocks
 * of 4 KiB into memory of its own. */
int bale_direct_read(int fd, void *data, size_t length, uint64_t position, size_t *got);

#endif
