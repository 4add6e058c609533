#include "tools/common/stored_path.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "tools/common/location.h"
#include "tools/common/message.h"

/* Moves the path and the store from location to stored, if the path is a stored one. */
static int take_location(const char *path, const char *instead, struct bale_location *location,
                         struct bale_stored_path *stored)
{
    if (location->mounted) {
        bale_message("%s: lies in a mount: %s", path, instead);
        return BALE_E_INVALID;
    }
    if (strcmp(location->below, BALE_STORE_DIR) == 0 ||
        strncmp(location->below, BALE_STORE_DIR "/", sizeof BALE_STORE_DIR) == 0) {
        bale_message("%s: belongs to the store itself: files are not stored there", path);
        return BALE_E_INVALID;
    }
    stored->top = location->top;
    stored->below = location->below;
    location->top = location->below = NULL;
    return BALE_OK;
}

int bale_stored_path_find(const char *path, const char *instead, struct bale_stored_path *stored)
{
    struct bale_location location;

    *stored = (struct bale_stored_path){0};
    int err = bale_location_find(path, &location);
    if (err != BALE_OK)
        return err;
    err = take_location(path, instead, &location, stored);
    bale_location_free(&location);
    return err;
}

/* Appends the last name of path to below. */
static int append(struct bale_stored_path *stored, const char *path)
{
    char *copy = strdup(path), *below = NULL;

    if (!copy ||
        asprintf(&below, "%s%s%s", stored->below, *stored->below ? "/" : "", basename(copy)) < 0)
        below = NULL;
    free(copy);
    free(stored->below);
    stored->below = below;
    return below ? BALE_OK : BALE_E_NOMEM;
}

int bale_stored_path_find_new(const char *path, const char *instead,
                              struct bale_stored_path *stored)
{
    struct bale_location location;
    bool missing;

    *stored = (struct bale_stored_path){0};
    int err = bale_location_around(path, &location, &missing);
    if (err != BALE_OK || !missing) {
        bale_location_free(&location);
        return bale_stored_path_find(path, instead, stored);
    }
    err = take_location(path, instead, &location, stored);
    stored->missing = true;
    if (err == BALE_OK)
        err = append(stored, path);
    bale_location_free(&location);
    return err;
}

void bale_stored_path_free(struct bale_stored_path *stored)
{
    free(stored->top);
    free(stored->below);
    *stored = (struct bale_stored_path){0};
}
