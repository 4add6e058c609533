/* What a thread works with. For the sources of this directory. */
#ifndef BALE_KERNELS_FLOAT_WORK_H
#define BALE_KERNELS_FLOAT_WORK_H

#include <string.h>

#include "format/bytes.h"
#include "kernels/float/float.h"

enum {
    FLOAT_GROUPS = FLOAT_ELEMENTS / FLOAT_GROUP,
    FLOAT_BLOCKS = FLOAT_ELEMENTS / FLOAT_BLOCK,
    FLOAT_PAD = 64,
    FLOAT_BUFFER = FLOAT_CHUNK + FLOAT_BLOCK * 8,
    FLOAT_DELTAS = FLOAT_CHUNK / 4 / FLOAT_BLOCK * FLOAT_SINGLES_DELTAS, /* of elements of 4 */
    FLOAT_SINGLES = 0x80, /* in place of widths: the block is of singles */
};

struct float_work {
    _Alignas(64) uint8_t elements[FLOAT_BUFFER];  /* patterns */
    _Alignas(64) uint8_t values[2][FLOAT_BUFFER]; /* integers, in turn */
    uint8_t planes[FLOAT_BUFFER + FLOAT_PAD];
    uint8_t bits[FLOAT_BUFFER + FLOAT_PAD]; /* raw bits; or a section that is decoded */
    uint8_t headers[FLOAT_BLOCKS];
    uint8_t deltas[FLOAT_DELTAS + FLOAT_PAD];
    uint8_t widths[FLOAT_GROUPS + FLOAT_GROUP]; /* of singles each FLOAT_SINGLES and m */
};

/* The widths of a block's groups, a byte for each. */
struct float_widths {
    uint8_t header;
    unsigned bits; /* of each delta */
    uint64_t deltas;
    uint64_t widths;
};

/* The header code of a width, and back: six bits. */
static inline unsigned float_width_code(unsigned width)
{
    return width > 63 ? 63 : width;
}

static inline unsigned float_code_width(unsigned code, unsigned size_bits)
{
    return size_bits == 64 && code == 63 ? 64 : code;
}

static inline unsigned float_bit_length(uint64_t x)
{
    return x == 0 ? 0 : 64 - (unsigned)__builtin_clzll(x);
}

/* What the bytes of a word add up to. */
static inline uint32_t float_sum_bytes(uint64_t bytes)
{
    const uint64_t pairs = UINT64_C(0x00ff00ff00ff00ff);

    return (uint32_t)(((bytes & pairs) + (bytes >> 8 & pairs)) * UINT64_C(0x0001000100010001) >>
                      48);
}

/* The elements from which those before `count`, of all, are known where rows are interpolated: an
 * odd row needs five rows behind it, and these, of which some are between two others, ten more. */
static inline uint32_t float_needed(const struct float_layout *layout, uint32_t count, uint32_t all)
{
    const uint64_t rows = (count + (uint64_t)layout->strides[1] - 1) / layout->strides[1] + 15;

    return rows * layout->strides[1] < all ? (uint32_t)(rows * layout->strides[1]) : all;
}

/* The widths that take the fewest bytes, of count groups that need so many bits, `most` at most.
 * as_singles: the bytes that the block takes as singles, which are what it is without bits of
 * deltas; 0: it cannot be. */
struct float_widths float_widths_choose(const uint8_t need[8], unsigned count, unsigned most,
                                        unsigned as_singles);

/* The other way: reads header and deltas. False: a rule is broken. */
bool float_widths_read(uint8_t header, const uint8_t *deltas, unsigned count, unsigned size_bits,
                       struct float_widths *w);

/* Whether a block with this header is of singles, where there are such. */
static inline bool float_is_singles(uint8_t header)
{
    return header >> 6 == 0 && header > FLOAT_SINGLES_ABOVE;
}

/* Reads the deltas of such a block of count elements: the longest number's bits, and the bytes of
 * all low bits. False: a rule is broken. */
bool float_singles_read(uint8_t header, const uint8_t deltas[FLOAT_SINGLES_DELTAS], unsigned count,
                        unsigned size_bits, unsigned *most, uint32_t *bytes);

