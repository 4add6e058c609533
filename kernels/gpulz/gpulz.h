/* The codec gpulz (spec.md): what its files share. */
#ifndef BALE_KERNELS_GPULZ_GPULZ_H
#define BALE_KERNELS_GPULZ_GPULZ_H

#include <stddef.h>
#include <stdint.h>

#include "format/gpulz.h"
#include "kernels/lzss/lzss.h"

/* Of a frame's parameter, or of a setting's; symbols that are adaptive count as bytes. */
static inline struct bale_lzss_geometry bale_gpulz_geometry(uint16_t parameter)
{
    struct bale_lzss_geometry geometry;

    geometry.symbol_log2 = (uint8_t)bale_gpulz_symbol_log2(parameter);
    geometry.piece_log2 = (uint8_t)bale_gpulz_piece_log2(parameter);
    geometry.window = (uint8_t)bale_gpulz_window(parameter);
    return geometry;
}

#endif
