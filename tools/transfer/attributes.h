/* Copies owners, modes, extended attributes and times from one inode to another. */
#ifndef BALE_TOOLS_TRANSFER_ATTRIBUTES_H
#define BALE_TOOLS_TRANSFER_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define BALE_REACH 320 /* room for a path that goes through a descriptor */

/* A path to the file fd or, if name is not NULL, to that name in the directory fd. */
void bale_reach(int fd, const char *name, char path[static BALE_REACH]);

/* Lists the names of extended attributes, each with a NUL; NULL with *length 0 if there are none.
 * The caller frees it. follow: follows a symbolic link. 0 or an errno. */
int bale_attributes_list(const char *path, bool follow, char **names, size_t *length);
/* Gets a value, which the caller frees. 0 or an errno. */
int bale_attribute_get(const char *path, bool follow, const char *name, char **value,
                       size_t *length);

enum bale_attributes_part {
    BALE_ATTRIBUTES_ALL,
    BALE_ATTRIBUTES_ACLS,   /* only POSIX ACLs */
    BALE_ATTRIBUTES_OTHERS, /* all but POSIX ACLs */
};

struct bale_attributes_rules {
    bool settings; /* copy user.balefs.* too */
    bool acls;     /* the target keeps POSIX ACLs */
    enum bale_attributes_part part;
};
bool bale_attribute_wanted(const struct bale_attributes_rules *rules, const char *name);

/* Copies extended attributes; for an ordinary user it skips those that only root may set. Returns
 * the number that could not be copied; lost (room for 256) gets the name of the first of them, and
 * *e the reason. */
unsigned bale_attributes_copy(const struct bale_attributes_rules *rules, const char *from,
                              const char *to, bool follow, char *lost, int *e);

/* Sets the owner as far as allowed, and then the mode; without set-id bits if the owner is not that
 * of st. fd may be an O_PATH one. 0 or an errno. */
int bale_owner_set(int fd, const struct stat *st, mode_t mode);
/* Sets the owner of name, which may be a symbolic link. */
int bale_owner_set_at(int dir, const char *name, const struct stat *st);

#endif
