/* The yardstick's inodes. A directory that the kernel knows has an O_PATH descriptor; other inodes
 * have a file handle, by which they are opened for as long as one request takes, so that a million
 * known files need no million descriptors. Where there are no handles (as an ordinary user, and on
 * some file systems) they have a descriptor too. A fuse_ino_t is the inode's address, except for
 * the root. All functions may be called from any thread. */
#ifndef BALE_TESTS_BENCH_PASSTHROUGH_INODE_H
#define BALE_TESTS_BENCH_PASSTHROUGH_INODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum { INODE_HANDLE_MAX = 64 };

struct inode {
    int fd; /* -1: by its handle */
    dev_t dev;
    ino_t ino;
    int handle_type;
    unsigned handle_size; /* 0: it has a descriptor */
    unsigned char handle[INODE_HANDLE_MAX];
    uint64_t lookups; /* by the kernel; under the table's lock */
    struct inode *next;
};

enum { INODE_PROC_MAX = 32 };

/* Opens the directory that is shown. 0 or a negative errno. */
int inode_root_open(const char *path);

/* Whether what is no directory is reached by handle, without a descriptor of its own. */
bool inode_have_handles(void);

/* The inode behind a number: valid until the kernel's last forget. */
struct inode *inode_get(uint64_t number);

/* Finds or makes the inode `name` in parent and counts a lookup. 0 or a negative errno. */
int inode_lookup(struct inode *parent, const char *name, struct inode **out, struct stat *st);

/* Takes back `count` lookups; with the last, the inode goes. */
void inode_forget(struct inode *inode, uint64_t count);

/* Closes the root and whatever the kernel did not forget. */
void inode_close_all(void);

/* The inode's descriptor, or one for as long as it is held. */
struct inode_pin {
    int fd;
    bool opened;
    char path[INODE_PROC_MAX]; /* for calls without AT_EMPTY_PATH; a symbolic link itself */
};

/* 0 or a negative errno. */
int inode_pin(const struct inode *inode, struct inode_pin *hold);
void inode_unpin(struct inode_pin *hold); /* keeps errno */

#endif
