#include "tools/draw.h"

#include <errno.h>
#include <string.h>

#include "format/err.h"
#include "tools/extent_map.h"
#include "tools/look.h"
#include "tools/options.h"

static int add(void *arg, const struct bale_segment *segment)
{
    return bale_extent_map_add(arg, segment);
}

static int survey(struct bale_container *container, struct bale_extent_map **map,
                  struct bale_tally *tally)
{
    static struct bale_container_usage usage;
    struct bale_container_attr attr;

    bale_container_attr(container, &attr);
    int err = bale_extent_map_create(attr.size, attr.extent, map);
    if (err == BALE_OK)
        err = bale_container_usage(container, &usage);
    if (err == BALE_OK)
        err = bale_container_walk(container, add, *map);
    if (err == BALE_OK)
        bale_tally_file(tally, attr.size, 0, &usage);
    return err;
}

static int save(const struct bale_extent_map *map, const char *path, const struct bale_tally *tally,
                const char *svg)
{
    bool standard = strcmp(svg, "-") == 0;
    FILE *out = standard ? stdout : fopen(svg, "we");

    if (!out) {
        bale_complain("%s: cannot be made: %s", svg, strerror(errno));
        return BALE_E_IO;
    }
    bale_extent_map_write(map, path, tally, out);
    if (standard)
        return BALE_OK;
    bool failed = ferror(out);
    if (fclose(out) != 0 || failed) {
        bale_complain("%s: cannot be written: %s", svg, strerror(errno));
        return BALE_E_IO;
    }
    return BALE_OK;
}

int bale_draw_extents(const char *path, const struct bale_place *place, const char *svg)
{
    static struct bale_tally tally;
    struct bale_container *container = NULL;
    struct bale_extent_map *map = NULL;
    struct bale_look look = {0};
    char why[BALE_WHY];
    int err;

    if (!place->store) {
        bale_complain("%s: its mount does not say where its store is: name the container", path);
        return BALE_E_INVALID;
    }
    err = bale_look_open(place->store, BALE_STORE_LOOK, &look, why);
    if (err != BALE_OK) {
        bale_complain("%s", why);
        goto out;
    }
    err = bale_look_at(&look, place->below, &container, why);
    if (err != BALE_OK) {
        bale_complain("%s: %s", path, why);
        goto out;
    }
    err = survey(container, &map, &tally);
    if (err != BALE_OK)
        bale_complain("%s: its index cannot be read: %s: see balefs fsck", path,
                      bale_err_text(err));
    else
        err = save(map, path, &tally, svg);
    bale_container_close(container);
out:
    bale_extent_map_destroy(map);
    bale_look_close(&look);
    return err;
}
