/* A path in the directory of a store, not in a mount. */
#ifndef BALE_TOOLS_COMMON_STORED_PATH_H
#define BALE_TOOLS_COMMON_STORED_PATH_H

#include <stdbool.h>

struct bale_stored_path {
    char *top;    /* the store, absolute */
    char *below;  /* the path relative to it, without symbolic links; "" for the store itself */
    bool missing; /* nothing is called below; but the directory that it would be in exists */
};

/* Finds the store that path lies in. 0, or a negative bale_err after a message: path is in no
 * store, or in a mount, for which instead says what to do. */
int bale_stored_path_find(const char *path, const char *instead, struct bale_stored_path *stored);
/* The same for a path that may be missing in a directory that exists. */
int bale_stored_path_find_new(const char *path, const char *instead,
                              struct bale_stored_path *stored);
void bale_stored_path_free(struct bale_stored_path *stored); /* a zeroed struct is allowed */

#endif
