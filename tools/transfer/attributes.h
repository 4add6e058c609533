/* Owners, modes, extended attributes and times, from one inode to another. */
#ifndef BALE_TOOLS_TRANSFER_ATTRIBUTES_H
#define BALE_TOOLS_TRANSFER_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define BALE_REACH 320 /* room for a path through a descriptor */

/* A path to what fd is, or, if name is not NULL, to that name in the directory fd. */
void bale_reach(int fd, const char *name, char path[static BALE_REACH]);

/* The names of extended attributes, each with a NUL; NULL with *length 0: none. To be freed.
 * follow: path is not a symbolic link's own. 0 or an errno. */
int bale_attributes_list(const char *path, bool follow, char **names, size_t *length);
/* A value, to be freed; 0 or an errno. */
int bale_attribute_get(const char *path, bool follow, const char *name, char **value,
                       size_t *length);

struct bale_attributes_rules {
    bool settings; /* user.balefs.* too */
    bool acls;     /* the target keeps POSIX ACLs */
};
bool bale_attribute_wanted(const struct bale_attributes_rules *rules, const char *name);

/* Copies extended attributes. What only root may set is passed over for others. The number that
 * could not be kept comes back; the first of them is in lost (room for 256), *e says why. */
unsigned bale_attributes_copy(const struct bale_attributes_rules *rules, const char *from,
                              const char *to, bool follow, char *lost, int *e);

/* The owner as far as we may, then permissions mode: without set-id bits if the owner is another.
 * 0 or an errno. */
int bale_owner_set(int fd, const struct stat *st, mode_t mode);
/* The owner of what is called name, which may be a symbolic link. */
int bale_owner_set_at(int dir, const char *name, const struct stat *st);

#endif
