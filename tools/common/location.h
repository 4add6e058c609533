/* Finds out where a path lies: in a balefs mount, or in a store. */
#ifndef BALE_TOOLS_COMMON_LOCATION_H
#define BALE_TOOLS_COMMON_LOCATION_H

#include <stdbool.h>

struct bale_location {
    bool mounted; /* path lies in a mount */
    char *top;    /* mount point or store, absolute */
    /* The store, absolute. In a mount, what the mount reports: it may not exist here; NULL: not
     * reported. */
    char *store;
    char *real;  /* path, absolute, without symbolic links */
    char *below; /* path relative to the top of the store; "" for the top itself */
};

/* Follows symbolic links. 0, or a negative bale_err after a message: path does not exist, or it is
 * neither in a mount nor in a store. */
int bale_location_find(const char *path, struct bale_location *location);

/* The absolute path without symbolic links: of path or, if path is missing, of the directory that
 * it would be in. The caller frees it; NULL with errno on failure. */
char *bale_location_existing(const char *path, bool *missing);

/* As bale_location_find, but without messages. If path is missing, the location is that of the
 * directory that it would be in. BALE_E_NOENT: neither in a mount nor in a store. */
int bale_location_around(const char *path, struct bale_location *location, bool *missing);

void bale_location_free(struct bale_location *location); /* a zeroed struct is allowed */

#endif
