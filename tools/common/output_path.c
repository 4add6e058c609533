#include "tools/common/output_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "format/err.h"
#include "fs/store/overlap.h"
#include "tools/common/location.h"
#include "tools/common/options.h"

bool bale_outside_all(const char *path)
{
    struct bale_place place;
    bool missing;
    int err = bale_place_around(path, &place, &missing);

    bale_place_free(&place);
    return err == BALE_E_NOENT;
}

int bale_outside_stores(const char *path)
{
    struct bale_place place;
    bool missing;
    int err = BALE_OK;

    if (bale_place_around(path, &place, &missing) == BALE_OK && !place.mounted) {
        bale_complain("%s: is inside the store %s: mount it, or write elsewhere", path, place.top);
        err = BALE_E_INVALID;
    }
    bale_place_free(&place);
    return err;
}

/* A store that was moved while it was mounted is told by the inodes in it, which its mount shows. */
static bool is_mount_of(const struct bale_place *place, const char *store)
{
    struct stat ours, theirs;
    char *below = NULL;

    if (!place->mounted || stat(store, &ours) != 0)
        return false;
    if (place->store && stat(place->store, &theirs) == 0)
        return theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
    if (asprintf(&below, "%s/%s", store, place->below) < 0)
        return false;
    bool same =
        stat(below, &ours) == 0 && stat(place->real, &theirs) == 0 && theirs.st_ino == ours.st_ino;
    free(below);
    return same;
}

int bale_outside_store(const char *store, const char *path, const char *instead)
{
    struct bale_place place;
    const char *what = NULL;
    bool missing;
    bool in_one = bale_place_around(path, &place, &missing) == BALE_OK;

    if (in_one && is_mount_of(&place, store))
        what = "it lies in a mount of the store";
    else if (!missing)
        what = bale_overlap_find(store, path);
    if (!what && in_one && !place.mounted && bale_overlap_lies_in(place.top, store))
        what = "it lies inside the store";
    bale_place_free(&place);
    if (!what)
        return BALE_OK;
    bale_complain("%s: %s (%s): %s", path, what, store, instead);
    return BALE_E_INVALID;
}

int bale_outside_tree(const char *tree, const char *path, const char *instead)
{
    bool missing;
    char *at = bale_place_existing(path, &missing);
    bool inside = at && bale_overlap_lies_in(at, tree);

    free(at);
    if (!inside)
        return BALE_OK;
    bale_complain("%s: the store lies inside it (%s): %s", tree, path, instead);
    return BALE_E_INVALID;
}

int bale_outside_mounts(const char *path)
{
    struct bale_place place;
    bool missing;
    int err = BALE_OK;

    if (bale_place_around(path, &place, &missing) == BALE_OK && place.mounted) {
        bale_complain("%s: lies in a mount%s%s: what is stored would be compressed twice: name a "
                      "directory outside",
                      path, place.store ? " of the store " : "", place.store ? place.store : "");
        err = BALE_E_INVALID;
    }
    bale_place_free(&place);
    return err;
}
