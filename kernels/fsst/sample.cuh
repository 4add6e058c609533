/* fsst on the device: the sample of a frame (spec.md, Learning), and parsing it. */
#ifndef BALE_KERNELS_FSST_SAMPLE_CUH
#define BALE_KERNELS_FSST_SAMPLE_CUH

#include "kernels/codec/tables.h"
#include "kernels/fsst/match.cuh"

namespace bale_fsst
{
constexpr unsigned LEARN_THREADS = 1024;
constexpr uint32_t SAMPLE = 16384, PIECE = 64, PIECES = SAMPLE / PIECE;
/* Two more than the bytes need, which load_eight reads; and an odd number, so that threads that are
 * at the same byte of their pieces read different banks. */
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

    /* Four bytes; those behind the end are zero. */
    __device__ uint32_t word(uint32_t at) const
    {
        uint32_t in_chunk = at % chunk, bytes = 0;
        const uint8_t *cell = raw + (size_t)(at / chunk) * BALE_CUDA_CELL;

        for (uint32_t i = 0; i < 4 && at + i < length; i++) {
            bytes |= (uint32_t)cell[in_chunk] << 8 * i;
            if (++in_chunk == chunk) {
                in_chunk = 0;
                cell += BALE_CUDA_CELL;
            }
        }
        return bytes;
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
        const uint32_t piece = k / (PIECE / 4), word = k % (PIECE / 4);
        s->words[piece * PIECE_WORDS + word] = frame.word(piece_at(frame.length, piece) + 4 * word);
    }
    for (uint32_t piece = threadIdx.x; piece < PIECES; piece += LEARN_THREADS) {
        const uint32_t at = piece_at(frame.length, piece);
        s->length[piece] = (uint8_t)(at >= frame.length ? 0 : min(frame.length - at, PIECE));
    }
}

/* Eight bytes of a piece. */
__device__ inline uint64_t load_eight(const uint32_t *row, uint32_t at)
{
    const uint32_t *w = row + at / 4;
    const uint32_t shift = 8 * (at % 4);

    return __funnelshift_r(w[0], w[1], shift) | (uint64_t)__funnelshift_r(w[1], w[2], shift) << 32;
}

/* The items of the pieces that a round looks at: step k of the i-th one is items[k * PIECES + i]. */
struct parsed {
    uint16_t items[PIECE * PIECES];
    uint8_t steps[PIECES];
};

/* By a thread: the i-th piece as literals. */
__device__ inline void spell_piece(const sample *s, uint32_t piece, uint32_t i, parsed *out)
{
    const uint32_t *row = s->words + piece * PIECE_WORDS, length = s->length[piece];

    for (uint32_t at = 0; at < length; at++)
        out->items[at * PIECES + i] = (uint16_t)(LITERAL + (row[at / 4] >> 8 * (at % 4) & 0xff));
    out->steps[i] = (uint8_t)length;
}

/* By a thread: parses the i-th piece. Returns the bytes that its codes take. */
__device__ inline uint32_t parse_piece(const sample *s, const matcher *m, uint32_t piece,
                                       uint32_t i, parsed *out)
{
    const uint32_t *row = s->words + piece * PIECE_WORDS, length = s->length[piece];
    uint32_t steps = 0, literals = 0;

    for (uint32_t at = 0; at < length;) {
        const match found = match_at(m, load_eight(row, at), length - at);
        out->items[steps++ * PIECES + i] = (uint16_t)found.item;
        literals += found.item >= LITERAL;
        at += found.length;
    }
    out->steps[i] = (uint8_t)steps;
    return steps + literals;
}
} // namespace bale_fsst

#endif
