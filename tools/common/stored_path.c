#include "tools/common/stored_path.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "tools/common/location.h"
#include "tools/common/options.h"

/* Takes what it needs from location. */
static int take(const char *path, const char *instead, struct bale_location *location,
                struct bale_stored_path *within)
{
    if (location->mounted) {
        bale_message("%s: lies in a mount: %s", path, instead);
        return BALE_E_INVALID;
    }
    if (strcmp(location->below, BALE_STORE_DIR) == 0 ||
        strncmp(location->below, BALE_STORE_DIR "/", sizeof BALE_STORE_DIR) == 0) {
        bale_message("%s: is the store's own: nothing is stored in it", path);
        return BALE_E_INVALID;
    }
    within->top = location->top;
    within->below = location->below;
    location->top = location->below = NULL;
    return BALE_OK;
}

int bale_stored_path_find(const char *path, const char *instead, struct bale_stored_path *within)
{
    struct bale_location location;

    *within = (struct bale_stored_path){0};
    int err = bale_location_find(path, &location);
    if (err != BALE_OK)
        return err;
    err = take(path, instead, &location, within);
    bale_location_free(&location);
    return err;
}

/* below, and then the last name of path. */
static int append(struct bale_stored_path *within, const char *path)
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

int bale_stored_path_find_new(const char *path, const char *instead,
                              struct bale_stored_path *within)
{
    struct bale_location location;
    bool missing;

    *within = (struct bale_stored_path){0};
    int err = bale_location_around(path, &location, &missing);
    if (err != BALE_OK || !missing) {
        bale_location_free(&location);
        return bale_stored_path_find(path, instead, within);
    }
    err = take(path, instead, &location, within);
    within->missing = true;
    if (err == BALE_OK)
        err = append(within, path);
    bale_location_free(&location);
    return err;
}

void bale_stored_path_free(struct bale_stored_path *within)
{
    free(within->top);
    free(within->below);
    *within = (struct bale_stored_path){0};
}
