#include "tools/inspect/extent_map.h"

#include <stdlib.h>

#include "format/err.h"

#define ROWS_MOST 40
#define COLUMNS_MOST 64

/* A few extents get large cells. Many extents share cells, so that no more cells are drawn than a
 * reader can tell apart. Powers of two give round offsets. */
static void lay_out(struct bale_extent_map *map)
{
    static const struct {
        uint64_t extents;
        unsigned columns, side;
    } layouts[] = {{16, 16, 52}, {256, 32, 26}, {UINT64_MAX, COLUMNS_MOST, 13}};
    unsigned i = 0;

    while (map->extents > layouts[i].extents)
        i++;
    map->columns = layouts[i].columns;
    map->side = layouts[i].side;
    map->together = 1;
    while ((map->extents - 1) / map->together / map->columns >= ROWS_MOST)
        map->together *= 2;
    map->count = (map->extents + map->together - 1) / map->together;
    map->rows = (unsigned)((map->count + map->columns - 1) / map->columns);
}

int bale_extent_map_create(uint64_t size, uint32_t extent, struct bale_extent_map **out)
{
    struct bale_extent_map *map = calloc(1, sizeof *map);

    if (!map)
        return BALE_E_NOMEM;
    map->size = size;
    map->extent = extent;
    map->extents = size / extent + (size % extent != 0);
    if (map->extents > 0)
        lay_out(map);
    map->cells = calloc(map->count ? map->count : 1, sizeof *map->cells);
    bale_frame_set_init(&map->frames, extent);
    if (!map->cells) {
        bale_extent_map_destroy(map);
        return BALE_E_NOMEM;
    }
    *out = map;
    return BALE_OK;
}

void bale_extent_map_destroy(struct bale_extent_map *map)
{
    if (!map)
        return;
    bale_frame_set_clear(&map->frames);
    free(map->cells);
    free(map);
}

/* Unwritten segments may be longer than an extent. */
static void add_unwritten(struct bale_extent_map *map, uint64_t at, uint64_t end)
{
    map->unwritten += end - at;
    while (at < end) {
        uint64_t next = (at / bale_extent_map_span(map) + 1) * bale_extent_map_span(map);
        next = next < end ? next : end;
        map->cells[at / bale_extent_map_span(map)].unwritten += next - at;
        at = next;
    }
}

int bale_extent_map_add(struct bale_extent_map *map, const struct bale_segment *segment)
{
    uint64_t end = segment->offset + segment->length;

    end = end < map->size ? end : map->size;

    if (segment->offset >= end)
        return BALE_OK;
    if (segment->flags & BALE_SEGMENT_UNWRITTEN) {
        add_unwritten(map, segment->offset, end);
        return BALE_OK;
    }
    int is_new = bale_frame_set_add(&map->frames, segment);
    if (is_new < 0)
        return is_new;
    struct bale_extent_cell *cell = &map->cells[segment->offset / bale_extent_map_span(map)];
    cell->logical[segment->codec] += end - segment->offset;
    cell->stored[segment->codec] += is_new ? segment->frame_length : 0;
    return BALE_OK;
}
