/* A picture of a file's extents: cells in rows, as SVG. */
#ifndef BALE_TOOLS_INSPECT_EXTENT_MAP_H
#define BALE_TOOLS_INSPECT_EXTENT_MAP_H

#include <stdio.h>

#include "format/page.h"
#include "fs/container/frame_set.h"
#include "tools/inspect/totals.h"

/* What a cell shows. */
struct bale_extent_cell {
    uint64_t logical[BALE_CODECS];
    uint64_t stored[BALE_CODECS];
    uint64_t unwritten;
};

/* Read by who draws it. */
struct bale_extent_map {
    uint64_t size;
    uint32_t extent;
    uint64_t extents;
    uint64_t together; /* extents of a cell */
    unsigned columns, rows;
    unsigned side; /* of a cell, with the gap behind it */
    uint64_t count;
    struct bale_extent_cell *cells;
    uint64_t unwritten;
    struct bale_frame_set frames;
};

static inline uint64_t bale_extent_map_span(const struct bale_extent_map *map)
{
    return map->together * map->extent; /* bytes of a cell */
}

/* Of a file of size bytes in extents of that size. BALE_E_NOMEM. */
int bale_extent_map_create(uint64_t size, uint32_t extent, struct bale_extent_map **map);
void bale_extent_map_destroy(struct bale_extent_map *map); /* NULL is fine */

/* The file's segments, in order. BALE_E_NOMEM, BALE_E_CORRUPT. */
int bale_extent_map_add(struct bale_extent_map *map, const struct bale_segment *segment);

/* Writes the picture; totals is of the file. Errors are left to ferror(out). */
void bale_extent_map_write(const struct bale_extent_map *map, const char *path,
                           const struct bale_totals *totals, FILE *out);

/* balefs inspect --svg: draws the extents of path, a container or a file in a mount, into the file svg
 * ("-": standard output). A picture that is there is replaced; anything else only with force. 0 or a
 * negative bale_err, after a message. */
int bale_draw_extents(const char *path, const char *svg, bool force);

#endif
