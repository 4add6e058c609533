/* lzr (spec.md) on the device: encoding raw cells to packed ones, a block for a chunk. */
#ifndef BALE_KERNELS_LZR_ENCODE_CUH
#define BALE_KERNELS_LZR_ENCODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/rooms.cuh"
#include "kernels/codec/shared.cuh"
#include "kernels/lzr/codes.cuh"
#include "kernels/lzr/parse.cuh"
#include "kernels/lzr/search.cuh"
#include "kernels/lzr/ways.cuh"

namespace bale_lzr
{
constexpr uint32_t TWO_STREAMS = 16384; /* raw bytes from which there are two */

/* By a warp: what literals cost with a table of their own, in 1/65536 bit: their entropy, and 5
 * bits for each value that occurs. count(i): how often i does. */
template <typename COUNT> __device__ inline uint64_t cost_of_literals(COUNT count)
{
    uint64_t sum = 0;
    uint32_t total = 0;

    for (uint32_t i = lane(); i < 256; i += 32)
        total += count(i);
    total = __reduce_add_sync(ALL, total);
    const uint32_t log_total = total > 0 ? bale_rans::log2_q16(total) : 0;
    for (uint32_t i = lane(); i < 256; i += 32) {
        const uint32_t n = count(i);
        if (n > 0)
            sum += (uint64_t)n * (log_total - bale_rans::log2_q16(n)) + (5u << 16);
    }
    for (int by = 16; by > 0; by /= 2)
        sum += __shfl_xor_sync(ALL, (unsigned long long)sum, by);
    return sum;
}

/* By a block: whether four tables of literals are better than one. If not, the first counts become
 * those of all. */
__device__ inline bool choose_four(const chunk &c, encode_shared *s)
{
    const uint32_t warp = threadIdx.x / 32;
    const auto all = [s](uint32_t i) {
        return s->literal_counts[0][i] + s->literal_counts[1][i] + s->literal_counts[2][i] +
               s->literal_counts[3][i];
    };
    uint64_t cost = 0;

    if (warp < LITERAL_TABLES)
        cost = cost_of_literals([s, warp](uint32_t i) { return s->literal_counts[warp][i]; });
    else if (warp == LITERAL_TABLES)
        cost = cost_of_literals(all);
    if (warp <= LITERAL_TABLES && lane() == 0)
        s->cost[warp] = cost;
    __syncthreads();
    const bool four = c.literals > c.length / 8 &&
                      s->cost[0] + s->cost[1] + s->cost[2] + s->cost[3] < s->cost[LITERAL_TABLES];
    const uint32_t sum = threadIdx.x < 256 && !four ? all(threadIdx.x) : 0;
    __syncthreads();
    if (threadIdx.x < 256 && !four)
        s->literal_counts[0][threadIdx.x] = sum;
    __syncthreads();
    return four;
}

/* By a block: writes the tables, a warp each, and then all before the words; the words of the first
 * of two streams are set later. Meanwhile a thread cuts groups. Returns the bytes. */
__device__ inline uint32_t write_head(const chunk &c, encode_shared *s, uint32_t streams, bool four)
{
    const uint32_t warp = threadIdx.x / 32, literals = four ? LITERAL_TABLES : 1;
    const bool is_literal = warp < LITERAL_TABLES;
    const uint32_t *counts = is_literal                   ? s->literal_counts[warp]
                             : warp == LITERAL_TABLES     ? s->run_counts
                             : warp == LITERAL_TABLES + 1 ? s->match_counts
                                                          : s->offset_counts;
    bale_rans::coded *made = is_literal                   ? s->made.literal[warp]
                             : warp == LITERAL_TABLES     ? s->made.run
                             : warp == LITERAL_TABLES + 1 ? s->made.match
                                                          : s->made.offset;
    const uint32_t symbols = is_literal                   ? 256
                             : warp == LITERAL_TABLES     ? RUNS
                             : warp == LITERAL_TABLES + 1 ? MATCHES
                                                          : OFFSETS;
    uint32_t bytes = 0, at = streams == 2 ? 7 : 3;

    if (warp < TABLES_OF_ALL && (!is_literal || warp < literals))
        bytes = bale_rans::write_table(symbols, is_literal ? LITERAL_BITS : CLASS_BITS, counts,
                                       made, s->written[warp], &s->table[warp]);
    if (warp < TABLES_OF_ALL && lane() == 0)
        s->written_length[warp] = bytes;
    if (threadIdx.x == ENCODE_THREADS - 1)
        cut_groups(c, s, streams);
    __syncthreads();
    for (uint32_t t = 0; t < TABLES_OF_ALL; t++) {
        if (t == warp)
            for (uint32_t i = lane(); i < s->written_length[t]; i += 32)
                s->head[at + i] = s->written[t][i];
        at += s->written_length[t];
    }
    if (threadIdx.x == 0) {
        s->head[0] = (uint8_t)((streams == 2 ? 1 : 0) | (four ? 2 : 0));
        for (uint32_t i = 0; i < streams; i++) {
            s->head[1 + 2 * i] = (uint8_t)s->stream_sequences[i];
            s->head[2 + 2 * i] = (uint8_t)(s->stream_sequences[i] >> 8);
        }
        s->head[at] = 0;
    }
    __syncthreads();
    return at + at % 2;
}

/* By a warp: a stream that is being encoded. What a step needs is loaded some steps before. */
class stream_encoder
{
  public:
    /* most: words, from which on it is given up. */
    __device__ stream_encoder(const room *r, const encode_shared *s, uint32_t sequences, bool four,
                              uint16_t *words, uint32_t most, uint32_t carry)
        : r_(r), s_(s), sequences_(sequences), four_(four), most_(most), stream_(words, carry)
    {
    }

