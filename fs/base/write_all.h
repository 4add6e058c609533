/* Writing the whole of a buffer. */
#ifndef BALE_FS_BASE_WRITE_ALL_H
#define BALE_FS_BASE_WRITE_ALL_H

#include <stddef.h>
#include <stdint.h>

/* pwrite(2), until all of it is written. -1 and errno; part may be written then. */
int bale_write_all(int fd, const void *data, size_t length, uint64_t at);

#endif
