/* What is tried to choose an extent's layout (spec.md, "What an encoder chooses"), on the CPU and on
 * a device. */
#ifndef BALE_KERNELS_FLOAT_TRIES_H
#define BALE_KERNELS_FLOAT_TRIES_H

#include "kernels/float/float.h"

enum {
    FLOAT_LEAST = 1024,     /* bytes of an extent that has a layout */
    FLOAT_TYPE_BYTES = 256, /* of a window in which they are tried */
    FLOAT_TYPE_WINDOWS = 8,
    FLOAT_WINDOWS = 32,           /* in which maps and orders are tried */
    FLOAT_HISTORY = 8,            /* elements of a window's block before those that count */
    FLOAT_EXPONENTS = 8,          /* and decimals among them */
    FLOAT_PROBED = 32,            /* elements that show how many digits there are */
    FLOAT_DIGITS = 15,            /* behind the point, at most: what people write */
    FLOAT_UNFIT = 2,              /* of these, that may have more */
    FLOAT_PROBE_STEP = 5,         /* elements from one in a window to the next one's in the next */
    FLOAT_ORDERS = 5,             /* along x and y, 0 included */
    FLOAT_PLANES = 4,             /* along z */
    FLOAT_DETAILS = 3,            /* along x, of rows that are interpolated */
    FLOAT_AROUND = 10,            /* rows around a window that is tried as such */
    FLOAT_INTERPOLATED_ROWS = 32, /* of a chunk, at least, where rows are interpolated */
    FLOAT_INTERPOLATED_ROW = 64,  /* elements of a row, at least */
    FLOAT_EDGES = 3,              /* so many rows more is what those at a chunk's edges may cost */
    FLOAT_ROW_MAX = 4096,
    FLOAT_ROW_SPAN = 16384, /* elements in which rows and planes are looked for */
    FLOAT_ROWS_LEAST = 8,   /* of a plane; also elements of its rows, but of records */
    FLOAT_ROWS_MOST = 256,
    FLOAT_ROW_BITS = 5,
    FLOAT_PROBES = 4,                                 /* of FLOAT_BLOCK differences */
    FLOAT_SUM_LEAST = 4 * FLOAT_PROBES * FLOAT_BLOCK, /* of differences that say something */
};

/* Rows of costs by orders along y and x, where rows are interpolated: those by the order along y of
 * fourth rows, then that of odd rows, and of those between two others, both by that along x. */
enum { FLOAT_COSTS_FOURTH = 3, FLOAT_COSTS_ODD = FLOAT_COSTS_FOURTH, FLOAT_COSTS_BETWEEN };

/* Orders that are tried. */
struct float_range {
    uint8_t least[FLOAT_AXES], most[FLOAT_AXES];
};

#endif
