/* cusz on the device: encoding raw cells to packed ones, with the plan that learn() made. A block
 * for each cell of a chunk takes its share of the chunk's segments, and a warp one after the other:
 * first how many bits each has, and when all are known, the bits. */
#ifndef BALE_KERNELS_CUSZ_ENCODE_CUH
#define BALE_KERNELS_CUSZ_ENCODE_CUH

#include "kernels/codec/shared.cuh"
#include "kernels/cusz/bits.cuh"
#include "kernels/cusz/learn.cuh"
#include "kernels/cusz/step.cuh"

namespace bale_cusz
{
constexpr unsigned ENCODE_THREADS = 256, ENCODE_WARPS = ENCODE_THREADS / 32;
/* Of what 32 words become at most: each word 15 and 61 bits, or as many zeros; zeros before them 15
 * codes more; and what was left before. */
constexpr uint32_t BUFFER = (32 * 76 + 15 * 15 + 31) / 32 + 2;

/* Segments of a chunk, in the working memory of its cells: bits of each, and listed elements. */
constexpr uint32_t SEGMENTS_OF_CELL = BALE_CUDA_CELL / 4 >> CUSZ_SEGMENT_MIN;
static_assert(SEGMENTS_OF_CELL * 2 * sizeof(uint32_t) <= BALE_CUDA_WORK, "for each cell");

struct alignas(16) encode_shared {
    uint32_t code[CUSZ_TOKENS];
    uint32_t bits[SEGMENTS + 1];   /* of segments, then where they begin */
    uint32_t listed[SEGMENTS + 1]; /* the same of listed elements */
    uint32_t buffer[ENCODE_WARPS][BUFFER];
    uint32_t last_word;
};

/* Segments [begin, end) of a chunk. */
struct segments {
    uint32_t begin, end;
};

__device__ inline segments segments_of(const cuda_chunk &chunk, uint32_t c, uint32_t count)
{
    const uint32_t cells = (chunk.whole - 1) / BALE_CUDA_CELL + 1, k = c - chunk.first;

    return {k * count / cells, (k + 1) * count / cells};
}

/* By a warp: the bits of a segment, and its listed elements. */
template <typename WORD, bool MATCHES>
__device__ inline uint32_t measure_segment(const work<WORD, MATCHES> &w, uint32_t segment,
                                           uint32_t *listed)
{
    const uint32_t begin = segment << w.l.segment_log2, end = begin + w.l.elements_of(segment);
    const uint16_t *places = places_of(w, begin, end);
    stretch<WORD> words(w.d, begin);
    zero_runs open;
    uint32_t bits = 0, count = 0;

    for (uint32_t at = begin; at < end; at += 32) {
        const step<WORD> s = next_step(w, &words, &open, places ? places + (at - begin) : places,
                                       min(end - at, 32u));
        bits += s.bits;
        count += s.listed;
    }
    *listed = warp_sum(count);
    return warp_sum(bits) + run_bits(w.code, open.open);
}

/* By a block: bits and listed elements of segments. */
template <typename WORD, bool MATCHES>
__device__ inline void measure_segments(const work<WORD, MATCHES> &w, segments of, uint32_t *bits,
                                        uint32_t *listed)
{
    for (uint32_t i = of.begin + threadIdx.x / 32; i < of.end; i += ENCODE_WARPS) {
        uint32_t count;
        const uint32_t sum = measure_segment(w, i, &count);
        if (bale_warp::lane() == 0) {
            bits[i] = sum;
            listed[i] = count;
        }
    }
}

/* By a lane: zeros as powers of two, the greatest first. */
__device__ inline void put_run(bit_writer *out, const uint32_t *code, uint32_t run)
{
    while (run) {
        const uint32_t token = 31 - (uint32_t)__clz((int)run);
        out->put(code[token] >> 4, code[token] & 15);
        run -= 1u << token;
    }
}

/* By a lane: a word, folded. */
template <typename WORD>
__device__ inline void put_word(bit_writer *out, const uint32_t *code, WORD word)
{
    uint32_t low = 0;
    const uint32_t token = word ? token_of(word, &low) : 0, length = code[token] & 15;
    const uint64_t rest = (uint64_t)word & (((uint64_t)1 << low) - 1);

    if (length + low <= 32) {
        out->put(code[token] >> 4 << low | (uint32_t)rest, length + low);
        return;
    }
    out->put(code[token] >> 4, length);
    if (low > 32)
        out->put((uint32_t)(rest >> 32), low - 32);
    out->put((uint32_t)rest, min(low, 32u));
}

/* By a lane: a match. */
__device__ inline void put_match(bit_writer *out, const uint32_t *code, uint32_t place)
{
    const uint32_t token = match_token(place), low = match_low(token);

    out->put(code[token] >> 4, code[token] & 15);
    out->put((place >> 8) & ((1u << low) - 1), low);
    out->put(place & 255, match_distance_bits(token));
}

/* By a warp: a segment's codes, from bit `at` of the stored bytes on. list: its listed elements, of
 * which it has its first as number `before`; NULL: they are not written. */
template <typename WORD, bool MATCHES>
__device__ inline void write_segment(const work<WORD, MATCHES> &w, uint32_t segment, uint32_t at,
                                     const target &to, uint32_t *buffer, uint8_t *list,
                                     uint32_t before)
{
    const uint32_t begin = segment << w.l.segment_log2, end = begin + w.l.elements_of(segment);
    const uint16_t *places = places_of(w, begin, end);
    stretch<WORD> words(w.d, begin);
    bit_writer out(buffer, to, at);
    zero_runs open;

    for (uint32_t i = begin; i < end && !(out.is_behind() && !list); i += 32) {
        const step<WORD> s =
            next_step(w, &words, &open, places ? places + (i - begin) : places, min(end - i, 32u));
        if (__any_sync(ALL, s.writes)) {
            out.begin(s.bits);
            if (s.writes && s.place != ALONE) {
                put_match(&out, w.code, s.place);
            } else if (s.writes) {
                put_run(&out, w.code, s.run);
                put_word(&out, w.code, s.word);
            }
            out.end(false);
        }
        const uint32_t listed = __ballot_sync(ALL, s.listed);
        if (list && s.listed) {
            const uint32_t k = before + __popc(listed & bale_warp::lower_lanes());
            const uint32_t element = i + bale_warp::lane();
            const row<WORD> elements = {list + 4 * (size_t)w.l.listed};
            put32(list + 4 * (size_t)k, element);
            elements.store(k, w.d.elements.load(element));
        }
        before += __popc(listed);
    }
    out.begin(bale_warp::lane() == 0 ? run_bits(w.code, open.open) : 0);
    if (bale_warp::lane() == 0)
        put_run(&out, w.code, open.open);
    out.end(true);
}

/* By a block: the codes and listed elements of segments; bits and listed of s say where they
 * begin. first: it is the chunk's first block. */
template <typename WORD, bool MATCHES>
__device__ inline void write_segments(encode_shared *s, const work<WORD, MATCHES> &w, segments of,
                                      bool first, uint8_t *out)
{
    const uint32_t bits = 8 * w.l.bits, end = bits + s->bits[w.l.segments];
    const uint32_t begin_at = bits + s->bits[of.begin], end_at = bits + s->bits[of.end];
    const bool ends = of.end == w.l.segments;
    uint8_t *const list = w.l.listed ? out + w.l.bits + (s->bits[w.l.segments] + 7) / 8 : nullptr;
    const target to = {(uint32_t *)out, first ? begin_at / 32 : (begin_at + 31) / 32,
                       (end_at + 31) / 32, end > 0 ? (end - 1) / 32 : 0, &s->last_word};
    uint32_t *buffer = s->buffer[threadIdx.x / 32];

    for (uint32_t i = to.begin + threadIdx.x; i < to.end; i += ENCODE_THREADS)
        if (i != to.last)
            to.words[i] = 0;
    for (uint32_t i = threadIdx.x; i < ENCODE_WARPS * BUFFER; i += ENCODE_THREADS)
        s->buffer[i / BUFFER][i % BUFFER] = 0;
    if (threadIdx.x == 0)
        s->last_word = 0;
    __syncthreads();
    for (uint32_t i = of.begin + threadIdx.x / 32; i < w.l.segments; i += ENCODE_WARPS) {
        const bool own = i < of.end;
        if (!own && (ends || bits + s->bits[i] >= 32 * to.end))
            break;
        write_segment(w, i, bits + s->bits[i], to, buffer, own ? list : nullptr, s->listed[i]);
    }
    __syncthreads();
    const uint32_t at = 4 * to.last + threadIdx.x;
    if (to.last >= to.begin && to.last < to.end && threadIdx.x < 4 && at < (end + 7) / 8)
        out[at] = (uint8_t)(s->last_word >> (24 - 8 * threadIdx.x));
    __syncthreads();
}

/* By a block: what is before the codes. sizes: bits of segments. */
template <typename WORD, bool MATCHES>
__device__ inline void write_head(const encode_shared *s, const work<WORD, MATCHES> &w,
                                  const uint8_t *raw, uint8_t *out)
{
    const layout &l = w.l;

    if (threadIdx.x == 0) {
        out[0] = (uint8_t)(l.segment_log2 | (l.listed ? CUSZ_HAS_LIST : 0));
        if (l.listed)
            put32(out + 1, l.listed);
    }
    for (uint32_t i = threadIdx.x; i < l.lead + l.tail; i += ENCODE_THREADS)
        out[l.lengths - l.lead - l.tail + i] =
            raw[i < l.lead ? i : i + l.elements * (uint32_t)sizeof(WORD)];
    for (uint32_t i = threadIdx.x; i < l.segments; i += ENCODE_THREADS) {
        const uint32_t bits = s->bits[i + 1] - s->bits[i];
        out[l.lengths + 2 * i] = (uint8_t)bits;
        out[l.lengths + 2 * i + 1] = (uint8_t)(bits >> 8);
    }
}

enum verdict { FITS, TOO_LONG, NO_ROOM };

/* By a block: places the segments, whose bits and listed elements are in s. l: becomes the chunk's
 * with its list. TOO_LONG: a segment is, and those before it and itself have room. */
__device__ inline verdict place(encode_shared *s, const head &h, const cuda_chunk &chunk, layout *l)
{
    const uint32_t log2 = l->segment_log2;
    uint32_t first = SEGMENTS;

    __syncthreads();
    for (uint32_t i = threadIdx.x; i < l->segments; i += ENCODE_THREADS)
        if (s->bits[i] > UINT16_MAX)
            first = min(first, i);
    if (threadIdx.x == 0)
        s->last_word = SEGMENTS;
    __syncthreads();
    if (first < SEGMENTS)
        atomicMin(&s->last_word, first);
    __syncthreads();
    first = s->last_word;
    if (threadIdx.x < 32) {
        (void)bale_warp::offsets_from_sizes(s->bits, l->segments, 0);
        (void)bale_warp::offsets_from_sizes(s->listed, l->segments, 0);
    }
    __syncthreads();
    const uint32_t listed = s->listed[l->segments];
    if (listed > l->elements / CUSZ_LISTED)
        return NO_ROOM;
    (void)lay_out(h, chunk.whole, log2, listed, l);
    if (l->bits + l->list > chunk.limit)
        return NO_ROOM;
    const uint32_t room = (uint32_t)(chunk.limit - l->bits - l->list);
    if (first < SEGMENTS) /* the CPU writes words of 32 bits, up to that segment's end */
        return s->bits[first + 1] / 32 * 4 > room ? NO_ROOM : TOO_LONG;
    return (s->bits[l->segments] + 7) / 8 > room ? NO_ROOM : FITS;
}

/* What kernels know of a chunk. */
template <typename WORD, bool MATCHES>
__device__ inline work<WORD, MATCHES> work_of(encode_shared *s, const subject &of, const plan &p,
                                              const cuda_chunk &chunk, const cuda_lists &lists,
                                              const layout &l)
{
    matcher *m = MATCHES ? (matcher *)(s + 1) + threadIdx.x / 32 : nullptr;

    return {differences_of<WORD>(of, chunk, lists, p.order), l, s->code,
            !MATCHES && (s->code[1] & 15) > 0, m};
}

/* By a block: loads what a chunk is encoded with. False: it is not, or by the other kernel. */
template <bool MATCHES>
__device__ inline bool load_plan(encode_shared *s, const subject &of, const plan &p,
                                 const cuda_chunk &chunk, uint32_t part_length, head *h, layout *l)
{
    if (of.orders == 0 || part_length == 0 || of.matches != MATCHES)
        return false;
    for (uint32_t i = threadIdx.x; i < CUSZ_TOKENS; i += ENCODE_THREADS)
        s->code[i] = p.code[i];
    __syncthreads();
    h->lead = of.lead;
    h->f64 = of.size == 8;
    return lay_out(*h, chunk.whole, p.segment_log2, 0, l);
}

/* Shared memory of the blocks of measure() and encode(). */
template <bool MATCHES>
constexpr size_t ENCODE_ROOM = sizeof(encode_shared) +
                               (MATCHES ? ENCODE_WARPS * sizeof(matcher) : 0);

/* Finds out how many bits the segments have. */
template <bool MATCHES>
__global__ void __launch_bounds__(ENCODE_THREADS, MATCHES ? 1 : 5)
    measure(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    encode_shared *s = (encode_shared *)bale_shared::memory;
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const subject of = subject_of(frames[chunk.frame], chunk.chunk_size);
    const plan &p = *plan_of(lists, chunk.frame);
    layout l;
    head h;

    if (!load_plan<MATCHES>(s, of, p, chunk, lists.made[chunk.frame].length, &h, &l))
        return;
    uint32_t *bits = (uint32_t *)(lists.work + (size_t)chunk.first * BALE_CUDA_WORK);
    const segments own = segments_of(chunk, c, l.segments);
    if (h.f64)
        measure_segments(work_of<uint64_t, MATCHES>(s, of, p, chunk, lists, l), own, bits,
                         bits + l.segments);
    else
        measure_segments(work_of<uint32_t, MATCHES>(s, of, p, chunk, lists, l), own, bits,
                         bits + l.segments);
}

/* By a block: its share of a chunk, or all of it if segments are too long and have to be measured
 * again. Returns the stored length; 0: the chunk is stored raw. */
template <typename WORD, bool MATCHES>
__device__ inline uint32_t encode_share(encode_shared *s, work<WORD, MATCHES> w, const head &h,
                                        const cuda_chunk &chunk, uint32_t c,
                                        const cuda_lists &lists)
{
    uint8_t *out = lists.packed + chunk.first * lists.packed_cell;
    segments own = segments_of(chunk, c, w.l.segments);
    verdict v = place(s, h, chunk, &w.l);

    if (v == TOO_LONG && c != chunk.first)
        return 0;
    while (v == TOO_LONG && w.l.segment_log2 > CUSZ_SEGMENT_MIN) {
        (void)lay_out(h, chunk.whole, w.l.segment_log2 - 1, 0, &w.l);
        own = {0, w.l.segments};
        __syncthreads();
        measure_segments(w, own, s->bits, s->listed);
        v = place(s, h, chunk, &w.l);
    }
    if (v != FITS)
        return 0;
    write_segments(s, w, own, c == chunk.first, out);
    if (c != chunk.first)
        return 0;
    write_head(s, w, lists.raw + (size_t)c * BALE_CUDA_CELL, out);
    return (uint32_t)(w.l.bits + w.l.list + (s->bits[w.l.segments] + 7) / 8);
}

template <bool MATCHES>
__device__ inline uint32_t encode_cell(encode_shared *s, const subject &of, const plan &p,
                                       const cuda_chunk &chunk, uint32_t c, const cuda_lists &lists)
{
    layout l;
    head h;

    if (!load_plan<MATCHES>(s, of, p, chunk, lists.made[chunk.frame].length, &h, &l))
        return 0;
    const uint32_t *bits = (const uint32_t *)(lists.work + (size_t)chunk.first * BALE_CUDA_WORK);
    for (uint32_t i = threadIdx.x; i < l.segments; i += ENCODE_THREADS) {
        s->bits[i] = bits[i];
        s->listed[i] = bits[l.segments + i];
    }
    return h.f64 ? encode_share(s, work_of<uint64_t, MATCHES>(s, of, p, chunk, lists, l), h, chunk,
                                c, lists)
                 : encode_share(s, work_of<uint32_t, MATCHES>(s, of, p, chunk, lists, l), h, chunk,
                                c, lists);
}

/* Writes the chunks, when measure() is done with all of them. More blocks of a multiprocessor are
 * worth more than some registers in memory; with matches its shared memory has room for one. */
template <bool MATCHES>
__global__ void __launch_bounds__(ENCODE_THREADS, MATCHES ? 1 : 4)
    encode(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    encode_shared *s = (encode_shared *)bale_shared::memory;
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const subject of = subject_of(frames[chunk.frame], chunk.chunk_size);

    if (of.matches != MATCHES)
        return;
    const uint32_t length =
        encode_cell<MATCHES>(s, of, *plan_of(lists, chunk.frame), chunk, c, lists);

    if (c == chunk.first && threadIdx.x == 0) {
        lists.packed_lengths[c] = length;
        lists.statuses[c] = 0;
    }
}
} // namespace bale_cusz

#endif
