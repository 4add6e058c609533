/* lzr (spec.md) on the device: the shared memory of a block that decodes, and what is before the
 * words. The bytes are hostile. */
#ifndef BALE_KERNELS_LZR_HEAD_CUH
#define BALE_KERNELS_LZR_HEAD_CUH

#include "kernels/codec/tables.h"
#include "kernels/lzr/classes.cuh"
#include "kernels/rans/rans.cuh"

namespace bale_lzr
{
using bale_rans::ALL;
using bale_rans::lane;

constexpr unsigned PLACING_WARPS = STREAMS * GROUP / 32, PLACERS = 32 * PLACING_WARPS;
constexpr unsigned DECODERS = 32 * STREAMS; /* the threads before the placers */
constexpr unsigned THREADS = DECODERS + PLACERS;
constexpr uint32_t HEAD_MOST = 2048; /* bytes before the words: tables take at most 1779 */

struct head {
    bool fine;
    uint32_t streams, tables;
    uint32_t sequences[STREAMS];
    uint32_t words[STREAMS];
    uint32_t words_at;            /* of the first stream, in bytes */
    uint32_t no_match, no_offset; /* 1: the table has no symbol */
    uint32_t no_literal;          /* bits: tables of literals that have none */
};

/* Where the bytes of a sequence come from. A literal of the place p is number (first + p) mod 2^16
 * in turn::literals. */
struct alignas(8) place {
    uint32_t match;   /* where its match begins in the window; the bytes before it are literals */
    uint32_t sources; /* offset; first << 16 */
};

/* The sequences of a turn, a group of each stream. */
struct turn {
    uint32_t count[STREAMS]; /* 0: the stream had none left */
    uint32_t left[STREAMS];  /* of the stream, behind the group */
    uint32_t bytes[STREAMS]; /* that the group stands for; counted where there are four tables */
    union {
        struct {
            uint32_t classes[PLACERS]; /* of run, match and offset, 8 bits each */
            uint32_t raw[PLACERS];     /* raw bits */
        };
        place places[PLACERS + 2]; /* of the sequences that stand for bytes, from 1 on */
    };
    uint8_t literals[STREAMS][GROUP_ROOM + 1];
};

/* What the warps that place a turn exchange. */
struct placing {
    uint32_t runs[PLACING_WARPS], bytes[PLACING_WARPS]; /* sums of each warp */
    uint32_t there[PLACING_WARPS];                      /* its sequences that stand for bytes */
    uint32_t wraps[PLACING_WARPS];                      /* 1: a match reaches into itself */
    /* Offsets of the last sequences of each warp, the last one first; and, as that of the warp
     * before the first, those before the turn. */
    uint32_t last[PLACING_WARPS + 1][REPEATS];
};

constexpr uint32_t UNIT = 4;               /* bytes that a placer does together */
constexpr uint32_t SLICE = UNIT * PLACERS; /* bytes of the window that the placers do together */

/* The sources of four bytes. */
struct alignas(8) two_sources {
    uint32_t low, high;
};

/* Where each byte of a slice comes from: its own place, if that is known. */
union slice_sources {
    two_sources unit[PLACERS];
    uint16_t of[SLICE];
};

constexpr uint32_t MARKED = 4 * SLICE; /* bytes of the window whose sequences are marked together */

/* For each byte, whether a sequence begins there; for each 32 bytes, the number of the last
 * sequence that begins before them. */
struct marks {
    uint32_t begins[MARKED / 32];
    uint16_t numbers[MARKED / 32];
};

typedef bale_rans::symbols<256, LITERAL_BITS> literal_table;

struct shared {
    slice_sources sources;
    marks marked;
    literal_table literals[LITERAL_TABLES];
    bale_rans::symbols<RUNS, CLASS_BITS> runs;
    bale_rans::symbols<MATCHES, CLASS_BITS> matches;
    bale_rans::symbols<OFFSETS, CLASS_BITS> offsets;
    head h;
    turn turns[2]; /* one that is decoded, and one that is placed */
    placing place;
    bale_rans::ring rings[STREAMS];
    bale_rans::decoder::position positions[DECODERS]; /* between turns */
    union {
        uint4 aligned;
        uint8_t window[BALE_CUDA_CELL]; /* the chunk */
        struct {                        /* before there are bytes in it */
            uint32_t bytes[HEAD_MOST / 4];
            uint32_t table_at[LITERAL_TABLES + 3];     /* where each begins */
            bale_rans::table read[LITERAL_TABLES + 3]; /* literals, runs, matches, offsets */
        } start;
    };
};

static_assert(sizeof(shared) <= 113 << 10, "two blocks have a multiprocessor's memory");

__device__ inline uint32_t symbols_of(uint32_t table)
{
    return table < LITERAL_TABLES        ? 256
           : table == LITERAL_TABLES     ? RUNS
           : table == LITERAL_TABLES + 1 ? MATCHES
                                         : OFFSETS;
}

__device__ inline uint32_t bits_of(uint32_t table)
{
    return table < LITERAL_TABLES ? LITERAL_BITS : CLASS_BITS;
}

/* By a warp: reads what is before the words, but not the tables' numbers. in: the first HEAD_MOST
 * bytes of `length`. */
__device__ inline void read_head(const uint8_t *in, uint32_t length, shared *s)
{
    bale_rans::source from = {in, min(length, HEAD_MOST), 1};
    head h = {};

    if (length >= 3 && in[0] <= 3) {
        h.streams = 1 + (in[0] & 1);
        h.tables = in[0] & 2 ? LITERAL_TABLES : 1;
        h.fine = h.streams == 1 || length >= 7;
    }
    for (uint32_t i = 0; h.fine && i < 2 * h.streams - 1; i++, from.at += 2) {
        const uint32_t number = in[from.at] | (uint32_t)in[from.at + 1] << 8;
        if (i < h.streams)
            h.sequences[i] = number;
        else
            h.words[0] = number;
    }
    h.fine = h.fine && h.sequences[0] > 0;
#pragma unroll 1
    for (uint32_t t = 0; t < LITERAL_TABLES + 3 && h.fine; t++)
        if (t < h.tables || t >= LITERAL_TABLES) {
            if (lane() == 0)
                s->start.table_at[t] = from.at;
            bale_rans::skip_table(&from, symbols_of(t), bits_of(t));
        }
    if (h.fine && from.at % 2 != 0)
        h.fine = from.at < length && in[from.at++] == 0;
    const uint32_t words = (length - from.at) / 2;
    h.fine = h.fine && (length - from.at) % 2 == 0 && h.words[0] <= words;
    if (h.fine) {
        h.words_at = from.at;
        h.words[h.streams - 1] = words - h.words[0];
        h.fine = h.streams == 1 || h.sequences[1] > 0 || h.words[1] == 0;
    }
    if (lane() == 0)
        s->h = h;
}

/* By a warp for each table: reads it, and sets what is known of each symbol. False: it is corrupt. */
__device__ inline bool read_table(uint32_t t, uint32_t length, shared *s)
{
    bale_rans::source from = {(const uint8_t *)s->start.bytes, min(length, HEAD_MOST),
                              s->start.table_at[t]};
    bale_rans::table *read = &s->start.read[t];

    if (!bale_rans::read_table(&from, symbols_of(t), bits_of(t), read))
        return false;
    __syncwarp();
    if (t < LITERAL_TABLES)
        s->literals[t].fill(read, lane(), 32, [](uint32_t) { return 0; });
    else if (t == LITERAL_TABLES)
        s->runs.fill(read, lane(), 32, [](uint32_t c) {
            const value_class run = run_class(c);
            return run.base << 4 | run.bits;
        });
    else if (t == LITERAL_TABLES + 1)
        s->matches.fill(read, lane(), 32, [](uint32_t c) { return match_class(c).bits; });
    else
        s->offsets.fill(read, lane(), 32, [](uint32_t c) { return offset_class(c).bits; });
    return t != LITERAL_TABLES || read->used > 0;
}

/* By a block: sets the slots of the tables. */
__device__ inline void fill_slots(uint32_t tables, shared *s)
{
    constexpr uint32_t OF_CLASSES = decltype(s->runs)::STRETCHES;
    constexpr uint32_t OF_LITERALS = literal_table::STRETCHES;
    const bale_rans::table *read = s->start.read;

    for (uint32_t i = threadIdx.x; i < 3 * OF_CLASSES + tables * OF_LITERALS; i += THREADS) {
        const uint32_t of_literals = i - 3 * OF_CLASSES;
        if (i < OF_CLASSES)
            s->runs.fill_stretch(&read[LITERAL_TABLES], i);
        else if (i < 2 * OF_CLASSES)
            s->matches.fill_stretch(&read[LITERAL_TABLES + 1], i - OF_CLASSES);
        else if (i < 3 * OF_CLASSES)
            s->offsets.fill_stretch(&read[LITERAL_TABLES + 2], i - 2 * OF_CLASSES);
        else
            s->literals[of_literals / OF_LITERALS].fill_stretch(&read[of_literals / OF_LITERALS],
                                                                of_literals % OF_LITERALS);
    }
}

/* By a block: reads the head, and makes the tables. False, for all threads: it is corrupt. */
__device__ inline bool begin(const uint8_t *in, uint32_t length, shared *s)
{
    const uint32_t warp = threadIdx.x / 32;
    const bale_rans::table *read = s->start.read;

    for (uint32_t i = threadIdx.x; i < HEAD_MOST / 4; i += THREADS)
        s->start.bytes[i] = 4 * i < length ? ((const uint32_t *)in)[i] : 0;
    if (threadIdx.x < REPEATS) /* the offsets before the first are 1, 4 and 8 */
        s->place.last[0][threadIdx.x] = threadIdx.x == 0 ? 1 : 4 * threadIdx.x;
    __syncthreads();
    if (warp == 0)
        read_head((const uint8_t *)s->start.bytes, length, s);
    __syncthreads();
    bool fine = s->h.fine;
    const uint32_t tables = s->h.tables;
    if (fine && warp < LITERAL_TABLES + 3 && (warp < tables || warp >= LITERAL_TABLES))
        fine = read_table(warp, length, s);
    if (!__syncthreads_and(fine))
        return false;
    fill_slots(tables, s);
    if (threadIdx.x == 0) {
        head *h = &s->h;
        h->no_match = read[LITERAL_TABLES + 1].used == 0;
        h->no_offset = read[LITERAL_TABLES + 2].used == 0;
        h->no_literal = 0;
        for (uint32_t t = 0; t < tables; t++)
            h->no_literal |= (uint32_t)(read[t].used == 0) << t;
    }
    for (uint32_t i = threadIdx.x; i < MARKED / 32; i += THREADS)
        s->marked.begins[i] = 0;
    __syncthreads();
    return true;
}
} // namespace bale_lzr

#endif
