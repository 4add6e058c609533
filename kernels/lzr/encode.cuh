/* lzr (spec.md) on the device: encoding raw cells to packed ones, a block for a chunk. */
#ifndef BALE_KERNELS_LZR_ENCODE_CUH
#define BALE_KERNELS_LZR_ENCODE_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/rooms.cuh"
#include "kernels/codec/shared.cuh"
#include "kernels/lzr/head.cuh"
#include "kernels/lzr/search.cuh"
#include "kernels/rans/encode.cuh"

namespace bale_lzr
{
constexpr uint32_t SEQUENCES_MAX = MATCHES_MAX + BALE_CUDA_CELL / RUN_MOST + 1;
constexpr uint32_t GROUPS_MAX = SEQUENCES_MAX / GROUP + BALE_CUDA_CELL / GROUP_LITERALS + 2;
constexpr uint32_t TWO_STREAMS = 16384; /* raw bytes from which there are two */
constexpr uint32_t SAMPLE = 4096;       /* literals by which the number of tables is chosen */
/* Words of a stream: it is given up when they are more than a chunk, at the end of a group. */
constexpr uint32_t WORDS_MAX = BALE_CUDA_CELL / 2 + 5 * GROUP + GROUP_ROOM + 64;

/* The scratch of a chunk. What was found is not needed any more when there are sequences. */
struct room {
    taken t;
    uint32_t first[SEQUENCES_MAX + 1]; /* literal of each sequence */
    uint32_t raw[SEQUENCES_MAX];
    uint16_t length[SEQUENCES_MAX], offset[SEQUENCES_MAX];
    uint8_t run[SEQUENCES_MAX];
    uint8_t runs[SEQUENCES_MAX], matches[SEQUENCES_MAX], offsets[SEQUENCES_MAX]; /* classes */
    uint8_t bits[SEQUENCES_MAX];
    uint8_t head[HEAD_MOST];
    union {
        found f;
        struct {
            uint16_t words[STREAMS][WORDS_MAX];
            uint8_t literals[BALE_CUDA_CELL];
            uint8_t table[BALE_CUDA_CELL]; /* of each literal, where there are four */
        };
    };
};

struct encode_shared {
    union {
        uint16_t tables[PARTS << TABLE_LOG2];
        struct {
            bale_rans::coded literal[LITERAL_TABLES][256], run[32], match[64], offset[64];
            bale_rans::table_room table;
        } made;
    };
    uint32_t sums[ENCODE_WARPS + 1];
    uint32_t literal_counts[LITERAL_TABLES][256], sample_counts[LITERAL_TABLES][256];
    uint32_t run_counts[RUNS], match_counts[MATCHES], offset_counts[OFFSETS];
    bool four;
    uint32_t groups, group_sequence[GROUPS_MAX + 1];
    uint32_t head, words[STREAMS];
    uint32_t room;
};

/* What is to be encoded. */
struct chunk {
    const uint8_t *raw;
    uint32_t length;
    uint32_t matches, sequences, literals;
};

/* By a block: cuts the chunk into sequences. A run of RUN_MOST literals or more begins with sequences
 * that have no match; these have the offset before theirs. The end of the chunk counts as a match of
 * length 0. */
__device__ inline void make_sequences(chunk *c, room *r, uint32_t *sums)
{
    const taken *t = &r->t;
    uint32_t sequences = 0, literals = 0;

    for (uint32_t base = 0; base <= c->matches; base += ENCODE_THREADS) {
        const uint32_t i = base + threadIdx.x;
        const bool is_end = i == c->matches;
        uint32_t run = 0, all, all_literals;
        if (i <= c->matches) {
            const uint32_t from = i > 0 ? t->at[i - 1] + t->length[i - 1] : 0;
            run = (is_end ? c->length : t->at[i]) - from;
        }
        const uint32_t before = i > 0 && i <= c->matches ? t->offset[i - 1] : 1;
        const uint32_t own =
            is_end || i < c->matches ? run / RUN_MOST + (!is_end || run % RUN_MOST != 0) : 0;
        uint32_t k = sequences + block_sum(own, sums, &all);
        uint32_t first = literals + block_sum(run, sums, &all_literals);
        for (uint32_t n = 0; n < own; n++, k++, run -= min(run, RUN_MOST)) {
            const bool has = run < RUN_MOST && !is_end;
            r->run[k] = (uint8_t)min(run, RUN_MOST);
            r->first[k] = first;
            r->length[k] = has ? t->length[i] : 0;
            r->offset[k] = (uint16_t)(has ? t->offset[i] : before);
            first += min(run, RUN_MOST);
        }
        sequences += all;
        literals += all_literals;
    }
    if (threadIdx.x == 0)
        r->first[sequences] = literals;
    c->sequences = sequences;
    c->literals = literals;
    __syncthreads();
}

/* The offset of the sequence `back` before k, counted from 1. */
__device__ inline uint32_t offset_before(const room *r, uint32_t k, uint32_t back)
{
    if (k >= back)
        return r->offset[k - back];
    return back - k == 1 ? 1 : 4 * (back - k - 1);
}

/* By a block: classes and raw bits of all sequences, and how often each class occurs. */
__device__ inline void classify(const chunk &c, room *r, encode_shared *s)
{
    for (uint32_t k = threadIdx.x; k < c.sequences; k += ENCODE_THREADS) {
        const uint32_t run = r->run[k], length = r->length[k], offset = r->offset[k];
        const uint32_t runs = class_of_run(run);
        uint32_t raw = 0, bits = 0;

        r->runs[k] = (uint8_t)runs;
        r->matches[k] = r->offsets[k] = 0;
        atomicAdd(&s->run_counts[runs], 1u);
        if (length > 0) {
            uint32_t offsets = REPEATS, matches = class_of_length(length);
            for (uint32_t back = REPEATS; back > 0; back--)
                if (offset == offset_before(r, k, back))
                    offsets = back - 1;
            if (offsets == REPEATS) {
                offsets = class_of_offset(offset);
                bits = offset_class(offsets).bits;
                raw = offset & ((1u << bits) - 1);
            }
            const uint32_t more = match_class(matches).bits;
            raw |= ((length - 3) & ((1u << more) - 1)) << bits;
            bits += more;
            r->matches[k] = (uint8_t)matches;
            r->offsets[k] = (uint8_t)offsets;
            atomicAdd(&s->offset_counts[offsets], 1u);
            atomicAdd(&s->match_counts[matches], 1u);
        } else if (runs != RUN_ONLY) {
            atomicAdd(&s->match_counts[0], 1u);
        }
        const uint32_t more = run_class(runs).bits;
        r->raw[k] = raw | (run & ((1u << more) - 1)) << bits;
        r->bits[k] = (uint8_t)(bits + more);
    }
}

/* By a block: collects and counts the literals. A sequence's lie before its match, and behind those of
 * the sequences before it: so many matched bytes before. */
__device__ inline void collect(const chunk &c, room *r, encode_shared *s)
{
    uint32_t matched = 0;

    for (uint32_t base = 0; base < c.sequences; base += ENCODE_THREADS) {
        const uint32_t k = base + threadIdx.x;
        uint32_t all;
        const uint32_t before =
            matched + block_sum(k < c.sequences ? r->length[k] : 0, s->sums, &all);
        if (k < c.sequences)
            for (uint32_t n = 0; n < r->run[k]; n++) {
                const uint32_t j = r->first[k] + n, place = before + j;
                const uint32_t byte = c.raw[place], table = place % LITERAL_TABLES;
                r->literals[j] = (uint8_t)byte;
                r->table[j] = (uint8_t)table;
                atomicAdd(&s->literal_counts[table][byte], 1u);
                if (j < SAMPLE)
                    atomicAdd(&s->sample_counts[table][byte], 1u);
            }
        matched += all;
    }
}

/* What literals cost with a table of their own, in 1/65536 bit. */
struct table_cost {
    uint64_t literals; /* their entropy */
    uint64_t table;    /* 5 bits for each value that occurs */
};

/* By a warp: of the values whose counts count(i) gives. */
template <typename COUNT> __device__ inline table_cost cost_of(COUNT count)
{
    uint64_t sum = 0;
    uint32_t total = 0, used = 0;

    for (uint32_t i = lane(); i < 256; i += 32) {
        const uint32_t n = count(i);
        total += n;
        used += n > 0;
        if (n > 0)
            sum += (uint64_t)n * bale_rans::log2_q16(n);
    }
    total = __reduce_add_sync(ALL, total);
    used = __reduce_add_sync(ALL, used);
    for (int by = 16; by > 0; by /= 2)
        sum += __shfl_xor_sync(ALL, (unsigned long long)sum, by);
    return table_cost{total > 0 ? (uint64_t)total * bale_rans::log2_q16(total) - sum : 0,
                      (uint64_t)used * (5u << 16)};
}

/* By a warp: whether four tables of literals are better than one, by a sample. */
__device__ inline bool choose_four(const chunk &c, const encode_shared *s)
{
    const uint32_t sample = min(c.literals, SAMPLE);
    table_cost four = {};

    if (c.literals <= c.length / 8)
        return false;
    const table_cost one = cost_of([=](uint32_t i) {
        return s->sample_counts[0][i] + s->sample_counts[1][i] + s->sample_counts[2][i] +
               s->sample_counts[3][i];
    });
    for (uint32_t t = 0; t < LITERAL_TABLES; t++) {
        const table_cost of_table = cost_of([=](uint32_t i) { return s->sample_counts[t][i]; });
        four.literals += of_table.literals;
        four.table += of_table.table;
    }
    return four.literals / sample * c.literals + four.table <
           one.literals / sample * c.literals + one.table;
}

/* By a warp: decides, and adds the counts up if there is one table. */
__device__ inline void choose_tables(const chunk &c, encode_shared *s)
{
    const bool four = choose_four(c, s);

    if (lane() == 0)
        s->four = four;
    for (uint32_t i = lane(); i < 256 && !four; i += 32)
        for (uint32_t t = 1; t < LITERAL_TABLES; t++)
            s->literal_counts[0][i] += s->literal_counts[t][i];
    __syncwarp();
}

/* By a thread: where groups end. All but the last have whole rounds. */
__device__ inline void cut_groups(const chunk &c, const room *r, encode_shared *s)
{
    uint32_t groups = 0, from = 0;

    for (uint32_t k = min(32u, c.sequences); from < c.sequences; k = min(k + 32, c.sequences))
        if (k == c.sequences || k - from == GROUP ||
            r->first[k] - r->first[from] >= GROUP_LITERALS) {
            s->group_sequence[groups++] = from;
            from = k;
        }
    s->group_sequence[groups] = c.sequences;
    s->groups = groups;
}

/* By a warp: the steps of a group, the last first. carried: its last literals, which are elsewhere. */
__device__ inline void encode_group(bale_rans::encoder *stream, const room *r,
                                    const encode_shared *s, uint32_t g, uint32_t carried)
{
    const uint32_t first = s->group_sequence[g], end = s->group_sequence[g + 1];
    const uint32_t literal = r->first[first], literals = r->first[end] - literal - carried;

    for (uint32_t step = (literals + 31) / 32; step-- > 0;) {
        const uint32_t j = 32 * step + lane();
        const bool part = j < literals;
        const uint32_t t = part && s->four ? r->table[literal + j] : 0;
        stream->symbol(s->made.literal[t], LITERAL_BITS, part ? r->literals[literal + j] : 0, part);
    }
    for (uint32_t round = (end - first + 31) / 32; round-- > 0;) {
        const uint32_t k = first + 32 * round + lane();
        const bool there = k < end;
        const uint32_t raw = there ? r->raw[k] : 0, bits = there ? r->bits[k] : 0;
        const uint32_t low = min(bits, bale_rans::RAW_MOST);
        const bool may = there && r->runs[k] != RUN_ONLY, has = may && r->matches[k] != 0;
        if (__any_sync(ALL, bits > low))
            stream->raw(raw >> low, bits - low);
        stream->raw(raw & ((1u << low) - 1), low);
        stream->symbol(s->made.offset, CLASS_BITS, has ? r->offsets[k] : 0, has);
        stream->symbol(s->made.match, CLASS_BITS, may ? r->matches[k] : 0, may);
        stream->symbol(s->made.run, CLASS_BITS, there ? r->runs[k] : 0, there);
    }
}

/* By a warp: the groups of a stream. Returns its words; more than there is room for in a chunk: it was
 * given up. */
__device__ inline uint32_t encode_stream(uint16_t *words, const room *r, const encode_shared *s,
                                         uint32_t index, uint32_t streams)
{
    if (s->groups <= index)
        return 0;
    uint32_t g = s->groups - 1;
    g -= (g - index) % streams;
    const uint32_t end = r->first[s->group_sequence[g + 1]];
    uint32_t carried = min(end - r->first[s->group_sequence[g]], CARRIED), carry = 0;
    for (uint32_t i = 0; i < 2; i++)
        if (32 * i + lane() < carried)
            carry |= (uint32_t)r->literals[end - carried + 32 * i + lane()] << 8 * i;
    bale_rans::encoder stream(words, carry);
    for (;; g -= streams, carried = 0) {
        encode_group(&stream, r, s, g, carried);
        if (g < streams)
            break;
        if (stream.words() > BALE_CUDA_CELL / 2)
            return stream.words();
    }
    stream.end();
    return stream.words();
}

/* The sequences of a stream. */
__device__ inline uint32_t sequences_of(const encode_shared *s, uint32_t index, uint32_t streams)
{
    uint32_t sum = 0;

    for (uint32_t g = index; g < s->groups; g += streams)
        sum += s->group_sequence[g + 1] - s->group_sequence[g];
    return sum;
}

/* By a warp: everything before the words; the words of the first of two streams are set later. */
__device__ inline uint32_t write_head(room *r, encode_shared *s, uint32_t streams)
{
    uint32_t at = 1 + 2 * streams + (streams == 2 ? 2 : 0);
    bale_rans::table_room *table = &s->made.table;

    for (uint32_t i = 0; i < streams; i++) {
        const uint32_t count = sequences_of(s, i, streams);
        if (lane() < 2)
            r->head[1 + 2 * i + lane()] = (uint8_t)(count >> 8 * lane());
    }
    if (lane() == 0)
        r->head[0] = (uint8_t)((streams == 2 ? 1 : 0) | (s->four ? 2 : 0));
    for (uint32_t t = 0; t < (s->four ? LITERAL_TABLES : 1); t++)
        at += bale_rans::write_table(256, LITERAL_BITS, s->literal_counts[t], s->made.literal[t],
                                     r->head + at, table);
    at += bale_rans::write_table(RUNS, CLASS_BITS, s->run_counts, s->made.run, r->head + at, table);
    at += bale_rans::write_table(MATCHES, CLASS_BITS, s->match_counts, s->made.match, r->head + at,
                                 table);
    at += bale_rans::write_table(OFFSETS, CLASS_BITS, s->offset_counts, s->made.offset,
                                 r->head + at, table);
    if (at % 2 != 0 && lane() == 0)
        r->head[at] = 0;
    return at + at % 2;
}

/* By a block: from matches to a stream at out. Returns its length, or 0 if that is more than limit. */
__device__ inline uint32_t emit(chunk *c, room *r, encode_shared *s, uint8_t *out, uint32_t limit)
{
    const uint32_t streams = c->length < TWO_STREAMS ? 1 : 2, warp = threadIdx.x / 32;

    for (uint32_t i = threadIdx.x; i < 256; i += ENCODE_THREADS) {
        for (uint32_t t = 0; t < LITERAL_TABLES; t++)
            s->literal_counts[t][i] = s->sample_counts[t][i] = 0;
        if (i < RUNS)
            s->run_counts[i] = 0;
        if (i < MATCHES)
            s->match_counts[i] = 0;
        if (i < OFFSETS)
            s->offset_counts[i] = 0;
    }
    make_sequences(c, r, s->sums);
    classify(*c, r, s);
    collect(*c, r, s);
    if (threadIdx.x == 0)
        cut_groups(*c, r, s);
    __syncthreads();
    if (warp == 0) {
        choose_tables(*c, s);
        const uint32_t head = write_head(r, s, streams);
        if (lane() == 0)
            s->head = head;
    }
    __syncthreads();
    if (warp < STREAMS) {
        const uint32_t words =
            warp < streams ? encode_stream(r->words[warp], r, s, warp, streams) : 0;
        if (lane() == 0)
            s->words[warp] = words;
    }
    __syncthreads();
    const uint32_t head = s->head, total = head + 2 * (s->words[0] + s->words[1]);
    if (total > limit)
        return 0;
    for (uint32_t i = threadIdx.x; i < head; i += ENCODE_THREADS)
        out[i] =
            streams == 2 && (i == 5 || i == 6) ? (uint8_t)(s->words[0] >> 8 * (i - 5)) : r->head[i];
    uint16_t *to = (uint16_t *)(out + head);
    for (uint32_t i = threadIdx.x; i < s->words[0]; i += ENCODE_THREADS)
        to[i] = r->words[0][i];
    for (uint32_t i = threadIdx.x; i < s->words[1]; i += ENCODE_THREADS)
        to[s->words[0] + i] = r->words[1][i];
    return total;
}

__global__ void __launch_bounds__(ENCODE_THREADS)
    encode(const cuda_chunk *chunks, cuda_lists lists, cuda_rooms rooms)
{
    const uint32_t i = blockIdx.x;
    encode_shared *s = (encode_shared *)bale_shared::memory;
    chunk c = {lists.raw + (size_t)i * BALE_CUDA_CELL, chunks[i].raw_length, 0, 0, 0};

    if (threadIdx.x == 0)
        s->room = bale_rooms::take(rooms);
    __syncthreads();
    room *r = (room *)(rooms.memory + s->room * rooms.each);
    c.matches = search(c.raw, c.length, s->tables, &r->f, &r->t, s->sums);
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
