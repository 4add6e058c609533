/* Where a path lies: in a balefs mount, or in a store. */
#ifndef BALE_TOOLS_COMMON_LOCATION_H
#define BALE_TOOLS_COMMON_LOCATION_H

#include <stdbool.h>

struct bale_place {
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
 * bale_complain. Follows symbolic links. 0 or a negative bale_err. */
int bale_place_find(const char *path, struct bale_place *place);

/* Absolute, without symbolic links: path or, where that is missing, the directory that it would be
 * in. The caller frees; NULL and errno on failure. */
char *bale_place_existing(const char *path, bool *missing);

/* As bale_place_find, but says nothing, and where path is missing it is the place of the directory that it
 * would be in. BALE_E_NOENT: neither in a mount nor in a store. */
int bale_place_around(const char *path, struct bale_place *place, bool *missing);

void bale_place_free(struct bale_place *place); /* zeroed is fine */

#endif
