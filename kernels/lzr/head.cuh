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
    uint32_t words_at;                                        /* of the first stream, in bytes */
    uint32_t no_match, no_offset, no_literal[LITERAL_TABLES]; /* 1: the table has no symbol */
};

/* The sequences of a group. */
struct group {
    uint32_t count;          /* 0: its stream had none left */
    uint32_t left;           /* of the stream, behind it */
    uint32_t bytes;          /* that it stands for; counted where there are four tables */
    uint32_t classes[GROUP]; /* of run, match and offset, 8 bits each */
    uint32_t raw[GROUP];     /* raw bits */
    uint8_t literals[GROUP_ROOM + 1];
};

/* What the warps that place a group exchange. */
struct placing {
    uint32_t runs[PLACING_WARPS], bytes[PLACING_WARPS]; /* sums of each warp */
    /* Offsets of the last sequences of each warp, the last one first; and, as that of the warp
     * before the first, those before the group. */
    uint32_t last[PLACING_WARPS + 1][REPEATS];
    uint32_t begin[PLACERS], end[PLACERS]; /* of each match */
    uint32_t pending[2][PLACING_WARPS];    /* bits: matches that are not copied yet, in turns */
};

struct shared {
    bale_rans::symbols<256, LITERAL_BITS> literals[LITERAL_TABLES];
    bale_rans::symbols<RUNS, CLASS_BITS> runs;
    bale_rans::symbols<MATCHES, CLASS_BITS> matches;
    bale_rans::symbols<OFFSETS, CLASS_BITS> offsets;
    head h;
    group groups[2][STREAMS]; /* of a turn that is decoded, and of one that is placed */
    placing place;
    union {
        uint4 aligned;
        uint8_t window[BALE_CUDA_CELL]; /* the chunk */
        struct {                        /* before there are bytes in it */
            uint32_t bytes[HEAD_MOST / 4];
            bale_rans::table read[LITERAL_TABLES + 3]; /* literals, runs, matches, offsets */
        } start;
    };
};

/* By a warp: reads what is before the words. in: the first HEAD_MOST bytes of `length`. */
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
    for (uint32_t t = 0; t < LITERAL_TABLES + 3 && h.fine; t++) {
        const bool is_literal = t < LITERAL_TABLES;
        const uint32_t symbols = is_literal                ? 256
                                 : t == LITERAL_TABLES     ? RUNS
                                 : t == LITERAL_TABLES + 1 ? MATCHES
                                                           : OFFSETS;
        if (t < h.tables || !is_literal)
            h.fine = bale_rans::read_table(&from, symbols, is_literal ? LITERAL_BITS : CLASS_BITS,
                                           &s->start.read[t]);
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
    __syncwarp();
    if (lane() == 0) {
        h.no_match = s->start.read[LITERAL_TABLES + 1].used == 0;
        h.no_offset = s->start.read[LITERAL_TABLES + 2].used == 0;
        for (uint32_t t = 0; t < LITERAL_TABLES; t++)
            h.no_literal[t] = t < h.tables && s->start.read[t].used == 0;
        s->h = h;
    }
}

/* By a block: reads the head, and makes the tables. False, for all threads: it is corrupt. */
__device__ inline bool begin(const uint8_t *in, uint32_t length, shared *s)
{
    const bale_rans::table *read = s->start.read;

    for (uint32_t i = threadIdx.x; i < HEAD_MOST / 4; i += THREADS)
        s->start.bytes[i] = 4 * i < length ? ((const uint32_t *)in)[i] : 0;
    if (threadIdx.x < REPEATS) /* the offsets before the first are 1, 4 and 8 */
        s->place.last[0][threadIdx.x] = threadIdx.x == 0 ? 1 : 4 * threadIdx.x;
    __syncthreads();
    if (threadIdx.x < 32)
        read_head((const uint8_t *)s->start.bytes, length, s);
    __syncthreads();
    if (!s->h.fine || read[LITERAL_TABLES].used == 0)
        return false;
    for (uint32_t t = 0; t < s->h.tables; t++)
        s->literals[t].fill(&read[t], [](uint32_t) { return 0; });
    s->runs.fill(
        &read[LITERAL_TABLES],
        [](uint32_t c) {
            const value_class run = run_class(c);
            return run.base << 4 | run.bits;
        });
    s->matches.fill(
        &read[LITERAL_TABLES + 1], [](uint32_t c) { return match_class(c).bits; });
    s->offsets.fill(&read[LITERAL_TABLES + 2], [](uint32_t c) { return offset_class(c).bits; });
    __syncthreads();
    return true;
}
} // namespace bale_lzr

#endif
