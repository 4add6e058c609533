/* A picture of the extents of a file: rows of cells, as SVG. */
#ifndef BALE_TOOLS_INSPECT_EXTENT_MAP_H
#define BALE_TOOLS_INSPECT_EXTENT_MAP_H

#include <stdio.h>

#include "format/page.h"
#include "fs/container/frame_set.h"
#include "tools/inspect/totals.h"

/* The contents of a cell. */
struct bale_extent_cell {
    uint64_t logical[BALE_CODECS];
    uint64_t stored[BALE_CODECS];
    uint64_t unwritten;
};

/* The drawing code reads the members. */
struct bale_extent_map {
    uint64_t size;
    uint32_t extent;
    uint64_t extents;
    uint64_t together; /* extents in a cell */
    unsigned columns, rows;
    unsigned side; /* of a cell, with the gap behind it */
    uint64_t count;
    struct bale_extent_cell *cells;
    uint64_t unwritten;
    struct bale_frame_set frames;
};

static inline uint64_t bale_extent_map_span(const struct bale_extent_map *map)
{
    return map->together * map->extent; /* bytes that a cell stands for */
}

/* For a file of size bytes with extents of that size. 0 or BALE_E_NOMEM. */
int bale_extent_map_create(uint64_t size, uint32_t extent, struct bale_extent_map **map);
void bale_extent_map_destroy(struct bale_extent_map *map); /* NULL is allowed */

/* Adds a segment; call it for all segments of the file in order. 0, BALE_E_NOMEM or BALE_E_CORRUPT.
 */
int bale_extent_map_add(struct bale_extent_map *map, const struct bale_segment *segment);

/* Writes the picture; totals are those of the file. The caller checks out for errors. */
void bale_extent_map_write(const struct bale_extent_map *map, const char *path,
                           const struct bale_totals *totals, FILE *out);

/* balefs inspect --svg: draws the extents of path, a container or a file in a mount, into the file
 * svg ("-": standard output). A picture that is there is replaced; anything else only with force. 0
 * or a negative bale_err, after a message. */
int bale_draw_extents(const char *path, const char *svg, bool force);

#endif
