/* cusz on the device: decoding packed cells to raw ones. The bytes are hostile, those of the part
 * too. A block for a chunk. A thread decodes a segment; its warp writes the words of all of them in
 * whole lines. Then the words become elements where they are. */
#ifndef BALE_KERNELS_CUSZ_DECODE_CUH
#define BALE_KERNELS_CUSZ_DECODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/shared.cuh"
#include "kernels/cusz/layout.cuh"
#include "kernels/cusz/match.cuh"
#include "kernels/cusz/sums.cuh"

namespace bale_cusz
{
constexpr uint32_t BESIDE = 16; /* segments that a warp decodes at once, at least, if there are */
constexpr uint32_t ROW = 128;   /* bytes of a segment's words that are written at once */

/* One row for each lane, and a word more, so that lanes use different banks. */
struct tile {
    uint64_t words[32 * (ROW / 8 + 1)];
};

struct decode_shared {
    head h;
    book b;
    /* By the next CUSZ_LOOK bits: length | SINGLE | token << 5 | word << 16; 0 for longer codes.
     * SINGLE: the token stands for one small word, which is there. */
    uint32_t look[1 << CUSZ_LOOK];
    uint32_t ends[SEGMENTS + 1]; /* where segments begin and end, in bits */
    tile tiles[1];               /* one for each warp; then what threads have added up */
};
constexpr uint32_t SINGLE = 16;

constexpr size_t decode_room(uint32_t threads)
{
    return sizeof(decode_shared) + (threads / 32 - 1) * sizeof(tile);
}
static_assert(sizeof(tile) >= 32 * sizeof(uint64_t), "a warp's threads have a word each");

/* What the table has of a token, besides the length of its code. */
__device__ inline uint32_t entry_of(uint32_t token)
{
    const uint32_t literal = token < CUSZ_RUNS ? 0 : token - CUSZ_RUNS + 1;

    if ((token > 0 && token < CUSZ_RUNS) || token >= CUSZ_CLASSES)
        return token << 5;
    return (unfolded(literal) & 0xffff) << 16 | token << 5 | SINGLE;
}

/* The token whose code begins these 15 bits, and from this length on; *length: of its code, 0 if
 * there is none. */
__device__ inline uint32_t find_code(const book *b, uint32_t bits, uint32_t from, uint32_t to,
                                     uint32_t *length)
{
    for (uint32_t n = from; n <= to; n++) {
        const uint32_t code = bits >> (CUSZ_LENGTH_MAX - n);
        if (code < b->first[n] || code >= b->end[n])
            continue;
        *length = n;
        return b->sorted[b->at[n] + code - b->first[n]];
    }
    *length = 0;
    return 0;
}

/* By a block. */
__device__ inline void make_look(decode_shared *s)
{
    for (uint32_t i = threadIdx.x; i < 1u << CUSZ_LOOK; i += blockDim.x) {
        uint32_t length;
        const uint32_t token =
            find_code(&s->b, i << (CUSZ_LENGTH_MAX - CUSZ_LOOK), 1, CUSZ_LOOK, &length);
        s->look[i] = length ? length | entry_of(token) : 0;
    }
}

/* Bits of a stream from its beginning, a word address, on; behind its last word they may be any. */
class bit_reader
{
  public:
    __device__ bit_reader(const uint32_t *words, uint32_t last, uint32_t at)
        : words_(words), last_(last), next_(at / 32)
    {
        bits_ = 0;
        have_ = 0;
        fill();
        bits_ <<= at % 32;
        have_ -= at % 32;
        fill();
    }

    /* Until there are 32 or more. */
    __device__ void fill()
    {
        if (have_ >= 32)
            return;
        bits_ |= (uint64_t)swapped(__ldg(words_ + min(next_, last_))) << (32 - have_);
        next_++;
        have_ += 32;
    }

    __device__ uint32_t peek(uint32_t count) const
    {
        return (uint32_t)(bits_ >> (64 - count));
    }

    __device__ void skip(uint32_t count)
    {
        bits_ <<= count;
        have_ -= count;
    }

