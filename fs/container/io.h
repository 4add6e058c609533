/* The calls that a container makes on its backing file, as a table: the real one uses a descriptor;
 * tests put a recorder or a fault injector in between. All calls return 0 or a negative bale_err,
 * transfer everything or fail, restart on EINTR and are safe from several threads. */
#ifndef BALE_FS_CONTAINER_IO_H
#define BALE_FS_CONTAINER_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bale_io;
struct bale_io_ops {
    /* Reads up to length bytes; *got < length only at the end of the file. */
    int (*read)(struct bale_io *io, void *data, size_t length, uint64_t position, size_t *got);
    /* A hint: whether what lies behind the next reads will not be wanted, so that the kernel should
     * not read it ahead. At first it will be. NULL: it does not matter. */
    void (*expect)(struct bale_io *io, bool alone);
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
    /* Makes whole blocks of 4096 bytes the same as those of another file, sharing them.
     * BALE_E_UNSUPPORTED: cannot. NULL: never can. */
    int (*clone)(struct bale_io *io, struct bale_io *source, uint64_t from, uint64_t length,
                 uint64_t position);
    /* For a reader beside a writer on another machine: from now on reads show what the file has
     * now. NULL: they always do. */
    int (*renew)(struct bale_io *io);
    /* Ends the io, also on failure. After a failure, what was written before may be lost: a file
     * system in user space or on a network stores it only now. */
    int (*close)(struct bale_io *io);
};
struct bale_io {
    const struct bale_io_ops *ops;
};

/* The io of a descriptor that is open for reading and, unless the container is opened read-only,
 * for writing. The io owns the descriptor, also when this call fails (then it is closed). Large
 * reads and writes (64 KiB or more at once) leave no pages in the page cache (RWF_DONTCACHE, or
 * posix_fadvise where the kernel or the file system lacks that). */
int bale_io_open_fd(int fd, struct bale_io **io);
/* The same for a file that is only read; the descriptor stays the caller's. */
int bale_io_borrow_fd(int fd, struct bale_io **io);
int bale_io_fd(const struct bale_io *io); /* only for one made by bale_io_open_fd */

/* Only for one made by bale_io_open_fd, which is only read. Its renew opens the file again, without
 * a page cache (O_DIRECT): on network file systems neither a descriptor that is kept nor cached
 * pages show what another machine has written. The number of the descriptor stays. BALE_E_NOENT:
 * the file was removed before the first time. */
void bale_io_set_remote(struct bale_io *io);

/* Only for one made by bale_io_open_fd. When an ordinary user changes a file, the kernel takes its
 * set-id bits away. From now on each change through this io puts back the bits that the file had
 * just before, if owner, group and permissions are still the same. Bits that cannot be put back are
 * lost. */
void bale_io_keep_set_id(struct bale_io *io);

#endif
