/* cusz on the device: encoding raw cells to packed ones, with the plan that learn() made, when the
 * bits of all groups are known. A block for each cell of a chunk takes its share of the groups. */
#ifndef BALE_KERNELS_CUSZ_ENCODE_CUH
#define BALE_KERNELS_CUSZ_ENCODE_CUH

#include "kernels/codec/shared.cuh"
#include "kernels/cusz/write.cuh"

namespace bale_cusz
{
/* Of what a group becomes at most: each word 15 and 61 bits; zeros before and behind,
 * 30 bits each; and what was in the first word. */
constexpr uint32_t BUFFER = (GROUP * 76 + 2 * 30 + 31) / 32 + 2;

/* Of a warp: a group's words, then its codes. */
union alignas(16) bench {
    stage words;
    uint32_t codes[(BUFFER + 3) / 4 * 4];
};

struct encode_shared {
    coder codes;
    measures m;                  /* if groups are measured again */
    uint32_t bits[GROUPS + 1];   /* of groups, then where they begin */
    uint32_t listed[GROUPS + 1]; /* the same of listed elements */
    uint16_t open[GROUPS];       /* zeros before a group */
    uint32_t sums[CELL_THREADS_MAX / 32];
    uint32_t last_word;
    bench benches[1]; /* as many as there are warps; then their matchers */
};

/* By a block: turns sizes[0, count) into offsets, and sets sizes[count] to the end of the last. */
__device__ inline void place_sizes(encode_shared *s, uint32_t *sizes, uint32_t count)
{
    constexpr uint32_t MOST = (GROUPS + CELL_THREADS - 1) / CELL_THREADS;
    const uint32_t each = (count + blockDim.x - 1) / blockDim.x;
    const uint32_t begin = min(threadIdx.x * each, count), end = min(begin + each, count);
    uint32_t v[MOST], sum = 0, before = 0;

#pragma unroll
    for (uint32_t k = 0; k < MOST; k++) {
        v[k] = begin + k < end ? sizes[begin + k] : 0;
        sum += v[k];
    }
    const uint32_t upto = bale_warp::inclusive_sum(sum);
    if (bale_warp::lane() == 31)
        s->sums[threadIdx.x / 32] = upto;
    __syncthreads();
    for (uint32_t warp = 0; warp < threadIdx.x / 32; warp++)
        before += s->sums[warp];
    before += upto - sum;
#pragma unroll
    for (uint32_t k = 0; k < MOST; k++) {
        if (begin + k < end)
            sizes[begin + k] = before;
        before += v[k];
    }
    if (threadIdx.x == blockDim.x - 1)
        sizes[count] = before;
    __syncthreads();
}

/* Where a block writes its groups, and a chunk's list. */
struct destination {
    target to;
    uint32_t bits; /* where codes begin */
    uint8_t *list; /* NULL: there is none */
    groups own;
};

/* By a warp: the groups [begin, end), of one segment if there are matches. */
template <typename WORD, bool QUICK, bool MATCHES>
__device__ inline void write_range(const encode_shared *s, const work<WORD, QUICK, MATCHES> &w,
                                   uint32_t begin, uint32_t end, const destination &out,
                                   uint32_t *room)
{
    const uint32_t segment = begin / w.groups_of_segment() * w.groups_of_segment();
    const uint16_t *places = places_of(w, segment);
    group_reader<WORD, QUICK> reader(w.d, w.st);
    kept_reader<work<WORD, QUICK, MATCHES>> counts(w, begin, end);

    for (uint32_t i = begin; i < end; i++) {
        uint32_t entry;
        bool literals;
        const uint32_t kept = counts.next(&entry, &literals), at = out.bits + s->bits[i];
        const uint32_t behind = out.bits + s->bits[i + 1], open = s->open[i];
        const uint16_t *const own = places ? places + (i - segment) * GROUP : places;
        if (behind > at) {
            if (w.runs && kept <= FEW && literals)
                write_few<true>(w, i, kept, entry, open, at, behind, out.to, room);
            else if (w.runs && kept <= FEW)
                write_few<false>(w, i, kept, entry, open, at, behind, out.to, room);
            else if (kept != NONE_KEPT)
                write_group(w, kept_words(w, i, kept), i, own, open, at, out.to, room);
            else
                write_group(w, reader.at(i * GROUP, w.l.elements), i, own, open, at, out.to, room);
        }
        if (out.list && i < out.own.end && s->listed[i + 1] > s->listed[i])
            write_list(w.d, i, out.list, w.l.listed, s->listed[i]);
    }
}

/* By a warp: those of the groups behind the block's own that reach into its words. */
template <typename WORD, bool QUICK, bool MATCHES>
__device__ inline void write_beyond(const encode_shared *s, const work<WORD, QUICK, MATCHES> &w,
                                    const destination &out, uint32_t *room)
{
    const uint32_t count = w.groups(), end = 32 * out.to.end - out.bits;

    for (uint32_t first = out.own.end; first < count && s->bits[first] < end; first += 32) {
        const uint32_t i = first + bale_warp::lane();
        uint32_t reach =
            __ballot_sync(ALL, i < count && s->bits[i] < end && s->bits[i + 1] > s->bits[i]);
        for (; reach; reach &= reach - 1) {
            const uint32_t k = first + (uint32_t)__ffs((int)reach) - 1;
            write_range(s, w, k, k + 1, out, room);
        }
    }
}

/* By a block: makes zeros of words that groups share. */
__device__ inline void clear_shared_words(const encode_shared *s, const destination &out)
{
    for (uint32_t i = out.own.begin + threadIdx.x; i <= out.own.end; i += blockDim.x) {
        const uint32_t at = (out.bits + s->bits[i]) / 32;
        if (at >= out.to.begin && at < out.to.end && at != out.to.last)
            out.to.words[at] = 0;
    }
}

/* By a block: the codes and listed elements of groups; bits and listed of s say where they begin.
 * first: it is the chunk's first block. */
template <typename WORD, bool QUICK, bool MATCHES>
__device__ inline void write_groups(encode_shared *s, const work<WORD, QUICK, MATCHES> &w,
                                    groups own, bool first, uint8_t *packed)
{
    const uint32_t count = w.groups(), bits = 8 * w.l.bits, end = bits + s->bits[count];
    const uint32_t begin_at = bits + s->bits[own.begin], end_at = bits + s->bits[own.end];
    const uint32_t warp = threadIdx.x / 32, mine = own.end - own.begin;
    /* Without matches at most 32 groups at once, for a lane of the warp keeps each one's count. */
    const uint32_t each = MATCHES ? w.groups_of_segment()
                                  : min((mine + blockDim.x / 32 - 1) / (blockDim.x / 32), 32u);
    const destination out = {{(uint32_t *)packed, first ? begin_at / 32 : (begin_at + 31) / 32,
                              (end_at + 31) / 32, end > 0 ? (end - 1) / 32 : 0, &s->last_word},
                             bits,
                             w.l.listed ? packed + w.l.bits + (s->bits[count] + 7) / 8 : nullptr,
                             own};

    __syncthreads();
    if (threadIdx.x == 0)
        s->last_word = 0;
    clear_shared_words(s, out);
    __syncthreads();
    for (uint32_t begin = own.begin + warp * each; begin < own.end; begin += blockDim.x / 32 * each)
        write_range(s, w, begin, min(begin + each, own.end), out, s->benches[warp].codes);
    if (warp == 0 && out.to.end > out.to.begin)
        write_beyond(s, w, out, s->benches[warp].codes);
    __syncthreads();
    const uint32_t at = 4 * out.to.last + threadIdx.x;
    if (out.to.last >= out.to.begin && out.to.last < out.to.end && threadIdx.x < 4 &&
        at < (end + 7) / 8)
        packed[at] = (uint8_t)(s->last_word >> (24 - 8 * threadIdx.x));
    __syncthreads();
}

/* Where a segment begins in the codes. */
__device__ inline uint32_t segment_at(const encode_shared *s, const layout &l, uint32_t segment)
{
    const uint32_t count = (l.elements - 1) / GROUP + 1;

    return s->bits[min(segment << (l.segment_log2 - CUSZ_SEGMENT_MIN), count)];
}

/* By a block: what is before the codes. */
template <typename WORD>
__device__ inline void write_chunk_head(const encode_shared *s, const layout &l, const uint8_t *raw,
                                        uint8_t *out)
{
    if (threadIdx.x == 0) {
        out[0] = (uint8_t)(l.segment_log2 | (l.listed ? CUSZ_HAS_LIST : 0));
        if (l.listed)
            put32(out + 1, l.listed);
    }
    for (uint32_t i = threadIdx.x; i < l.lead + l.tail; i += blockDim.x)
        out[l.lengths - l.lead - l.tail + i] =
            raw[i < l.lead ? i : i + l.elements * (uint32_t)sizeof(WORD)];
    for (uint32_t i = threadIdx.x; i < l.segments; i += blockDim.x) {
        const uint32_t bits = segment_at(s, l, i + 1) - segment_at(s, l, i);
        out[l.lengths + 2 * i] = (uint8_t)bits;
        out[l.lengths + 2 * i + 1] = (uint8_t)(bits >> 8);
    }
}

enum verdict { FITS, TOO_LONG, NO_ROOM };

/* By a block: places the groups, whose bits and listed elements are in s. l: becomes the chunk's
 * with its list. TOO_LONG: a segment is, and those before it and itself have room. */
__device__ inline verdict place(encode_shared *s, const head &h, const cuda_chunk &chunk, layout *l)
{
    const uint32_t log2 = l->segment_log2, count = (l->elements - 1) / GROUP + 1;

    __syncthreads();
    if (threadIdx.x == 0)
        s->last_word = SEGMENTS;
    place_sizes(s, s->bits, count);
    place_sizes(s, s->listed, count);
    for (uint32_t i = threadIdx.x; i < l->segments; i += blockDim.x)
        if (segment_at(s, *l, i + 1) - segment_at(s, *l, i) > UINT16_MAX)
            atomicMin(&s->last_word, i);
    __syncthreads();
    const uint32_t first = s->last_word, listed = s->listed[count];
    if (listed > l->elements / CUSZ_LISTED)
        return NO_ROOM;
    (void)lay_out(h, chunk.whole, log2, listed, l);
    if (l->bits + l->list > chunk.limit)
        return NO_ROOM;
    const uint32_t room = (uint32_t)(chunk.limit - l->bits - l->list);
    if (first < SEGMENTS) /* the CPU writes words of 32 bits, up to that segment's end */
        return segment_at(s, *l, first + 1) / 32 * 4 > room ? NO_ROOM : TOO_LONG;
    return (s->bits[count] + 7) / 8 > room ? NO_ROOM : FITS;
}

/* By a block: loads what measure() has found of a chunk's groups. */
__device__ inline void load_measures(encode_shared *s, const cuda_lists &lists, uint32_t first,
                                     uint32_t size, uint32_t count)
{
    const uint32_t each = BALE_CUDA_CELL / size / GROUP;

    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
        const cell_work *from = work_of_cell(lists, first + i / each);
        s->bits[i] = from->bits[i % each];
        s->listed[i] = from->listed[i % each];
        s->open[i] = from->open[i % each];
    }
}