    /* 0 to 32, then there are 32 or more again. */
    __device__ uint32_t take(uint32_t count)
    {
        const uint32_t bits = count ? peek(count) : 0;

        skip(count);
        fill();
        return bits;
    }

  private:
    const uint32_t *words_;
    uint32_t last_, next_;
    uint64_t bits_;
    uint32_t have_;
};

/* The words of a segment as a thread makes them: the last ones in its row of the tile, which is at
 * most full, and those before the row in their places. */
template <typename WORD> struct made_words {
    const WORD *tile;
    row<WORD> words;
    uint32_t first; /* of the segment, among the words */
    uint32_t at;    /* of the row's first word, in the segment */

    __device__ WORD load(uint32_t i) const
    {
        return i >= at ? tile[i - at] : words.load(first + i);
    }
};

/* A segment that a thread decodes, a row of the tile at a time. */
template <typename WORD, bool MATCHES> class segment_reader
{
  public:
    __device__ segment_reader(const decode_shared *s, bit_reader bits, uint32_t begin, uint32_t end)
        : s_(s), bits_(bits), left_((int32_t)(end - begin))
    {
    }

    /* The next count words, into a row that is all zeros. */
    __device__ void fill(WORD *row, uint32_t count, const made_words<WORD> &before)
    {
        for (uint32_t k = 0; k < count;) {
            if (same_ > 0) {
                const uint32_t some = min(same_, count - k);
                same_ -= some;
                if (MATCHES)
                    repeat(row + k, some, before, before.at + k);
                k += some;
                continue;
            }
            uint32_t entry = s_->look[bits_.peek(CUSZ_LOOK)];
            if (!(entry & SINGLE)) {
                k += longer(entry, row + k, before.at + k);
                continue;
            }
            row[k++] = single(entry);
            /* As many bits are left as a second one may have. */
            entry = s_->look[bits_.peek(CUSZ_LOOK)];
            if (entry & SINGLE && k < count)
                row[k++] = single(entry);
            bits_.fill();
        }
    }

    /* Whether all bits of the segment were used, and no more. */
    __device__ bool is_whole() const
    {
        return left_ == 0 && same_ == 0;
    }

  private:
    __device__ void skip(uint32_t length)
    {
        left_ -= (int32_t)length;
        bits_.skip(length);
    }

    __device__ WORD single(uint32_t entry)
    {
        skip(entry & 15);
        return (WORD)(typename type_of<WORD>::number)(int16_t)(entry >> 16);
    }

    /* A token that is not in the table, or stands for more than one small word: returns 1 after it
     * wrote a word, or 0 after it began a run or a match. i: the word's place in the segment. */
    __device__ uint32_t longer(uint32_t entry, WORD *to, uint32_t i)
    {
        uint32_t length = entry & 15, token = entry >> 5 & 0x1ff;

        if (length == 0)
            token = find_code(&s_->b, bits_.peek(CUSZ_LENGTH_MAX), CUSZ_LOOK + 1, CUSZ_LENGTH_MAX,
                              &length);
        skip(length);
        bits_.fill();
        if (token >= CUSZ_RUNS || (MATCHES && token == 0)) {
            *to = token ? word_of(token) : 0;
            return 1;
        }
        if (MATCHES)
            begin_match(token, i);
        else
            same_ = 1u << token;
        return 0;
    }

    /* If there are not so many words before it, no bits are left. */
    __device__ void begin_match(uint32_t token, uint32_t i)
    {
        const uint32_t low = match_low(token), far = match_distance_bits(token);

        same_ = low > 0 ? (1u << low) + CUSZ_MATCH_LESS + bits_.take(low) : CUSZ_MATCH_MOST;
        distance_ = 1 + bits_.take(far);
        left_ -= (int32_t)(low + far);
        if (distance_ <= i)
            return;
        left_ = INT32_MIN / 2;
        distance_ = 0;
    }

    /* The words of a match, from word i of the segment on; distance 0: none. */
    __device__ void repeat(WORD *to, uint32_t count, const made_words<WORD> &before, uint32_t i)
    {
        for (uint32_t k = 0; k < count && distance_ > 0; k++)
            to[k] = before.load(i + k - distance_);
    }

    __device__ WORD word_of(uint32_t token)
    {
        if (token < CUSZ_CLASSES)
            return unfolded((WORD)(token - CUSZ_RUNS + 1));
        const uint32_t number = token - CUSZ_CLASSES, low = number / 4 + CUSZ_CLASS_LOG2 - 2;
        const uint32_t upper = low > 32 ? low - 32 : 0;
        uint64_t value = 4 + number % 4;
        value = value << upper | bits_.take(upper);
        value = value << (low - upper) | bits_.take(low - upper);
        left_ -= (int32_t)low;
        return unfolded((WORD)value);
    }

    const decode_shared *s_;
    bit_reader bits_;
    int32_t left_;          /* bits */
    uint32_t same_ = 0;     /* words of a run or match that are left */
    uint32_t distance_ = 0; /* of a match */
};

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

/* By a warp: decodes every warps-th segment from the first on, a lane each. False, in the lane: a
 * segment breaks a rule. */
template <typename WORD, bool MATCHES>
__device__ inline bool decode_rows(decode_shared *s, const layout &l, const uint8_t *in,
                                   uint32_t length, uint32_t first, uint32_t warps,
                                   const row<WORD> &words)
{
    constexpr uint32_t WIDTH = ROW / sizeof(WORD), PITCH = WIDTH + 1;
    const uint32_t lane = bale_warp::lane(), segment = first + lane * warps;
    const bool works = segment < l.segments;
    const uint32_t begin = works ? s->ends[segment] : 0, end = works ? s->ends[segment + 1] : 0;
    const uint32_t count = works ? l.elements_of(segment) : 0;
    const uint32_t rows = (l.segments - first - 1) / warps + 1, most = l.elements_of(first);
    WORD *tile = (WORD *)s->tiles[threadIdx.x / 32].words;
    segment_reader<WORD, MATCHES> reader(
        s, bit_reader((const uint32_t *)in, (length - 1) / 4, 8 * l.bits + begin), begin, end);

    for (uint32_t at = 0; at < most; at += WIDTH) {
        const made_words<WORD> before = {tile + lane * PITCH, words, segment << l.segment_log2, at};
        for (uint32_t i = lane; i < min(rows, 32u) * PITCH; i += 32)
            tile[i] = 0;
        __syncwarp();
        if (at < count)
            reader.fill(tile + lane * PITCH, min(WIDTH, count - at), before);
        __syncwarp();
        for (uint32_t i = lane; i < min(rows, 32u) * WIDTH; i += 32) {
            const uint32_t other = first + i / WIDTH * warps, k = at + i % WIDTH;
            if (k < l.elements_of(other))
                words.store((other << l.segment_log2) + k, tile[i / WIDTH * PITCH + i % WIDTH]);
        }
        __syncwarp();
    }
    return !works || reader.is_whole();
}

/* By a block. If there are few segments, fewer warps have them: lanes that idle beside one that
 * decodes cost as much as if they did, too. */
template <typename WORD>
__device__ inline bool decode_segments(decode_shared *s, const layout &l, const uint8_t *in,
                                       uint32_t length, const row<WORD> &words)
{
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t warps = min(blockDim.x / 32, (l.segments + BESIDE - 1) / BESIDE);
    bool fine = true;

    for (uint32_t first = warp; warp < warps && first < l.segments; first += 32 * warps)
        fine = (s->h.matches ? decode_rows<WORD, true>(s, l, in, length, first, warps, words)
                             : decode_rows<WORD, false>(s, l, in, length, first, warps, words)) &&
               fine;
    return __syncthreads_and(fine);
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

    if (!decode_segments(s, l, in, length, words))
        return false;
    for (uint32_t i = h.order; i-- > 1;)
        sum_stride(words, l.elements, h.strides[i], (WORD *)s->tiles);
    restore(words, l.elements, h.order > 0, h.r, (WORD *)s->tiles);
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
