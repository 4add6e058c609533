/* A path in a store itself, not in a mount. */
#ifndef BALE_TOOLS_COMMON_STORED_PATH_H
#define BALE_TOOLS_COMMON_STORED_PATH_H

#include <stdbool.h>

struct bale_stored_path {
    char *top;    /* the store, absolute */
    char *below;  /* the path relative to it, without symbolic links; "" for the store itself */
    bool missing; /* what below names; the directory that it would be in is there */
};

/* Says with bale_message what is wrong: the path is in no store, or in a mount, and instead tells
 * what to do then. 0 or a negative bale_err. */
int bale_stored_path_find(const char *path, const char *instead, struct bale_stored_path *stored);
/* The same for a path that may be missing but for the directory that it would be in. */
int bale_stored_path_find_new(const char *path, const char *instead,
                              struct bale_stored_path *stored);
void bale_stored_path_free(struct bale_stored_path *stored); /* zeroed is fine */

#endif