    /* Loads what the steps of a group need first. carried: of its literals. */
    __device__ void begin(uint32_t g, uint32_t carried)
    {
        const uint32_t first = s_->group_round[g], end = s_->group_round[g + 1];

        literal_ = s_->round_literal[first];
        count_ = s_->round_literal[end] - literal_ - carried;
        load((count_ + 31) / 32, next_); /* if there is none, it loads none */
    }

    /* The steps of a group that was begun, the last first; begins the group `then`, if there is
     * one. False: given up. */
    __device__ bool group(uint32_t g, bool has_then, uint32_t then)
    {
        const uint32_t first = s_->group_round[g], end = s_->group_round[g + 1];
        uint32_t codes[ROUNDS] = {}, raw[ROUNDS] = {}; /* of lanes without a sequence: 0 */

#pragma unroll
        for (uint32_t i = 0; i < ROUNDS; i++)
            load_round(first, end - 1 - i, &codes[i], &raw[i]);
        if (!literals())
            return false;
        if (has_then)
            begin(then, 0);
        for (uint32_t end_round = end; end_round > first;)
#pragma unroll
            for (uint32_t i = 0; i < ROUNDS && end_round > first; i++) {
                const uint32_t round = --end_round, now = codes[i], bits = raw[i];
                load_round(first, round - ROUNDS, &codes[i], &raw[i]);
                one_round(32 * round + lane() < sequences_, now, bits);
                if (stream_.words() > most_)
                    return false;
            }
        return true;
    }

    /* Its words, after its states. */
    __device__ uint32_t end()
    {
        stream_.end();
        return stream_.words();
    }

  private:
    static constexpr uint32_t STEPS = 4;  /* of literals that are loaded together */
    static constexpr uint32_t ROUNDS = 3; /* that are loaded before they are needed */

    /* The literals of lane() in the last STEPS of so many steps of the group; with tables << 8. */
    __device__ void load(uint32_t steps, uint32_t *to) const
    {
        const uint32_t step = steps > 0 ? (steps - 1) / STEPS * STEPS : 0;

#pragma unroll
        for (uint32_t i = 0; i < STEPS; i++) {
            const uint32_t j = 32 * (step + i) + lane();
            to[i] = 0;
            if (j < count_ && steps > 0) {
                to[i] = r_->literals[literal_ + j];
                if (four_)
                    to[i] |= (uint32_t)r_->table[literal_ + j] << 8;
            }
        }
    }

