/* Where compress and decompress write: standard output, a device, or a file that appears when it is
 * whole. What goes wrong is said with bale_complain, but that a pipe's reader left. One thread, one
 * target at a time. */
#ifndef BALE_TOOLS_TARGET_H
#define BALE_TOOLS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct bale_target {
    int fd;
    const char *name; /* for messages */
    char *path;       /* of the file to be; NULL: written in place */
    char *temporary;
    bool replace; /* a file that is there */
    bool holes;   /* zeros are left out */
    uint64_t size;
};

/* path: NULL for standard output; must stay valid. source: a target that is the same file is
 * refused. holes: where a file is written, its zeros become holes. A file is made under another
 * name beside path, which goes away when the program is interrupted. */
bool bale_target_open(const char *path, bool replace, bool holes, const struct stat *source,
                      struct bale_target *target);
bool bale_target_write(struct bale_target *target, const void *bytes, size_t length);
bool bale_target_zeros(struct bale_target *target, uint64_t length);
/* Closes. A file gets its name and, as far as allowed, the owner, mode and times in like (NULL:
 * those of a new file). After a failure everything is as after bale_target_drop(). */
bool bale_target_finish(struct bale_target *target, const struct stat *like);
/* Closes, and takes away what was written to a file. */
void bale_target_drop(struct bale_target *target);

#endif
