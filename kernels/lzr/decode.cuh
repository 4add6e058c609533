/* lzr (spec.md) on the device: decoding packed cells to raw ones. The bytes are hostile. A block
 * for a chunk, in turns, which take a group of each stream: while a warp for each stream decodes
 * the groups of a turn, the other warps, the placers, write the bytes of the turn before. */
#ifndef BALE_KERNELS_LZR_DECODE_CUH
#define BALE_KERNELS_LZR_DECODE_CUH

#include "kernels/codec/bytes.cuh"
#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/lzr/groups.cuh"
#include "kernels/lzr/place.cuh"

namespace bale_lzr
{
/* By a warp of those that decode: its group of a turn. False: it is corrupt. *at: the turn's place,
 * which only the literals of four tables need; moves behind it. */
__device__ inline bool decode_turn(shared *s, const uint8_t *in, const turn *before, turn *now,
                                   uint32_t *at)
{
    const uint32_t index = threadIdx.x / 32;
    const bool four = s->h.tables > 1;
    group_decoder decoder(s, in, index, before);

    decoder.sequences(now);
    if (four) /* a literal's table depends on where its group begins */
        (void)bale_barrier::any(2, DECODERS, false);
    const bool fine = decoder.literals(*at + (four && index == 1 ? now->bytes[0] : 0), now);
    *at += four ? now->bytes[0] + now->bytes[1] : 0;
    decoder.keep();
    return fine;
}

/* By a block: decodes the words to the window. False, for all threads: they are corrupt. */
__device__ inline bool decode_words(const uint8_t *in, shared *s, uint32_t raw_length)
{
    const uint32_t warp = threadIdx.x / 32;
    const bool decodes = warp < STREAMS;
    uint32_t at = 0; /* the next turn's place */
    bool more = true;

    for (uint32_t n = 0;; n++) {
        turn *const now = &s->turns[n % 2], *const before = &s->turns[(n + 1) % 2];
        bool fine = true;
        if (decodes && more)
            fine = decode_turn(s, in, n > 0 ? before : nullptr, now, &at);
        if (!decodes && n > 0)
            fine = place_turn(s, before, raw_length, &at);
        if (__syncthreads_or(!fine))
            return false;
        if (!more)
            break;
        more = now->left[0] > 0 && (s->h.streams == 1 || now->count[1] > 0);
        if (!more && (now->left[0] > 0 || now->left[1] > 0))
            return false;
    }
    return !__syncthreads_or(!decodes && at != raw_length);
}

/* A block for each chunk; to: its cell. Chunks without a stream are skipped. */
__global__ void __launch_bounds__(THREADS, 2)
    decode(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    const uint32_t c = blockIdx.x, raw_length = chunks[c].raw_length;
    const uint8_t *in = (const uint8_t *)lists.decode_from[c];
    const uint32_t length = (uint32_t)lists.decode_from_lengths[c];
    shared *s = (shared *)bale_shared::memory;

    if (length == 0)
        return;
    const bool fine = begin(in, length, s) && decode_words(in, s, raw_length);
    if (fine)
        bale_bytes::copy_aligned((uint8_t *)to[c], s->window, raw_length);
    if (threadIdx.x == 0) {
        lists.statuses[c] = !fine;
        lists.decoded_lengths[c] = fine ? raw_length : 0;
    }
}
} // namespace bale_lzr

#endif
