/* cusz on the device: decoding packed cells to raw ones. The bytes are hostile, those of the part
 * too. A block has one cell of a chunk after the other: threads decode its segments to words in
 * shared memory, which then are added up as far as the cell goes. */
#ifndef BALE_KERNELS_CUSZ_DECODE_CUH
#define BALE_KERNELS_CUSZ_DECODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/cusz/finish.cuh"
#include "kernels/cusz/segment.cuh"

namespace bale_cusz
{
/* Warps of a block that decode segments, 4 to 8, with 4 segments or more if there are so many:
 * lanes of one wait for each other, and few lanes waste its instructions. */
__device__ inline uint32_t decoders(uint32_t segments)
{
    return min(segments, min(max(segments / 4, 4u), 8u));
}

/* Segments that have words of a cell. */
struct cell_segments {
    uint32_t first, count;
    uint32_t begin, words; /* of the cell */
};

/* By a block: sets where the segments end. False: not exactly the codes' bytes, or spare bits are
 * not zero. */
__device__ inline bool place_segments(decode_shared *s, const layout &l, const cell_segments &of,
                                      const uint8_t *in, uint32_t code_bytes)
{
    const uint32_t warp = threadIdx.x / 32;
    uint32_t before = 0, end = 0;

    for (uint32_t i = threadIdx.x; i < l.segments; i += blockDim.x) {
        const uint32_t bits = in[l.lengths + 2 * i] | (uint32_t)in[l.lengths + 2 * i + 1] << 8;
        before += i < of.first ? bits : 0;
        end += bits;
        if (i - of.first < of.count)
            s->ends[i - of.first] = bits;
    }
    before = __reduce_add_sync(ALL, before);
    end = __reduce_add_sync(ALL, end);
    if (bale_warp::lane() == 0) {
        s->sums[0][warp] = before;
        s->sums[1][warp] = end;
    }
    __syncthreads();
    before = end = 0;
    for (uint32_t k = 0; k < DECODE_WARPS; k++) {
        before += s->sums[0][k];
        end += s->sums[1][k];
    }
    if (warp == 0)
        (void)bale_warp::offsets_from_sizes(s->ends, of.count, before);
    __syncthreads();
    return (end + 7) / 8 == code_bytes &&
           (end % 8 == 0 || (in[l.bits + end / 8] & 0xff >> end % 8) == 0);
}

/* Where the codes of a cell are read. */
struct code_words {
    const uint32_t *words;
    uint32_t last;
    uint32_t at; /* bits: where the segments' codes begin, of which s->ends counts */
};

/* By a block: copies the codes to shared memory, if there is room. */
__device__ inline code_words stage_codes(decode_shared *s, const layout &l, const cell_segments &of,
                                         const uint8_t *in, uint32_t length)
{
    const uint32_t *words = (const uint32_t *)in;
    const uint32_t last = (length - 1) / 4, at = 8 * l.bits;
    const uint32_t first = (at + s->ends[0]) / 32;
    const uint32_t end = min((at + s->ends[of.count]) / 32, last), count = end - first + 1;

    if (end < first || count > STAGE / 4)
        return {words, last, at};
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x)
        s->stage[i] = __ldg(words + first + i);
    return {s->stage, count - 1, at - 32 * first};
}

/* By a block: decodes the cell's words, which are zeros before. False, in a thread: a segment
 * breaks a rule. */
template <typename WORD, bool MATCHES>
__device__ inline bool decode_segments(decode_shared *s, const layout &l, const cell_segments &of,
                                       const code_words &codes)
{
    const uint32_t warp = threadIdx.x / 32, warps = decoders(of.count);
    const uint32_t k = warp + bale_warp::lane() * warps;

    if (warp >= warps || k >= of.count)
        return true;
    const uint32_t begin = (of.first + k) << l.segment_log2;
    const uint32_t count = l.elements_of(of.first + k);
    const uint32_t upto = min(count, of.begin + of.words - begin);
    segment_reader<WORD, MATCHES> reader(s,
                                         bit_reader(codes.words, codes.last, codes.at + s->ends[k]),
                                         (WORD *)s->words, begin - of.begin);
    return reader.read(count, upto) && (upto < count || reader.at() == codes.at + s->ends[k + 1]);
}

/* By a block: writes the first `count` words of a cell, or their elements. */
template <typename WORD>
__device__ inline void write_words(const quad<WORD> *cell, uint32_t count, const row<WORD> &to,
                                   rounding r, bool as_elements)
{
    constexpr uint32_t COUNT = quad<WORD>::COUNT;
    const uint32_t quads = (uintptr_t)to.at % sizeof(quad<WORD>) == 0 ? count / COUNT : 0;
    const WORD *words = (const WORD *)cell;

    for (uint32_t i = threadIdx.x; i < quads; i += blockDim.x) {
        quad<WORD> q = cell[i];
#pragma unroll
        for (uint32_t k = 0; k < COUNT; k++)
            q.words[k] = as_elements ? restored(r, q.words[k]) : q.words[k];
        ((quad<WORD> *)to.at)[i] = q;
    }
    for (uint32_t i = quads * COUNT + threadIdx.x; i < count; i += blockDim.x)
        to.store(i, as_elements ? restored(r, words[i]) : words[i]);
}

