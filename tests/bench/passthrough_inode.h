/* The yardstick's inodes: one O_PATH descriptor for each that the kernel knows. A fuse_ino_t is the
 * inode's address, except for the root. All functions may be called from any thread. */
#ifndef PASSTHROUGH_INODE_H
#define PASSTHROUGH_INODE_H

#include <stdint.h>
#include <sys/stat.h>

struct inode {
    int fd;
    dev_t dev;
    ino_t ino;
    uint64_t lookups; /* by the kernel; under the table's lock */
    struct inode *next;
};

enum { INODE_PROC_MAX = 32 };

/* Opens the directory that is shown. 0 or a negative errno. */
int inode_root_open(const char *path);

/* The inode behind a number: valid until the kernel's last forget. */
struct inode *inode_get(uint64_t number);

/* Finds or makes the inode `name` in parent and counts a lookup. 0 or a negative errno. */
int inode_lookup(struct inode *parent, const char *name, struct inode **out, struct stat *st);

/* Takes back `count` lookups; with the last, the inode goes. */
void inode_forget(struct inode *inode, uint64_t count);

/* Closes the root and whatever the kernel did not forget. */
void inode_close_all(void);

/* A path by which calls without AT_EMPTY_PATH reach the inode, a symbolic link itself included. */
const char *inode_proc_path(const struct inode *inode, char path[INODE_PROC_MAX]);

#endif
