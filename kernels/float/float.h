/* The codec float (spec.md): the extent part, the map, and what depends on the size of elements. */
#ifndef BALE_KERNELS_FLOAT_FLOAT_H
#define BALE_KERNELS_FLOAT_FLOAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/codec/codec.h"

enum {
    FLOAT_CHUNK = 1 << 18, /* bytes, at most */
    FLOAT_GROUP = 8,       /* values of one width */
    FLOAT_BLOCK = 64,      /* values of one header */
    FLOAT_SIZES = 3,       /* of elements: 2, 4 and 8 bytes */
    FLOAT_ELEMENTS = FLOAT_CHUNK / 2,
    FLOAT_AXES = 3,
    FLOAT_STRIDE_MAX = 1 << 26,
    FLOAT_PART = 13, /* bytes; FLOAT_PART_MAX where rows are interpolated */
    FLOAT_PART_MAX = 14,
    FLOAT_LEVELS = 2, /* of rows that are interpolated: odd ones, and every other one of the rest */
    FLOAT_DECIMAL = 1 << 15,
    FLOAT_DELTA_BITS = 3,
    FLOAT_DELTA_MOST = (1 << FLOAT_DELTA_BITS) - 1,
    FLOAT_SINGLES_ABOVE = 16,  /* bits of a block's longest number, for singles (singles.inc) */
    FLOAT_SINGLES_DELTAS = 24, /* bytes: three words of classes */
    FLOAT_CLASSES = 7,         /* of numbers that are not 0; that of 0 is behind them */
    FLOAT_FIRST_BYTES = 128,   /* of a window in which all types are tried */
    FLOAT_APART = 4, /* elements from one to that from which it is subtracted there, at most */
    FLOAT_ESTIMATE_WINDOWS = 4,
    FLOAT_ESTIMATE_WINDOW = 512, /* bytes */
    FLOAT_ESTIMATE_BYTES = FLOAT_ESTIMATE_WINDOWS * FLOAT_ESTIMATE_WINDOW,
    FLOAT_ESTIMATE_LEAST = 1024,
};

/* What elements of a size are taken as. */
enum { FLOAT_AS_INTEGERS, FLOAT_AS_FLOATS, FLOAT_AS_DECIMALS, FLOAT_KINDS };

static const uint8_t float_order_max[FLOAT_AXES] = {4, 4, 3};
static const uint8_t float_order_max_interpolated[FLOAT_AXES] = {4, 2, 0};

/* What an extent part says. */
struct float_layout {
    uint8_t size_log2; /* of an element: 1 to 3 */
    bool is_float;     /* not an integer */
    bool big_endian;
    bool singles;      /* blocks with k = 0 and more than FLOAT_SINGLES_ABOVE bits are of singles */
    uint8_t lead;      /* bytes of a chunk before its first element */
    uint8_t shift;     /* low bits that are zero in every element */
    uint16_t exponent; /* E; 0: no fixed point; FLOAT_DECIMAL and a number of digits */
    uint8_t orders[FLOAT_AXES];
    uint32_t strides[FLOAT_AXES]; /* in elements: 1, a row, a plane; 0 where the order is 0 */
    /* Three of four rows are predicted from those around them; orders and strides are then those of
     * each fourth row, whose stride along y is a row and not 0. */
    bool interpolated;
    uint8_t details[FLOAT_LEVELS]; /* orders along x: of odd rows, and of those between two */
};

/* The map of an extent's patterns, after the shift: spec.md. */
struct float_map {
    unsigned shift;
    bool is_float;
    unsigned mantissa; /* bits of it */
    unsigned high;     /* E, 0: none */
    unsigned low;      /* H */
    unsigned low_bits; /* raw bits below H */
    bool
        is_decimal; /* elements are integers by a power of ten; those that are not are exceptions */
    double scale;   /* that power */
};

/* Elements that lie wholly in a chunk. */
static inline uint32_t float_elements(const struct float_layout *layout, uint32_t raw_length)
{
    return raw_length < layout->lead ? 0 : (raw_length - layout->lead) >> layout->size_log2;
}

/* Whether elements can be so long that a block of them is of singles. */
static inline bool float_may_have_singles(unsigned size_log2)
{
    return 8u << size_log2 > FLOAT_SINGLES_ABOVE;
}

/* Returns the bytes of the part, FLOAT_PART_MAX at most. */
uint32_t float_part_write(const struct float_layout *layout, uint8_t *out);

/* BALE_OK or BALE_E_CORRUPT. */
int float_part_read(struct bale_extent_part part, struct float_layout *layout);

/* Bits of the mantissa of floats. */
static inline unsigned float_mantissa(unsigned size_log2)
{
    return size_log2 == 1 ? 10 : size_log2 == 2 ? 23 : 52;
}

/* Whether there is a map with this E for elements of that size and shift. */
bool float_map_has(const struct float_layout *layout, unsigned exponent);
struct float_map float_map_make(const struct float_layout *layout);

/* Of one thread at a time. */
struct float_work;

struct float_extent;

/* What is done with elements of one size. */
struct float_steps {
    int64_t (*encode)(struct float_work *work, const struct float_layout *layout,
                      const uint8_t *raw, uint32_t raw_length, uint8_t *out, uint32_t capacity);
    /* Only what is wanted is written, from a block's first element on, and what is no whole
     * element. */
    int (*decode)(struct float_work *work, const struct float_layout *layout, const uint8_t *in,
                  uint32_t length, uint8_t *raw, uint32_t raw_length, struct bale_wanted wanted);
    /* learn.h: what a window of up to FLOAT_TYPE_BYTES takes is added to costs, by elements that
     * are 1 to `most` apart; that as decimals only if their exponent is not 0, and they are 1
     * apart. And the whole layout but for the type. */
    void (*try_type)(const uint8_t *at, unsigned bytes, bool big_endian, uint16_t decimals,
                     unsigned most, uint32_t costs[FLOAT_APART][FLOAT_KINDS]);
    bool (*choose)(const struct float_extent *extent);
    /* E of decimals, by the FLOAT_PROBED elements that are `lead` bytes behind these; 0: they are
     * none. */
    uint16_t (*find_decimals)(const uint8_t *const *probes, unsigned lead, bool big_endian);
    /* The bytes that FLOAT_ESTIMATE_BYTES of an extent need with the differences along x alone
     * (kernels/auto/spec.md). */
    uint32_t (*estimate)(const struct float_layout *type, const uint8_t *raw, uint32_t length);
};

/* For `auto`, of an extent of FLOAT_ESTIMATE_LEAST bytes or more: a guess at the type of its
 * elements. False: in its middle, FLOAT_FIRST_BYTES take `below` or more with every type. */
bool float_guess_type(const struct float_steps *steps, const uint8_t *raw, uint32_t length,
                      uint32_t below, struct float_layout *type);

/* By size_log2 - 1; the fastest that this processor can do, and plain C. */
const struct float_steps *float_steps_best(void);
extern const struct float_steps float_plain[FLOAT_SIZES];
extern const struct float_steps float_avx2[FLOAT_SIZES], float_avx512[FLOAT_SIZES]; /* on x86-64 */

#endif
