/* What a container does to its backing file, as a table of calls: the real one is a descriptor,
 * tests put a recorder or a fault injector in between. All calls return 0 or a negative bale_err,
 * transfer everything or fail, restart on EINTR and are safe from several threads. */
#ifndef BALE_FS_CONTAINER_IO_H
#define BALE_FS_CONTAINER_IO_H

#include <stddef.h>
#include <stdint.h>

struct bale_io;
struct bale_io_ops {
    /* Reads up to length bytes; *got < length only at the end of the file. */
    int (*read)(struct bale_io *io, void *data, size_t length, uint64_t position, size_t *got);
    int (*write)(struct bale_io *io, const void *data, size_t length, uint64_t position);
    /* fsync: modes and owners are the backing inode's. */
    int (*sync)(struct bale_io *io);
    int (*size)(struct bale_io *io, uint64_t *size);
    int (*truncate)(struct bale_io *io, uint64_t size);
    /* BALE_E_UNSUPPORTED: cannot */
    int (*punch)(struct bale_io *io, uint64_t position, uint64_t length);
    /* Allocates blocks for [position, position + length) without changing the size.
     * BALE_E_UNSUPPORTED: cannot. */
    int (*allocate)(struct bale_io *io, uint64_t position, uint64_t length);
    void (*close)(struct bale_io *io);
};
struct bale_io {
    const struct bale_io_ops *ops;
};

/* A descriptor, open for reading and, unless the container is opened read-only, writing. The io
 * owns and closes it; it is closed when this fails, too. Large reads and writes (64 KiB or more at
 * once) leave no pages behind in the page cache (RWF_DONTCACHE, or posix_fadvise where the kernel
 * or the file system lacks it). */
int bale_io_open_fd(int fd, struct bale_io **io);
int bale_io_fd(const struct bale_io *io); /* only for one made by bale_io_open_fd */

#endif
