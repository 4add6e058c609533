/* fsst on the device: the sample of a frame (spec.md, Learning), and parsing it. */
#ifndef BALE_KERNELS_FSST_SAMPLE_CUH
#define BALE_KERNELS_FSST_SAMPLE_CUH

#include "kernels/codec/tables.h"
#include "kernels/fsst/match.cuh"
#include "kernels/fsst/rows.cuh"

namespace bale_fsst
{
constexpr unsigned LEARN_THREADS = 1024;
constexpr uint32_t SAMPLE = 16384, PIECE = 64, PIECES = SAMPLE / PIECE;
/* An odd number of words, as in rows.cuh, two of which load_eight reads. */
constexpr uint32_t PIECE_WORDS = PIECE / 4 + 3;

struct sample {
    uint32_t words[PIECES * PIECE_WORDS];
    uint8_t length[PIECES];
};

/* Raw bytes of a frame, whose chunks lie in cells. */
struct frame_bytes {
    const uint8_t *raw; /* the first chunk's cell */
    uint32_t chunk;     /* raw bytes of each chunk but the last */
    uint32_t length;

    __device__ uint32_t byte(uint32_t at) const
    {
        return raw[(size_t)(at / chunk) * BALE_CUDA_CELL + at % chunk];
    }
};

__device__ inline uint32_t sample_length(uint32_t raw_length)
{
    return min(raw_length, SAMPLE);
}

/* Where piece i begins. */
__device__ inline uint32_t piece_at(uint32_t raw_length, uint32_t i)
{
    return raw_length > SAMPLE ? (uint32_t)((uint64_t)i * (raw_length - PIECE) / (PIECES - 1))
                               : i * PIECE;
}

/* By a block: loads the pieces; those that the frame does not have get the length 0. */
__device__ inline void load_sample(sample *s, const frame_bytes &frame)
{
    for (uint32_t k = threadIdx.x; k < PIECES * (PIECE / 4); k += LEARN_THREADS) {
        const uint32_t piece = k / (PIECE / 4), at = piece_at(frame.length, piece);
        uint32_t word = 0;
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t from = at + 4 * (k % (PIECE / 4)) + i;
            if (from < frame.length)
                word |= frame.byte(from) << 8 * i;
        }
        s->words[piece * PIECE_WORDS + k % (PIECE / 4)] = word;
    }
    for (uint32_t piece = threadIdx.x; piece < PIECES; piece += LEARN_THREADS) {
        const uint32_t at = piece_at(frame.length, piece);
        s->length[piece] = (uint8_t)(at >= frame.length ? 0 : min(frame.length - at, PIECE));
    }
}

/* The items of the pieces: step k of piece i is items[k * PIECES + i]. */
struct parsed {
    uint16_t items[PIECE * PIECES];
};

/* By a thread: parses piece i. Returns its steps; *cost: the bytes that its codes take. */
__device__ inline uint32_t parse_piece(const sample *s, const matcher *m, uint32_t i, parsed *out,
                                       uint32_t *cost)
{
    const uint32_t *row = s->words + i * PIECE_WORDS, length = s->length[i];
    uint32_t steps = 0;

    for (uint32_t at = 0; at < length;) {
        const match found = match_at(m, load_eight(row, at), length - at);
        out->items[steps++ * PIECES + i] = (uint16_t)found.item;
        *cost += found.item < LITERAL ? 1 : 2;
        at += found.length;
    }
    return steps;
}
} // namespace bale_fsst

#endif