/* Bit k of each of eight bytes, as a byte; and its bits as eight bytes. */
static inline uint8_t float_gather_bit(uint64_t bytes, unsigned k)
{
    return (uint8_t)((bytes >> k & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >>
                     56);
}

static inline uint64_t float_spread_bits(uint8_t byte)
{
    const uint64_t each = UINT64_C(0x0101010101010101);

    return ((byte * each & UINT64_C(0x8040201008040201)) + each * 0x7f) >> 7 & each;
}

/* Of eight classes of singles, as bytes: how many low bits their numbers have, the longest in the
 * block having `most` bits; and 1 where the bit above them is set and not stored. */
static inline uint64_t float_low_lengths(uint64_t classes, unsigned most)
{
    const uint64_t each = UINT64_C(0x0101010101010101), last = classes + each * 2;

    return ((most - 1) * each - classes + (last >> 3 & each)) &
           ~(((classes + each) >> 3 & each) * 0xff);
}

static inline uint64_t float_have_tops(uint64_t classes)
{
    const uint64_t each = UINT64_C(0x0101010101010101);

    return each - ((classes + each * 2) >> 3 & each);
}

/* Writes numbers of less than 64 bits one behind the other, as whole words. */
struct float_words {
    uint8_t *at;
    uint64_t pending;
    unsigned have; /* bits of it, below 64 */
};

/* 8 bytes can be written. No bit of x is above its `bits`. */
static inline void float_words_put(struct float_words *to, uint64_t x, unsigned bits)
{
    const uint64_t word = to->pending | x << to->have;
    const unsigned have = to->have + bits;

    memcpy(to->at, &word, sizeof word);
    to->at += have / 64 * sizeof word;
    to->pending = have < 64 ? word : x >> 1 >> (63 - to->have);
    to->have = have % 64;
}

/* Writes what is left, and zeros up to a whole word. */
static inline void float_words_end(struct float_words *to)
{
    memcpy(to->at, &to->pending, sizeof to->pending);
}

/* The bits from bit `at` on. Those behind the length are of no meaning; FLOAT_PAD bytes there can
 * be read. */
static inline uint64_t float_bits_get(const uint8_t *in, uint64_t at, uint32_t length,
                                      unsigned bits)
{
    uint64_t byte = at / 8 < length ? at / 8 : length, low, high;

    memcpy(&low, in + byte, sizeof low);
    if (bits <= 56)
        return low >> at % 8 & ((UINT64_C(1) << bits) - 1);
    memcpy(&high, in + byte + 7, sizeof high);
    return (low << 8 >> 8 >> at % 8 | high << (56 - at % 8)) & (UINT64_MAX >> (64 - bits));
}

/* Whether so many bits are what the bytes hold, and zeros. */
bool float_bits_end(const uint8_t *in, uint32_t length, uint64_t bits);

/* Where an encoder's deltas and planes end. */
struct float_ends {
    const uint8_t *deltas, *planes;
};

/* Joins the sections of a chunk to out. Returns their length; 0: they do not fit. */
int64_t float_join(const struct float_work *work, const struct float_layout *layout,
                   const uint8_t *raw, uint32_t raw_length, struct float_ends ends,
                   uint32_t bits_length, uint8_t *out, uint32_t capacity);

/* The sections of a chunk that is decoded, one behind the other: the chunk ends with them. */
struct float_sections {
    const uint8_t *headers, *deltas, *planes, *bits;
    uint32_t planes_length, bits_length;
};

/* Finds them, sets the work's widths, and copies what is no whole element to raw. False: a rule is
 * broken. */
bool float_split(struct float_work *work, const struct float_layout *layout, const uint8_t *in,
                 uint32_t length, uint8_t *raw, uint32_t raw_length, struct float_sections *s);

/* Bytes of the sections with FLOAT_PAD bytes behind them that can be read: where they are, or,
 * near the chunk's end, a copy in the work, until the next one. */
const uint8_t *float_padded(struct float_work *work, const struct float_sections *s,
                            const uint8_t *from, uint32_t length);

#endif
