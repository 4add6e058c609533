/* cusz on the device: decoding packed cells to raw ones. The bytes are hostile, those of the part
 * too. A block for a chunk. A thread decodes a segment; its warp writes the words of all of them in
 * whole lines. Then the words become elements where they are. */
#ifndef BALE_KERNELS_CUSZ_DECODE_CUH
#define BALE_KERNELS_CUSZ_DECODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/cusz/segment.cuh"

namespace bale_cusz
{
constexpr uint32_t BESIDE = 16; /* segments that a warp decodes at once, at least, if there are */

/* By a block: sets where the segments end. False: not exactly the codes' bytes, or spare bits are
 * not zero. */
__device__ inline bool place_segments(decode_shared *s, const layout &l, const uint8_t *in,
                                      uint32_t code_bytes)
{
    for (uint32_t i = threadIdx.x; i < l.segments; i += blockDim.x)
        s->ends[i] = in[l.lengths + 2 * i] | (uint32_t)in[l.lengths + 2 * i + 1] << 8;
    __syncthreads();
    if (threadIdx.x < 32)
        (void)bale_warp::offsets_from_sizes(s->ends, l.segments, 0);
    __syncthreads();
    const uint32_t end = s->ends[l.segments];
    return (end + 7) / 8 == code_bytes &&
           (end % 8 == 0 || (in[l.bits + end / 8] & 0xff >> end % 8) == 0);
}

/* What becomes of words on their way from the tile: nothing, or they are added up within their
 * segment, or they become elements. */
enum finish { AS_THEY_ARE, ADDED_UP, AS_ELEMENTS };

/* By a thread: adds up the words of its row. */
template <uint32_t WIDTH, typename WORD> __device__ inline WORD add_up_row(WORD *row, WORD sum)
{
#pragma unroll 8
    for (uint32_t k = 0; k < WIDTH; k++) {
        sum += row[k];
        row[k] = sum;
    }
    return sum;
}

/* By a warp: decodes every warps-th segment from the first on, a lane each. *sum: becomes the sum
 * of the lane's words. False, in the lane: a segment breaks a rule. */
template <typename WORD, bool MATCHES>
__device__ inline bool decode_rows(decode_shared *s, const layout &l, const uint8_t *in,
                                   uint32_t length, uint32_t first, uint32_t warps, finish how,
                                   const row<WORD> &words, WORD *sum)
{
    constexpr uint32_t WIDTH = ROW / sizeof(WORD), PITCH = WIDTH + 1;
    const uint32_t lane = bale_warp::lane(), segment = first + lane * warps;
    const bool works = segment < l.segments;
    const uint32_t begin = works ? s->ends[segment] : 0, end = works ? s->ends[segment + 1] : 0;
    const uint32_t count = works ? l.elements_of(segment) : 0;
    const uint32_t rows = min((l.segments - first - 1) / warps + 1, 32u);
    const uint32_t most = l.elements_of(first);
    WORD *tile = (WORD *)s->tiles[threadIdx.x / 32].words;
    segment_reader<WORD, MATCHES> reader(
        s, bit_reader((const uint32_t *)in, (length - 1) / 4, 8 * l.bits + begin), begin, end);

    for (uint32_t i = lane; i < rows * PITCH; i += 32)
        tile[i] = 0;
    for (uint32_t at = 0; at < most; at += WIDTH) {
        const made_words<WORD> before = {tile + lane * PITCH, words, segment << l.segment_log2, at};
        __syncwarp();
        if (at < count)
            reader.fill(tile + lane * PITCH, min(WIDTH, count - at), before);
        if (how == ADDED_UP && at < count)
            *sum = add_up_row<WIDTH>(tile + lane * PITCH, *sum);
        __syncwarp();
        for (uint32_t i = lane; i < rows * WIDTH; i += 32) {
            const uint32_t other = first + i / WIDTH * warps, k = at + i % WIDTH;
            WORD *from = tile + i / WIDTH * PITCH + i % WIDTH, word = *from;
            *from = 0;
            if (k < l.elements_of(other))
                words.store((other << l.segment_log2) + k,
                            how == AS_ELEMENTS ? restored(s->h.r, word) : word);
        }
    }
    return !works || reader.is_whole();
}

/* By a block. If there are few segments, fewer warps have them: lanes that idle beside one that
 * decodes cost as much as if they did, too. If words are added up, s->sums has what is before each
 * segment then. */
template <typename WORD>
__device__ inline bool decode_segments(decode_shared *s, const layout &l, const uint8_t *in,
                                       uint32_t length, finish how, const row<WORD> &words)
{
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t warps = min(blockDim.x / 32, (l.segments + BESIDE - 1) / BESIDE);
    const uint32_t segment = warp + bale_warp::lane() * warps;
    WORD *sums = (WORD *)s->sums, sum = 0;
    bool fine = true;

    if (warp < warps)
        fine = s->h.matches
                   ? decode_rows<WORD, true>(s, l, in, length, warp, warps, how, words, &sum)
                   : decode_rows<WORD, false>(s, l, in, length, warp, warps, how, words, &sum);
    fine = __syncthreads_and(fine);
    if (how != ADDED_UP)
        return fine;
    if (warp < warps && segment < l.segments)
        sums[segment] = sum;
    __syncthreads();
    place_sums(sums, l.segments, (WORD *)s->tiles);
    return fine;
}

/* By a block: puts the listed elements in their places. False: a position is out of range, or not
 * above the one before. */
template <typename WORD>
__device__ inline bool put_listed(const layout &l, const uint8_t *list, const row<WORD> &elements)
{
    bool fine = true;

    for (uint32_t i = threadIdx.x; i < l.listed; i += blockDim.x) {
        const uint32_t position = number32(list + 4 * i);
        const uint8_t *from = list + 4 * l.listed + i * sizeof(WORD);
        WORD element = 0;
        for (uint32_t k = 0; k < sizeof(WORD); k++)
            element |= (WORD)from[k] << 8 * k;
        if (position < l.elements)
            elements.store(position, element);
        fine = fine && position < l.elements && (i == 0 || position > number32(list + 4 * i - 4));
    }
    return __syncthreads_and(fine);
}

/* By a block: the whole chunk behind its head. */
template <typename WORD>
__device__ inline bool decode_elements(decode_shared *s, const layout &l, const uint8_t *in,
                                       uint32_t length, uint8_t *raw)
{
    const row<WORD> words = {raw + l.lead};
    const head &h = s->h;
    const bool adds_up = h.order > 0 && !h.matches && words.is_aligned();
    /* A match repeats words. */
    const finish how = h.order == 0 && !h.matches ? AS_ELEMENTS : adds_up ? ADDED_UP : AS_THEY_ARE;

    if (!decode_segments(s, l, in, length, how, words))
        return false;
    if (how == ADDED_UP) {
        const local_sums<WORD> local = {(WORD *)words.at, (const WORD *)s->sums, l.segment_log2};
        sum_strides(local, l.elements, h, (WORD *)s->tiles);
    } else if (how == AS_THEY_ARE) {
        for (uint32_t i = h.order; i-- > 1;)
            sum_stride(words, l.elements, h.strides[i], (WORD *)s->tiles);
        restore(words, l.elements, h.order > 0, h.r, (WORD *)s->tiles);
    }
    for (uint32_t i = threadIdx.x; i < l.lead + l.tail; i += blockDim.x) {
        const uint32_t to = i < l.lead ? i : i + l.elements * sizeof(WORD);
        raw[to] = in[l.lengths - l.lead - l.tail + i];
    }
    return put_listed(l, in + (length - l.list), words);
}

/* By a block: false if the stream or the part breaks a rule. length is not 0. */
__device__ inline bool decode_chunk(decode_shared *s, const cuda_part &part, const uint8_t *bytes,
                                    const cuda_chunk &chunk, const uint8_t *in, uint32_t length,
                                    uint8_t *raw)
{
    const uint32_t log2 = in[0] & (CUSZ_HAS_LIST - 1);
    uint32_t listed = 0;
    layout l;

    if (chunk.chunk_size > CUSZ_CHUNK)
        return false;
    load_part(bytes, part.length, &s->h, &s->b);
    if (!s->h.fine)
        return false;
    if (in[0] & CUSZ_HAS_LIST) {
        listed = length >= 5 ? number32(in + 1) : 0;
        if (listed == 0)
            return false;
    }
    if (log2 < CUSZ_SEGMENT_MIN || log2 > CUSZ_SEGMENT_MAX ||
        !lay_out(s->h, chunk.whole, log2, listed, &l) || listed > l.elements ||
        l.bits + l.list > length)
        return false;
    make_look(s);
    if (!place_segments(s, l, in, (uint32_t)(length - l.bits - l.list)))
        return false;
    return s->h.f64 ? decode_elements<uint64_t>(s, l, in, length, raw)
                    : decode_elements<uint32_t>(s, l, in, length, raw);
}

__global__ void __launch_bounds__(THREADS_MAX)
    decode(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    decode_shared *s = (decode_shared *)bale_shared::memory;
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const uint32_t length = (uint32_t)lists.decode_from_lengths[c];

    if (chunk.first != c)
        return;
    const bool fine =
        length > 0 &&
        decode_chunk(s, lists.made[chunk.frame], lists.parts + (size_t)chunk.frame * BALE_CUDA_PART,
                     chunk, (const uint8_t *)lists.decode_from[c], length, (uint8_t *)to[c]);
    if (threadIdx.x == 0) {
        lists.statuses[c] = !fine;
        lists.decoded_lengths[c] = fine ? chunk.whole : 0;
    }
}
} // namespace bale_cusz

#endif
