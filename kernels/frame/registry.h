/* What the registry joins: the ops tables of the codecs in the directories below. */
#ifndef BALE_KERNELS_FRAME_REGISTRY_H
#define BALE_KERNELS_FRAME_REGISTRY_H

#include "kernels/codec/codec.h"

extern const struct bale_codec bale_codec_lz4;    /* lz4/lz4_cpu.c */
extern const struct bale_codec bale_codec_zstd;   /* zstd/zstd_cpu.c */
extern const struct bale_codec bale_codec_gpulz;  /* gpulz/gpulz_cpu.c */
extern const struct bale_codec bale_codec_culzss; /* culzss/culzss_cpu.c */

#endif
