/* What the registry joins: the ops tables of the codecs in the directories below. */
#ifndef BALE_KERNELS_FRAME_REGISTRY_H
#define BALE_KERNELS_FRAME_REGISTRY_H

#include "kernels/codec/codec.h"

#define BALE_CODEC_OPS(name, NAME, id, frame, rank, closed, most)                                  \
    extern const struct bale_codec bale_codec_##name; /* kernels/name/cpu.c */
BALE_CODEC_LIST(BALE_CODEC_SKIP, BALE_CODEC_OPS)
#undef BALE_CODEC_OPS

#endif