/* By a block: the words of a cell, behind the chunk's head. own: what it leaves to the
 * others. */
template <typename WORD>
__device__ inline bool decode_words(decode_shared *s, const layout &l, uint32_t cell,
                                    const uint8_t *in, uint32_t length, const row<WORD> &words,
                                    carries own)
{
    const head &h = s->h;
    const uint32_t begin = cell * CELL_WORDS<WORD>;
    if (begin >= l.elements)
        return true;
    const uint32_t count = min(l.elements - begin, CELL_WORDS<WORD>);
    const uint32_t first = begin >> l.segment_log2;
    const cell_segments of = {first, ((begin + count - 1) >> l.segment_log2) - first + 1, begin,
                              count};
    const passes p = passes_of(h, l.elements, sizeof(WORD));
    quad<WORD> *quads = (quad<WORD> *)s->words;
    const shared_row<WORD> here = {(WORD *)s->words};
    WORD *partial = (WORD *)s->partial;

    for (uint32_t i = threadIdx.x; i < BALE_CUDA_CELL / 16; i += blockDim.x)
        s->words[i] = {};
    if (!place_segments(s, l, of, in, (uint32_t)(length - l.bits - l.list)))
        return false;
    const code_words codes = stage_codes(s, l, of, in, length);
    __syncthreads();
    const bool fine = h.matches ? decode_segments<WORD, true>(s, l, of, codes)
                                : decode_segments<WORD, false>(s, l, of, codes);
    if (!__syncthreads_and(fine))
        return false;
    if (h.order > 0 && p.where != BY_ONE_BLOCK) {
        const WORD total = sum_near(quads, h.turned, partial);
        if (threadIdx.x == 0)
            *own.total = total;
    } else if (h.turned) {
        turn_cell(quads);
    }
    for (uint32_t i = 1; i < h.order && p.where == IN_CELL; i++)
        sum_stride(here, count, h.strides[i], partial);
    if (p.rows > 0) {
        sum_stride(here, CELL_WORDS<WORD>, p.rows, partial);
        write_last_row(here, begin, p.rows, (WORD *)own.last_row);
    }
    write_words(quads, count, row<WORD>{words.at + (size_t)begin * sizeof(WORD)}, h.r,
                p.where == IN_CELL);
    return true;
}

/* By a block: a cell of a chunk. False: the stream breaks a rule. length is not 0. */
__device__ inline bool decode_cell(decode_shared *s, const cuda_chunk &chunk, uint32_t cell,
                                   const uint8_t *in, uint32_t length, uint8_t *raw, layout *l,
                                   carries own)
{
    const uint32_t log2 = in[0] & (CUSZ_HAS_LIST - 1);
    uint32_t listed = 0;

    if (in[0] & CUSZ_HAS_LIST) {
        listed = length >= 5 ? number32(in + 1) : 0;
        if (listed == 0)
            return false;
    }
    if (log2 < CUSZ_SEGMENT_MIN || log2 > CUSZ_SEGMENT_MAX ||
        !lay_out(s->h, chunk.whole, log2, listed, l) || listed > l->elements ||
        l->bits + l->list > length)
        return false;
    return s->h.f64 ? decode_words<uint64_t>(s, *l, cell, in, length, {raw + l->lead}, own)
                    : decode_words<uint32_t>(s, *l, cell, in, length, {raw + l->lead}, own);
}

/* A block for `each` cells, which mostly have one part. */
__global__ void __launch_bounds__(DECODE_THREADS, 2)
    decode(const cuda_chunk *chunks, uint32_t count, uint32_t each, cuda_lists lists,
           void *const *to)
{
    decode_shared *s = (decode_shared *)bale_shared::memory;
    const uint32_t begin = blockIdx.x * each, end = min(begin + each, count);
    uint32_t frame = UINT32_MAX;

    for (uint32_t c = begin; c < end; c++) {
        const cuda_chunk chunk = chunks[c];
        const uint32_t length = (uint32_t)lists.decode_from_lengths[chunk.first];
        cell_decoded *w = decoded_of_cell(lists, c);
        layout l = {};
        if (chunk.frame != frame) {
            frame = chunk.frame;
            load_part(lists.parts + (size_t)frame * BALE_CUDA_PART, lists.made[frame].length, &s->h,
                      &s->b);
            if (s->h.fine)
                make_look(s);
        }
        const bool fine =
            length > 0 && s->h.fine && chunk.chunk_size <= CUSZ_CHUNK &&
            decode_cell(s, chunk, c - chunk.first, (const uint8_t *)lists.decode_from[chunk.first],
                        length, (uint8_t *)to[chunk.first], &l, {&w->total, row_of_cell(lists, c)});
        if (threadIdx.x == 0) {
            w->fine = fine;
            w->l = l;
            w->h = s->h;
        }
        __syncthreads();
    }
}
} // namespace bale_cusz

#endif
