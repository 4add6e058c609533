#include "tools/common/output_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "format/err.h"
#include "fs/base/same_inode.h"
#include "fs/store/overlap.h"
#include "tools/common/location.h"
#include "tools/common/message.h"

bool bale_output_path_check_all(const char *path)
{
    struct bale_location location;
    bool missing;
    int err = bale_location_around(path, &location, &missing);

    bale_location_free(&location);
    return err == BALE_E_NOENT;
}

int bale_output_path_check_stores(const char *path)
{
    struct bale_location location;
    bool missing;
    int err = BALE_OK;

    if (bale_location_around(path, &location, &missing) == BALE_OK && !location.mounted) {
        bale_message("%s: is inside the store %s: mount it, or write elsewhere", path,
                     location.top);
        err = BALE_E_INVALID;
    }
    bale_location_free(&location);
    return err;
}

/* True if the location is in a mount of the store. A store may have been moved while it was
 * mounted: then the inodes, which the mount shows, identify it. */
static bool is_mount_of(const struct bale_location *location, const char *store)
{
    struct stat ours, theirs;
    char *below = NULL;

    if (!location->mounted || stat(store, &ours) != 0)
        return false;
    if (location->store && stat(location->store, &theirs) == 0)
        return bale_same_inode(&theirs, &ours);
    if (asprintf(&below, "%s/%s", store, location->below) < 0)
        return false;
    bool same = stat(below, &ours) == 0 && stat(location->real, &theirs) == 0 &&
                theirs.st_ino == ours.st_ino;
    free(below);
    return same;
}

int bale_output_path_check_store(const char *store, const char *path, const char *instead)
{
    struct bale_location location;
    const char *what = NULL;
    bool missing;
    bool in_one = bale_location_around(path, &location, &missing) == BALE_OK;

    if (in_one && is_mount_of(&location, store))
        what = "it lies in a mount of the store";
    else if (!missing)
        what = bale_overlap_find(store, path);
    if (!what && in_one && !location.mounted && bale_overlap_lies_in(location.top, store))
        what = "it lies inside the store";
    bale_location_free(&location);
    if (!what)
        return BALE_OK;
    bale_message("%s: %s (%s): %s", path, what, store, instead);
    return BALE_E_INVALID;
}

int bale_output_path_check_tree(const char *tree, const char *path, const char *instead)
{
    bool missing;
    char *at = bale_location_existing(path, &missing);
    bool inside = at && bale_overlap_lies_in(at, tree);

    free(at);
    if (!inside)
        return BALE_OK;
    bale_message("%s: the store lies inside it (%s): %s", tree, path, instead);
    return BALE_E_INVALID;
}

int bale_output_path_check_mounts(const char *path)
{
    struct bale_location location;
    bool missing;
    int err = BALE_OK;

    if (bale_location_around(path, &location, &missing) == BALE_OK && location.mounted) {
        bale_message("%s: lies in a mount%s%s: what is stored would be compressed twice: name a "
                     "directory outside",
                     path, location.store ? " of the store " : "",
                     location.store ? location.store : "");
        err = BALE_E_INVALID;
    }
    bale_location_free(&location);
    return err;
}
