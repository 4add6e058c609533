/* lzr (spec.md) on the device: decoding packed cells to raw ones. The bytes are hostile. A block for
 * a chunk, in turns, which take a group of each stream: while a warp for each stream decodes the
 * groups of a turn, another warp plans the turn before, and another one copies the matches of that
 * before it. */
#ifndef BALE_KERNELS_LZR_DECODE_CUH
#define BALE_KERNELS_LZR_DECODE_CUH

#include "kernels/codec/bytes.cuh"
#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/lzr/groups.cuh"
#include "kernels/lzr/place.cuh"

namespace bale_lzr
{
constexpr uint32_t PLANNING_WARP = STREAMS, COPYING_WARP = STREAMS + 1;
constexpr uint32_t ENDLESS = ~0u;

/* By a block: decodes the words to the window. False, for all threads: they are corrupt. */
__device__ inline bool decode_words(const uint8_t *in, shared *s, uint32_t raw_length)
{
    const uint32_t warp = threadIdx.x / 32;
    group_decoder decoder(s, in, warp);
    planner plan(s, raw_length);
    const bool four = s->h.tables > 1;
    uint32_t turns = ENDLESS, at = 0, own = 0;

    for (uint32_t turn = 0; turns == ENDLESS || turn < turns + 2; turn++) {
        bool fine = true;
        const bool more = turns == ENDLESS;
        group *g = s->groups[turn % TURNS];
        uint8_t *literal = s->literal[turn % HALVES][warp % STREAMS];
        if (more && warp < STREAMS)
            decoder.sequences(&g[warp], literal);
        if (more && four) { /* a literal's table depends on where its group begins */
            __syncthreads();
            own = at + (warp == 1 ? g[0].bytes : 0);
            at += g[0].bytes + g[1].bytes;
        }
        if (more && warp < STREAMS)
            fine = decoder.literals(own, literal);
        if (warp == PLANNING_WARP && turn > 0 && turn <= turns)
            for (uint32_t i = 0; i < STREAMS && fine; i++)
                fine = plan.plan(&s->groups[(turn - 1) % TURNS][i],
                                 s->literal[(turn - 1) % HALVES][i]);
        if (warp == PLANNING_WARP && turn == turns)
            fine = fine && plan.at() == raw_length;
        if (warp == COPYING_WARP && turn > 1)
            for (uint32_t i = 0; i < STREAMS; i++)
                copy_matches(&s->groups[(turn - 2) % TURNS][i], s->window);
        if (__syncthreads_or(!fine))
            return false;
        if (more && (g[0].left == 0 || (s->h.streams == 2 && g[1].count == 0))) {
            if (g[0].left != 0 || g[1].left != 0)
                return false;
            turns = turn + 1;
        }
    }
    return true;
}

/* A block for each chunk; to: its cell. Chunks without a stream are skipped. */
__global__ void __launch_bounds__(THREADS)
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
