/* The codec culzss (spec.md): the geometry of its streams. */
#ifndef BALE_KERNELS_CULZSS_CULZSS_H
#define BALE_KERNELS_CULZSS_CULZSS_H

#include "kernels/lzss/lzss.h"

/* The geometry of a frame's or setting's parameter. */
static inline struct bale_lzss_geometry bale_culzss_geometry(uint16_t parameter)
{
    struct bale_lzss_geometry geometry;

    geometry.symbol_log2 = 0;
    geometry.piece_log2 = parameter == 1 ? 9 : 12;
    geometry.window = 128;
    return geometry;
}

#endif
