#include "tools/inspect/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "tools/common/container_reader.h"
#include "tools/common/location.h"
#include "tools/common/options.h"
#include "tools/common/output.h"
#include "tools/inspect/extent_map.h"

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
                struct bale_target *target)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    bool good = out != NULL;

    if (out) {
        bale_extent_map_write(map, path, tally, out);
        good = fclose(out) == 0;
    }
    if (!good)
        bale_complain("%s: out of memory", target->name);
    good = good && bale_target_write(target, text, length);
    free(text);
    return good && bale_target_finish(target, NULL) ? BALE_OK : BALE_E_IO;
}

static int draw(const char *path, const struct bale_place *place, const char *svg, bool force)
{
    struct stat source = {0};
    const struct bale_target_rules rules = {
        .sources = &source, .count = 1, .replace = force, .picture = true};
    struct bale_target target = {.fd = -1};
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
    bale_target_source(path, &source);
    err = bale_look_open(place->store, BALE_STORE_UNLOCKED, &look, why);
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
    else if (bale_target_open(strcmp(svg, "-") == 0 ? NULL : svg, &rules, &target))
        err = save(map, path, &tally, &target);
    else
        err = BALE_E_INVALID;
    bale_container_close(container);
out:
    bale_target_drop(&target);
    bale_extent_map_destroy(map);
    bale_look_close(&look);
    return err;
}

int bale_draw_extents(const char *path, const char *svg, bool force)
{
    struct bale_place place;
    int err = bale_place_find(path, &place);

    if (err == BALE_OK) {
        err = draw(path, &place, svg, force);
        bale_place_free(&place);
    }
    return err;
}