/* By a block: measures a chunk's groups again, as its segments have become shorter. */
template <typename WORD, bool QUICK, bool MATCHES>
__device__ inline void measure_again(encode_shared *s, const work<WORD, QUICK, MATCHES> &w,
                                     const cuda_lists &lists, uint32_t first)
{
    const uint32_t count = w.groups(), each = BALE_CUDA_CELL / sizeof(WORD) / GROUP;

    __syncthreads();
    for (uint32_t begin = 0; begin < count; begin += each) {
        measure_groups(w, lists, first, first + begin / each, &s->m);
        for (uint32_t k = threadIdx.x; k < min(each, count - begin); k += blockDim.x) {
            s->bits[begin + k] = s->m.bits[k];
            s->listed[begin + k] = w.d.listed_of(begin + k);
            s->open[begin + k] = s->m.open[k];
        }
        __syncthreads();
    }
}

/* By a block: its share of a chunk, or all of it if segments are too long and have to be measured
 * again. Returns the stored length; 0: the chunk is stored raw. */
template <typename WORD, bool QUICK, bool MATCHES>
__device__ inline uint32_t encode_share(encode_shared *s, work<WORD, QUICK, MATCHES> w,
                                        const head &h, const cuda_chunk &chunk,
                                        const cuda_lists &lists)
{
    const uint32_t c = blockIdx.x, count = w.groups();
    uint8_t *out = lists.packed + chunk.first * lists.packed_cell;
    groups own = groups_of(c - chunk.first, sizeof(WORD), count);

    load_measures(s, lists, chunk.first, sizeof(WORD), count);
    verdict v = place(s, h, chunk, &w.l);
    if (v == TOO_LONG && c != chunk.first)
        return 0;
    while (v == TOO_LONG && w.l.segment_log2 > CUSZ_SEGMENT_MIN) {
        (void)lay_out(h, chunk.whole, w.l.segment_log2 - 1, 0, &w.l);
        own = {0, count};
        measure_again(s, w, lists, chunk.first);
        v = place(s, h, chunk, &w.l);
    }
    if (v != FITS)
        return 0;
    const uint32_t length = (uint32_t)(w.l.bits + w.l.list + (s->bits[count] + 7) / 8);
    if (length > room_before_kept(lists, chunk) - sizeof(uint32_t))
        w.kept = nullptr; /* written over */
    write_groups(s, w, own, c == chunk.first, out);
    if (c != chunk.first)
        return 0;
    write_chunk_head<WORD>(s, w.l, lists.raw + (size_t)c * BALE_CUDA_CELL, out);
    return length;
}

