/* nvCOMP 6, opened at run time: the functions of its batched C interface that are used here. */
#ifndef BALE_KERNELS_CODEC_NVCOMP_H
#define BALE_KERNELS_CODEC_NVCOMP_H

#include <stddef.h>
#include <stdint.h>

#include "format/reason.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/* The options of every codec and direction are 64 bytes, passed by value. All zero is the default.
 * The first word of the options for decompression is the backend. */
#define NVCOMP_BACKEND_CUDA 2 /* the hardware's decoder checks nothing, so it is not used */
struct nvcomp_options {
    int32_t word[16];
};

typedef int (*nvcomp_temp)(size_t chunks, size_t chunk_bytes, struct nvcomp_options options,
                           size_t *temp_bytes, size_t total_bytes, struct CUstream_st *stream);
typedef int (*nvcomp_bound)(size_t chunk_bytes, struct nvcomp_options options, size_t *bytes);
typedef int (*nvcomp_compress)(const void *const *from, const size_t *from_lengths,
                               size_t chunk_bytes, size_t chunks, void *temp, size_t temp_bytes,
                               void *const *to, size_t *to_lengths, struct nvcomp_options options,
                               int *statuses, struct CUstream_st *stream);
typedef int (*nvcomp_decompress)(const void *const *from, const size_t *from_lengths,
                                 const size_t *room, size_t *to_lengths, size_t chunks, void *temp,
                                 size_t temp_bytes, void *const *to, struct nvcomp_options options,
                                 int *statuses, struct CUstream_st *stream);

struct nvcomp_codec {
    nvcomp_temp compress_temp;
    nvcomp_temp decompress_temp;
    nvcomp_bound bound;
    nvcomp_compress compress;
    nvcomp_decompress decompress;
};

enum nvcomp_family { NVCOMP_LZ4, NVCOMP_ZSTD, NVCOMP_FAMILIES };

struct nvcomp {
    void *library;
    struct nvcomp_codec codecs[NVCOMP_FAMILIES];
};

/* Opens libnvcomp.so.6, from where libraries are looked for or beside this one. 0, or a negative
 * bale_err with why. It stays open: its kernels belong to contexts. */
int bale_nvcomp_open(struct nvcomp *nvcomp, struct bale_reason *why);

/* The options for decompression. */
struct nvcomp_options bale_nvcomp_decompress_options(void);

#ifdef __cplusplus
}
#endif

#endif
