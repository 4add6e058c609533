/* What a codec does on a device: kernels/NAME/cuda.cu defines bale_cuda_NAME, a cuda_codec_ops. */
#ifndef BALE_KERNELS_CODEC_CODEC_CUH
#define BALE_KERNELS_CODEC_CODEC_CUH

#include <cuda_runtime.h>

#include "kernels/codec/lists.h"
#include "kernels/codec/nvcomp.h"
#include "kernels/codec/tables.h"

/* Chunks to be encoded or decoded, whatever their settings and frames; each has its own parameter. */
struct cuda_batch {
    const struct nvcomp *nvcomp; /* NULL: there is none */
    const cuda_chunk *host;      /* the chunks' table in host memory, */
    const cuda_chunk *chunks;    /* and in device memory, as all that lists has */
    uint32_t count;
    cuda_lists lists;
    void **to; /* decode: a cell for each chunk */
    void *temp;
    size_t temp_bytes;
    cudaStream_t stream;
};

/* What is checked of a stream before it is decoded and after it was encoded, besides its bytes. */
enum cuda_stream { CUDA_STREAM_ANY, CUDA_STREAM_ZSTD };

/* What is NULL there is nothing of. */
struct cuda_codec_ops {
    /* A stream that decodes to one byte, for those to whom each chunk has to be one. Without it a chunk
     * that has none has the length 0. */
    const uint8_t *stub;
    uint32_t stub_length;
    enum cuda_stream stream;
    uint16_t trial; /* a parameter that loads its kernels, with a chunk of BALE_CUDA_CELL bytes */
    /* What is to be set in a context, once. */
    cudaError_t (*open)();
    /* 0, and the most bytes that a cell's may become, or working memory for a batch of so many cells. */
    int (*bound)(const struct nvcomp *nvcomp, size_t *bytes);
    int (*temp)(const struct nvcomp *nvcomp, uint32_t cells, size_t *bytes);
    /* Raw cells to packed cells: packed_lengths, statuses. A chunk whose length comes back as 0, or is
     * more than its limit, is stored raw. */
    cudaError_t (*encode)(const cuda_batch *batch);
    /* decode_from, decode_from_lengths and decode_room to the cells: decoded_lengths, statuses. The bytes
     * are hostile. */
    cudaError_t (*decode)(const cuda_batch *batch);
};

#endif