    /* The codes and raw bits of a round from `first` on; rounds before it wrap around. */
    __device__ void load_round(uint32_t first, uint32_t round, uint32_t *codes, uint32_t *raw) const
    {
        const uint32_t k = 32 * round + lane();

        if ((int)round >= (int)first && k < sequences_) {
            *codes = r_->codes[k];
            *raw = r_->sequence[k];
        }
    }

    __device__ bool literals()
    {
        uint32_t step = ((count_ + 31) / 32 + STEPS - 1) / STEPS * STEPS, now[STEPS];
        bale_rans::coded symbols[STEPS];

        while (step > 0) {
            step -= STEPS;
#pragma unroll
            for (uint32_t i = 0; i < STEPS; i++)
                now[i] = next_[i];
            load(step, next_);
#pragma unroll
            for (uint32_t i = 0; i < STEPS; i++)
                symbols[i] = s_->made.literal[now[i] >> 8][now[i] & 255];
#pragma unroll
            for (uint32_t i = STEPS; i-- > 0;)
                stream_.symbol(symbols[i], LITERAL_BITS, 32 * (step + i) + lane() < count_);
            if (stream_.words() > most_)
                return false;
        }
        return true;
    }

    __device__ void one_round(bool there, uint32_t codes, uint32_t raw)
    {
        const uint32_t runs = codes & 255, matches = codes >> 8 & 255, bits = codes >> 24;
        const uint32_t low = min(bits, bale_rans::RAW_MOST);
        const bool may = there && runs != RUN_ONLY, has = may && matches != 0;
        const bale_rans::coded run = s_->made.run[runs], match = s_->made.match[matches];
        const bale_rans::coded offset = s_->made.offset[codes >> 16 & 255];

        if (__any_sync(ALL, bits > low))
            stream_.raw(raw >> low, bits - low);
        stream_.raw(raw & ((1u << low) - 1), low);
        stream_.symbol(offset, CLASS_BITS, has);
        stream_.symbol(match, CLASS_BITS, may);
        stream_.symbol(run, CLASS_BITS, there);
    }

