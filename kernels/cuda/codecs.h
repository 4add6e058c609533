/* The codecs of the CUDA engine. */
#ifndef BALE_KERNELS_CUDA_CODECS_H
#define BALE_KERNELS_CUDA_CODECS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/codecs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The codecs of format/codecs.h that compress, by their rank there: where memory is short, the last
 * one is left out first. */
#define BALE_CUDA_CODEC_ID(name, NAME, id, frame, rank, ...) CUDA_##NAME = (rank),
/* NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define BALE_CUDA_CODEC_COUNT(...) +1
enum cuda_codec {
    CUDA_STORE = 0,
    BALE_DEVICE_CODEC_LIST(BALE_CUDA_CODEC_ID) CUDA_CODECS =
        1 BALE_DEVICE_CODEC_LIST(BALE_CUDA_CODEC_COUNT)
};
#undef BALE_CUDA_CODEC_ID
#undef BALE_CUDA_CODEC_COUNT

struct cuda_codec_about {
    const char *name;
    uint8_t id;  /* in frames and settings */
    bool nvcomp; /* available only with nvCOMP */
};

extern const struct cuda_codec_about bale_cuda_codecs[CUDA_CODECS];

/* An enum cuda_codec, or BALE_E_INVALID. */
int bale_cuda_codec_of(uint8_t id);

/* Whether the device encodes with this parameter of a setting that is not open. */
bool bale_cuda_encodes(enum cuda_codec codec, int16_t parameter);

#ifdef __cplusplus
}
#endif

#endif