template <typename WORD, bool MATCHES>
__device__ inline uint32_t encode_cell(encode_shared *s, const cell &x, const cuda_lists &lists)
{
    stage *st = &s->benches[threadIdx.x / 32].words;
    matcher *m = (matcher *)(s->benches + blockDim.x / 32) + threadIdx.x / 32;
    layout l;
    head h;

    if (!load_plan(&s->codes, x, lists, &h, &l))
        return 0;
    if (MATCHES || plan_of(lists, x.chunk.frame)->slow)
        return encode_share(s, work_of<WORD, false, MATCHES>(x, lists, l, &s->codes, st, m), h,
                            x.chunk, lists);
    return encode_share(s, work_of<WORD, !MATCHES, MATCHES>(x, lists, l, &s->codes, st, m), h,
                        x.chunk, lists);
}

/* Shared memory of a block. */
template <bool MATCHES> constexpr size_t encode_room(uint32_t threads)
{
    return sizeof(encode_shared) - sizeof(bench) +
           threads / 32 * (sizeof(bench) + (MATCHES ? sizeof(matcher) : 0));
}

/* Writes the chunks, when measure() is done with all of them. */
template <typename WORD, bool MATCHES>
__global__ void __launch_bounds__(MATCHES ? CELL_THREADS : CELL_THREADS_MAX)
    encode(const cuda_chunk *chunks, const cuda_frame *frames, cuda_lists lists)
{
    encode_shared *s = (encode_shared *)bale_shared::memory;
    const uint32_t c = blockIdx.x;
    cell x;

    if (!load_cell(chunks, frames, lists, sizeof(WORD), MATCHES, &x))
        return;
    const uint32_t length = x.of.orders > 0 ? encode_cell<WORD, MATCHES>(s, x, lists) : 0;
    if (c == x.chunk.first && threadIdx.x == 0) {
        lists.packed_lengths[c] = length;
        lists.statuses[c] = 0;
    }
}
} // namespace bale_cusz

#endif
