/* The free ranges of a space of positions (a container's, the arena's), in memory only. Ranges lie
 * below an end and neither touch nor overlap. Nothing from the end on is in use: the end moves up
 * when no range is large enough, and down when the space just below it becomes free. Not safe from
 * several threads: the owner locks. */
#ifndef BALE_FS_BASE_FREE_MAP_H
#define BALE_FS_BASE_FREE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct bale_free_map_node;

struct bale_free_map {
    struct bale_free_map_node *top;
    uint64_t end;
    uint64_t bytes;    /* in all ranges */
    size_t count;      /* of ranges */
    uint32_t align;    /* lengths are rounded up to this; a power of two */
    uint32_t priority; /* state of the generator that balances the tree */
};

/* Nothing below end is free. All positions that the map is ever given are multiples of align. */
void bale_free_map_init(struct bale_free_map *map, uint64_t end, uint32_t align);

/* Frees all memory. The map is then as after bale_free_map_init with the present end and align. */
void bale_free_map_clear(struct bale_free_map *map);

/* Allocates length bytes (1 or more) at the start of the lowest range that is large enough, or at
 * the end if there is none. BALE_E_TOOBIG: the end would pass the greatest position. */
int bale_free_map_allocate(struct bale_free_map *map, uint64_t length, uint64_t *position);

/* Makes a range free. BALE_E_INVALID: part of it is free already, or above the end. BALE_E_NOMEM:
 * it stays in use. */
int bale_free_map_release(struct bale_free_map *map, uint64_t position, uint64_t length);

/* Allocates exactly this part of a free range. BALE_E_NOENT: some of it is not free. BALE_E_NOMEM:
 * it stays free. */
int bale_free_map_allocate_at(struct bale_free_map *map, uint64_t position, uint64_t length);

/* Calls each for all ranges, the lowest first, until it returns non-zero, which is then
 * returned. */
int bale_free_map_each(const struct bale_free_map *map,
                       int (*each)(void *arg, uint64_t position, uint64_t length), void *arg);

/* Bytes of memory that the map itself uses. */
size_t bale_free_map_memory(const struct bale_free_map *map);

#endif
