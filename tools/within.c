#include "tools/within.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/store.h"
#include "tools/options.h"
#include "tools/place.h"

int bale_within_find(const char *path, const char *instead, struct bale_within *within)
{
    struct bale_place place;

    *within = (struct bale_within){0};
    int err = bale_place_find(path, &place);
    if (err != BALE_OK)
        return err;
    if (place.mounted) {
        bale_complain("%s: lies in a mount: %s", path, instead);
        err = BALE_E_INVALID;
    } else if (strcmp(place.below, BALE_STORE_DIR) == 0 ||
               strncmp(place.below, BALE_STORE_DIR "/", sizeof BALE_STORE_DIR) == 0) {
        bale_complain("%s: is the store's own: nothing is stored in it", path);
        err = BALE_E_INVALID;
    } else {
        within->top = place.top;
        within->below = place.below;
        place.top = place.below = NULL;
    }
    bale_place_free(&place);
    return err;
}

void bale_within_free(struct bale_within *within)
{
    free(within->top);
    free(within->below);
    *within = (struct bale_within){0};
}
