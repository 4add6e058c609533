/* The free space of a container, in memory only: ranges of positions below an end, none of which
 * touch or overlap. The end is the position from which on nothing is used; it moves up when no
 * range is large enough, and down when the space below it becomes free. Not safe from several
 * threads: the owner locks. */
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

/* Nothing is free below end. All positions ever given to the map are multiples of align. */
void bale_free_map_init(struct bale_free_map *map, uint64_t end, uint32_t align);

/* Frees all memory; the map is as after init with its last end and align. */
void bale_free_map_clear(struct bale_free_map *map);

/* The lowest range that holds length bytes (1 or more), else the end. BALE_E_TOOBIG: past the
 * greatest position. */
int bale_free_map_allocate(struct bale_free_map *map, uint64_t length, uint64_t *position);

/* Makes a range free. BALE_E_INVALID: part of it is free already, or above the end. BALE_E_NOMEM:
 * it stays used. */
int bale_free_map_release(struct bale_free_map *map, uint64_t position, uint64_t length);

/* Makes part of a free range used. BALE_E_NOENT: it is not wholly free. BALE_E_NOMEM: it stays
 * free. */
int bale_free_map_allocate_at(struct bale_free_map *map, uint64_t position, uint64_t length);

/* Calls each for all ranges from the lowest on until it returns non-zero, which is then returned.
 */
int bale_free_map_each(const struct bale_free_map *map,
                       int (*each)(void *arg, uint64_t position, uint64_t length), void *arg);

/* Bytes of memory held. */
size_t bale_free_map_memory(const struct bale_free_map *map);

#endif
