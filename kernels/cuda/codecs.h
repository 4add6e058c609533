/* The codecs of the CUDA engine. */
#ifndef BALE_KERNELS_CUDA_CODECS_H
#define BALE_KERNELS_CUDA_CODECS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A line for each besides store, those first that want the least memory: where it is short the last is
 * the first to be left out.
 *
 *     X(name, ID, whether nvCOMP does it, which parameters of settings it encodes with)
 *
 * What it does on a device is kernels/NAME/NAME.cu's: a cuda_codec_ops (codec.cuh), bale_cuda_NAME. */
#define BALE_CUDA_CODECS(X)                                                                        \
    X(lz4, LZ4, true, parameter == 0)                                                              \
    X(culzss, CULZSS, false, bale_culzss_is_valid((uint16_t)parameter))                            \
    X(gpulz, GPULZ, false, bale_gpulz_is_definite((uint16_t)parameter))                            \
    X(zstd, ZSTD, true, parameter <= 3) /* nvCOMP's is its lowest levels' like */

#define BALE_CUDA_CODEC_NAME(name, id, nvcomp, encodes) CUDA_##id,
enum cuda_codec { CUDA_STORE, BALE_CUDA_CODECS(BALE_CUDA_CODEC_NAME) CUDA_CODECS };
#undef BALE_CUDA_CODEC_NAME

struct cuda_codec_about {
    const char *name;
    uint8_t id;                         /* in frames and settings */
    bool nvcomp;                        /* there with nvCOMP alone */
    bool (*encodes)(int16_t parameter); /* of a setting that is not open */
};

extern const struct cuda_codec_about bale_cuda_codecs[CUDA_CODECS];

/* An enum cuda_codec, or BALE_E_INVALID. */
int bale_cuda_codec_of(uint8_t id);

#ifdef __cplusplus
}
#endif

#endif
