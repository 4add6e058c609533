/* The grid: a cube of n^3 points, spacing h, with four ghost points on each side of each axis. x
 * runs fastest. The walls, where every field is 0, are the ghost points -1 and n. */
#ifndef WAVE_GRID_H
#define WAVE_GRID_H

#include <stddef.h>

enum { WAVE_HALO = 4, WAVE_SIZE_MIN = 16, WAVE_SIZE_MAX = 1024 };

struct wave_grid {
    int n;        /* points along each axis, without ghosts */
    size_t row;   /* distance from (x, y, z) to (x, y + 1, z), in elements */
    size_t plane; /* distance from (x, y, z) to (x, y, z + 1) */
    size_t cells; /* elements in an array with ghosts */
};

static inline struct wave_grid wave_grid_make(int n)
{
    size_t p = (size_t)n + 2 * WAVE_HALO;

    return (struct wave_grid){.n = n, .row = p, .plane = p * p, .cells = p * p * p};
}

/* Coordinates run from -WAVE_HALO to n + WAVE_HALO - 1. */
static inline size_t wave_grid_index(const struct wave_grid *g, int x, int y, int z)
{
    return (size_t)(z + WAVE_HALO) * g->plane + (size_t)(y + WAVE_HALO) * g->row +
           (size_t)(x + WAVE_HALO);
}

#endif
