/* The codec gpulz (spec.md): the geometry of its streams. */
#ifndef BALE_KERNELS_GPULZ_GPULZ_H
#define BALE_KERNELS_GPULZ_GPULZ_H

#include <stddef.h>
#include <stdint.h>

#include "format/gpulz.h"
#include "kernels/lzss/lzss.h"

/* The geometry of a frame's or setting's parameter. Adaptive symbols count as bytes. */
static inline struct bale_lzss_geometry bale_gpulz_geometry(uint16_t parameter)
{
    struct bale_lzss_geometry geometry;

    geometry.symbol_log2 = (uint8_t)bale_gpulz_symbol_log2(parameter);
    geometry.piece_log2 = (uint8_t)bale_gpulz_piece_log2(parameter);
    geometry.window = (uint8_t)bale_gpulz_window(parameter);
    return geometry;
}

#endif
