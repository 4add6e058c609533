/* Where a path lies: in a balefs mount, or in a store. */
#ifndef BALE_TOOLS_COMMON_LOCATION_H
#define BALE_TOOLS_COMMON_LOCATION_H

#include <stdbool.h>

struct bale_location {
    bool mounted; /* path lies in a mount */
    char *top;    /* mount point or store, absolute */
    char *
        /* the store, absolute. In a mount: what the mount says, may not exist here; NULL if it says
         * nothing */
        store;
    char *real;  /* path, absolute, without symbolic links */
    char *below; /* path relative to the top of the store; "" for the top itself */
};

/* Says what is wrong (path does not exist, is neither in a mount nor in a store) with
 * bale_message. Follows symbolic links. 0 or a negative bale_err. */
int bale_location_find(const char *path, struct bale_location *location);

/* Absolute, without symbolic links: path or, where that is missing, the directory that it would be
 * in. The caller frees; NULL and errno on failure. */
char *bale_location_existing(const char *path, bool *missing);

/* As bale_location_find, but says nothing, and where path is missing it is the location of the directory that it
 * would be in. BALE_E_NOENT: neither in a mount nor in a store. */
int bale_location_around(const char *path, struct bale_location *location, bool *missing);

void bale_location_free(struct bale_location *location); /* zeroed is fine */

#endif
