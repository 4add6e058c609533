#include "tools/common/store_path.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "tools/common/location.h"
#include "tools/common/options.h"

/* Takes what it needs from place. */
static int take(const char *path, const char *instead, struct bale_place *place,
                struct bale_within *within)
{
    if (place->mounted) {
        bale_complain("%s: lies in a mount: %s", path, instead);
        return BALE_E_INVALID;
    }
    if (strcmp(place->below, BALE_STORE_DIR) == 0 ||
        strncmp(place->below, BALE_STORE_DIR "/", sizeof BALE_STORE_DIR) == 0) {
        bale_complain("%s: is the store's own: nothing is stored in it", path);
        return BALE_E_INVALID;
    }
    within->top = place->top;
    within->below = place->below;
    place->top = place->below = NULL;
    return BALE_OK;
}

int bale_within_find(const char *path, const char *instead, struct bale_within *within)
{
    struct bale_place place;

    *within = (struct bale_within){0};
    int err = bale_place_find(path, &place);
    if (err != BALE_OK)
        return err;
    err = take(path, instead, &place, within);
    bale_place_free(&place);
    return err;
}

/* below, and then the last name of path. */
static int append(struct bale_within *within, const char *path)
{
    char *copy = strdup(path), *below = NULL;

    if (!copy ||
        asprintf(&below, "%s%s%s", within->below, *within->below ? "/" : "", basename(copy)) < 0)
        below = NULL;
    free(copy);
    free(within->below);
    within->below = below;
    return below ? BALE_OK : BALE_E_NOMEM;
}

int bale_within_find_new(const char *path, const char *instead, struct bale_within *within)
{
    struct bale_place place;
    bool missing;

    *within = (struct bale_within){0};
    int err = bale_place_around(path, &place, &missing);
    if (err != BALE_OK || !missing) {
        bale_place_free(&place);
        return bale_within_find(path, instead, within);
    }
    err = take(path, instead, &place, within);
    within->missing = true;
    if (err == BALE_OK)
        err = append(within, path);
    bale_place_free(&place);
    return err;
}

void bale_within_free(struct bale_within *within)
{
    free(within->top);
    free(within->below);
    *within = (struct bale_within){0};
}
