/* Numbers and generations of inodes that stay the same across eviction and remounting, as file
 * handles need them, and the way back from a number to the inode.
 *
 * A number is the backing inode number under a keyed permutation of 64 bits, a generation a keyed
 * hash of the backing generation, so nobody can name a file that the daemon has not named: that
 * protects files which lie outside of the store on the same file system. A directory must also
 * reach the store by "..", without going through .balefs.
 *
 * Nothing changes after create: any thread, without locks. */
#ifndef BALE_FS_INODE_HANDLE_H
#define BALE_FS_INODE_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#define BALE_HANDLE_KEY 32 /* bytes */

struct bale_handles;

/* root_fd: the store's directory. False: its file system, or this process's rights, do not let it
 * find an inode by its number; *handles is NULL then. */
bool bale_handles_create(int root_fd, const uint8_t key[BALE_HANDLE_KEY],
                         struct bale_handles **handles);
void bale_handles_destroy(struct bale_handles *handles); /* NULL is fine */

/* Never 0 or 1. */
uint64_t bale_handle_number(const struct bale_handles *handles, uint64_t ino);
/* The inode number of any number; there may be no such inode. */
uint64_t bale_handle_ino(const struct bale_handles *handles, uint64_t number);
/* fd: of the inode, may be O_PATH. False: it has none. */
bool bale_handle_generation(const struct bale_handles *handles, uint64_t ino, int fd,
                            uint32_t *generation);
/* Opens the inode with O_PATH. 0 or an errno: ESTALE: there is none, or it is not the store's. */
int bale_handle_open(const struct bale_handles *handles, uint64_t number, int *fd);

#endif
