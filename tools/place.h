/* Where a path lies: in a balefs mount, or in a store. */
#ifndef BALE_TOOLS_PLACE_H
#define BALE_TOOLS_PLACE_H

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

void bale_place_free(struct bale_place *place); /* zeroed is fine */

#endif
