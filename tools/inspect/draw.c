/* Draws the extents of a container, for balefs inspect --svg. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/reason.h"
#include "tools/common/location.h"
#include "tools/common/message.h"
#include "tools/common/output.h"
#include "tools/common/reader.h"
#include "tools/inspect/extent_map.h"

static int add_segment(void *arg, const struct bale_segment *segment)
{
    return bale_extent_map_add(arg, segment);
}

static int survey(struct bale_container *container, struct bale_extent_map **map,
                  struct bale_totals *totals)
{
    static struct bale_container_usage usage;
    struct bale_container_attr attr;

    bale_container_attr(container, &attr);
    int err = bale_extent_map_create(attr.size, attr.extent, map);
    if (err == BALE_OK)
        err = bale_container_usage(container, &usage);
    if (err == BALE_OK)
        err = bale_container_walk(container, add_segment, *map);
    if (err == BALE_OK)
        bale_totals_file(totals, &attr, 0, &usage);
    return err;
}

/* What the picture shows. */
struct drawing {
    struct bale_extent_map *map;
    const char *path;
    const struct bale_totals *totals;
};

static void write_map(const void *arg, FILE *out)
{
    const struct drawing *drawing = arg;

    bale_extent_map_write(drawing->map, drawing->path, drawing->totals, out);
}

static int draw_location(const char *path, const struct bale_location *location, const char *svg,
                         bool force)
{
    struct stat source = {0};
    const struct bale_output_rules rules = {
        .sources = &source, .count = 1, .replace = force, .picture = true};
    struct bale_output output = {.fd = -1};
    static struct bale_totals totals;
    struct bale_container *container = NULL;
    struct drawing drawing = {.path = path, .totals = &totals};
    struct bale_reader reader = {0};
    struct bale_reason why;
    int err;

    if (!location->store) {
        bale_message("%s: its mount does not say where its store is: name the container", path);
        return BALE_E_INVALID;
    }
    bale_output_source(path, &source);
    err = bale_reader_open(location->store, BALE_STORE_UNLOCKED, &reader, &why);
    if (err != BALE_OK) {
        bale_message("%s", why.text);
        goto out;
    }
    err = bale_reader_open_container_at(&reader, location->below, &container, &why);
    if (err != BALE_OK) {
        bale_message("%s: %s", path, why.text);
        goto out;
    }
    err = survey(container, &drawing.map, &totals);
    if (err != BALE_OK)
        bale_message("%s: its index cannot be read: %s: see balefs fsck", path, bale_err_text(err));
    else if (bale_output_open(strcmp(svg, "-") == 0 ? NULL : svg, &rules, &output))
        err = bale_output_draw(&output, write_map, &drawing) ? BALE_OK : BALE_E_IO;
    else
        err = BALE_E_INVALID;
    bale_container_close(container);
out:
    bale_output_drop(&output);
    bale_extent_map_destroy(drawing.map);
    bale_reader_close(&reader);
    return err;
}

int bale_draw_extents(const char *path, const char *svg, bool force)
{
    struct bale_location location;
    int err = bale_location_find(path, &location);

    if (err == BALE_OK) {
        err = draw_location(path, &location, svg, force);
        bale_location_free(&location);
    }
    return err;
}
