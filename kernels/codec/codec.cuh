/* What a codec does on a device: kernels/NAME/cuda.cu defines bale_cuda_NAME, a cuda_codec_ops. */
#ifndef BALE_KERNELS_CODEC_CODEC_CUH
#define BALE_KERNELS_CODEC_CODEC_CUH

#include <cuda_runtime.h>

#include "kernels/codec/lists.h"
#include "kernels/codec/nvcomp.h"
#include "kernels/codec/rooms.cuh"
#include "kernels/codec/tables.h"

/* Chunks of one codec to be encoded or decoded. They may belong to different frames and settings,
 * so each has a parameter of its own. */
struct cuda_batch {
    const struct nvcomp *nvcomp; /* NULL: there is none */
    const cuda_chunk *host;      /* the table of chunks in host memory */
    const cuda_chunk *chunks;    /* the same in device memory, as everything in lists */
    uint32_t count;
    const cuda_frame *frames; /* the table of frames; only of a codec with an extent part */
    uint32_t frame_count;
    const cuda_frame *host_frames; /* the same in host memory */
    cuda_lists lists;
    cuda_result *results; /* an entry for each of chunks */
    void **to;            /* decode: a cell for each chunk */
    void *temp;           /* not for begin */
    size_t temp_bytes;
    cuda_rooms rooms; /* of at least block_room bytes each */
    cudaStream_t stream;
};

/* Whether some chunks have several cells. */
inline bool bale_cuda_has_long_chunks(const cuda_batch *batch)
{
    for (uint32_t c = 0; c < batch->count; c++)
        if (batch->host[c].whole > BALE_CUDA_CELL)
            return true;
    return false;
}

/* Of a frame whose elements are rounded: whether each begins at a multiple of its size in the
 * cells, so that none lies in two of them. */
__host__ __device__ inline bool bale_cuda_has_aligned_elements(const cuda_frame &frame)
{
    return (frame.field.offset - frame.offset) % (frame.field.type == BALE_FIELD_F64 ? 8 : 4) == 0;
}

/* A NULL member means that the codec does not need it. */
struct cuda_codec_ops {
    /* A stream that decodes to one byte. The engine gives it to a decoder that needs a valid stream
     * for every chunk, where there is nothing to decode. Without a stub such a chunk has the length
     * 0. */
    const uint8_t *stub;
    uint32_t stub_length;
    bool waits;     /* blocks of its kernels wait for each other (tickets.cuh) */
    uint16_t trial; /* a parameter with which a chunk of BALE_CUDA_CELL bytes loads all kernels */
    /* Called once for each context, to set attributes of kernels. */
    cudaError_t (*open)();
    /* bound: *bytes is the most bytes that a cell may become. temp, for nvCOMP's codecs: *bytes is
     * the working memory that a batch of so many cells needs. Both return 0, or not 0 if nvCOMP
     * failed. */
    int (*bound)(const struct nvcomp *nvcomp, size_t *bytes);
    int (*temp)(const struct nvcomp *nvcomp, uint32_t cells, size_t *bytes);
    /* For our codecs: the bytes of working memory for one chunk. A batch has working memory for at
     * least one of its chunks, and the codec does as many chunks at a time (bale_parts). */
    size_t room;
    /* For our own codecs: the working memory of a resident block (bale_rooms). */
    size_t block_room;
    /* For a lossy codec: launches what comes before the raw cells are hashed, in the slot's memory
     * alone. Rounds the elements of frames that say so, if they are aligned (above), and sets the
     * results' flags of these cells but for CUDA_MISMATCH. */
    cudaError_t (*begin)(const cuda_batch *batch);
    /* Launches the encoding of raw cells to packed cells: chunk c lies at lists.raw + c *
     * BALE_CUDA_CELL, its stream goes to lists.packed + c * lists.packed_cell. Sets
     * packed_lengths[c] and statuses[c], 0 if it went well. A chunk whose packed length is 0 or
     * more than its limit is stored raw. A codec with an extent part makes that first, in
     * lists.parts + f * BALE_CUDA_PART, and sets the length in made[f]. */
    cudaError_t (*encode)(const cuda_batch *batch);
    /* Launches the decoding of decode_from (decode_from_lengths bytes) to the cells in `to`
     * (decode_room bytes), and sets decoded_lengths and statuses. The bytes are hostile, and so are
     * those of the parts, which lie where encode puts them. */
    cudaError_t (*decode)(const cuda_batch *batch);
};

/* Of a codec of our own that needs nothing else. */
constexpr cuda_codec_ops bale_cuda_own_steps(decltype(cuda_codec_ops::open) open,
                                             decltype(cuda_codec_ops::encode) encode,
                                             decltype(cuda_codec_ops::decode) decode,
                                             bool waits = false)
{
    cuda_codec_ops ops = {};

    ops.open = open;
    ops.encode = encode;
    ops.decode = decode;
    ops.waits = waits;
    return ops;
}

#endif