    const room *r_;
    const encode_shared *s_;
    uint32_t sequences_;
    bool four_;
    uint32_t most_;
    uint32_t literal_, count_,
        next_[STEPS]; /* of the group: its first literal, how many; the next */
    bale_rans::encoder stream_;
};

/* By a warp: the groups of a stream. Returns its words; more than `most`: it was given up. */
__device__ inline uint32_t encode_stream(const chunk &c, const room *r, const encode_shared *s,
                                         uint32_t index, uint32_t streams, bool four,
                                         uint16_t *words, uint32_t most)
{
    if (s->groups <= index)
        return 0;
    uint32_t g = s->groups - 1;
    g -= (g - index) % streams;
    const uint32_t end = s->round_literal[s->group_round[g + 1]];
    const uint32_t carried = min(end - s->round_literal[s->group_round[g]], CARRIED);
    uint32_t carry = 0;
    for (uint32_t i = 0; i < 2; i++)
        if (32 * i + lane() < carried)
            carry |= (uint32_t)r->literals[end - carried + 32 * i + lane()] << 8 * i;
    stream_encoder stream(r, s, c.sequences, four, words, most, carry);
    stream.begin(g, carried);
    for (;; g -= streams) {
        if (!stream.group(g, g >= streams, g - streams))
            return most + 1;
        if (g < streams)
            return stream.end();
    }
}

/* By a block: from sequences to a stream at out, a cell. Returns its length, or 0 if that is more
 * than limit. */
__device__ inline uint32_t emit(chunk *c, room *r, encode_shared *s, uint8_t *out, uint32_t limit)
{
    const uint32_t streams = c->length < TWO_STREAMS ? 1 : 2, warp = threadIdx.x / 32;

    make_codes(c, r, s);
    const bool four = choose_four(*c, s);
    const uint32_t head = write_head(*c, s, streams, four);
    uint16_t *const words = (uint16_t *)(out + head);
    limit = min(limit, BALE_CUDA_CELL - 2 * WORDS_OVER);
    if (head > limit)
        return 0;
    if (warp < STREAMS) {
        const uint32_t most = (limit - head) / 2;
        const uint32_t made = warp < streams ? encode_stream(*c, r, s, warp, streams, four,
                                                             warp == 0 ? words : r->words, most)
                                             : 0;
        if (lane() == 0)
            s->stream_words[warp] = made;
    }
    __syncthreads();
    const uint32_t first = s->stream_words[0], second = s->stream_words[1];
    const uint32_t total = head + 2 * (first + second);
    if (total > limit)
        return 0;
    for (uint32_t i = threadIdx.x; i < head; i += ENCODE_THREADS)
        out[i] = streams == 2 && (i == 5 || i == 6) ? (uint8_t)(first >> 8 * (i - 5)) : s->head[i];
    for (uint32_t i = threadIdx.x; i < second; i += ENCODE_THREADS)
        words[first + i] = r->words[i];
    return total;
}

/* By a block: loads the chunk. */
__device__ inline void load_chunk(const uint8_t *raw, uint32_t length, encode_shared *s)
{
    uint4 *to = (uint4 *)(s->words + BEFORE_BYTES / 4);
    const uint4 *from = (const uint4 *)raw;

    for (uint32_t i = threadIdx.x; i < (length + sizeof *to - 1) / sizeof *to; i += ENCODE_THREADS)
        to[i] = from[i];
    __syncthreads();
}

/* The searches: from bytes to sequences, of which they return the number, in shared memory of their
 * own. */
struct fast {
    using shared = encode_shared;

    static __host__ __device__ bool takes(uint32_t level)
    {
        return level < 2;
    }

    static __device__ encode_shared *common(shared *s)
    {
        return s;
    }

    static __device__ uint32_t sequences(shared *s, uint32_t length, room *r)
    {
        search(s, length, &r->f);
        return make_sequences(s, length, &r->f, r->sequence);
    }
};

struct full {
    using shared = full_shared;

    static __host__ __device__ bool takes(uint32_t level)
    {
        return level >= 2;
    }

    static __device__ encode_shared *common(shared *s)
    {
        return &s->s;
    }

    static __device__ uint32_t sequences(shared *s, uint32_t length, room *r)
    {
        search_full(s, length, r->full);
        return make_full_sequences(s, length, r->full, r->sequence);
    }
};

/* Encodes the chunks whose level is the search's. */
template <typename SEARCH>
__global__ void __launch_bounds__(ENCODE_THREADS, 2)
    encode(const cuda_chunk *chunks, cuda_lists lists, cuda_rooms rooms)
{
    const uint32_t i = blockIdx.x;
    typename SEARCH::shared *own = (typename SEARCH::shared *)bale_shared::memory;
    encode_shared *s = SEARCH::common(own);
    chunk c = {chunks[i].raw_length, 0, 0};

    if (!SEARCH::takes(chunks[i].parameter))
        return;
    if (threadIdx.x == 0)
        s->room = bale_rooms::take(rooms);
    load_chunk(lists.raw + (size_t)i * BALE_CUDA_CELL, c.length, s);
    room *r = (room *)(rooms.memory + s->room * rooms.each);
    c.sequences = SEARCH::sequences(own, c.length, r);
    const uint32_t total = emit(&c, r, s, lists.packed + i * lists.packed_cell, chunks[i].limit);
    __syncthreads();
    if (threadIdx.x == 0) {
        bale_rooms::give_back(rooms, s->room);
        lists.packed_lengths[i] = total;
        lists.statuses[i] = 0;
    }
}
} // namespace bale_lzr

#endif
