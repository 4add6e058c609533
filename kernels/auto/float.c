/* The estimate of the codec float (spec.md): elements of one size and byte order, and differences
 * between neighbours alone. */
#include <stdbool.h>

#include "kernels/auto/auto.h"

enum {
    GROUP = 8, /* elements of one width */
    TYPE_WINDOWS = 3,
    TYPE_BYTES = 128,
    WINDOWS = 2,
    WINDOW_BYTES = 1024,
    ELEMENTS_MAX = WINDOW_BYTES / 2,
    ORDERS = 4,  /* 0 to 3 */
    BEHIND = 16, /* bytes behind a window that may be read: the lead, and an element */
};

/* What elements are. */
struct type {
    unsigned size_log2, lead;
    bool big_endian, is_float;
};

/* Bits of an element. */
static unsigned width_of(const struct type *type)
{
    return 8u << type->size_log2;
}

static unsigned mantissa_of(const struct type *type)
{
    return type->size_log2 == 1 ? 10 : type->size_log2 == 2 ? 23 : 52;
}

static uint64_t get_element(const struct type *type, const uint8_t *at)
{
    if (type->size_log2 == 1)
        return type->big_endian ? __builtin_bswap16(bale_get16(at)) : bale_get16(at);
    if (type->size_log2 == 2)
        return type->big_endian ? __builtin_bswap32(bale_get32(at)) : bale_get32(at);
    return type->big_endian ? __builtin_bswap64(bale_get64(at)) : bale_get64(at);
}

/* The zigzag's length of differences whose bits, but for the sign's, are ored in `bits`. */
static unsigned width_from(uint64_t bits, uint64_t signs)
{
    return bits != 0 ? 65 - (unsigned)__builtin_clzll(bits) : signs != 0;
}

/* The bytes that groups of the differences need. These are in the upper bits, so that they wrap as
 * elements do. */
static uint32_t bytes_of(const uint64_t *differences, uint32_t from, uint32_t count, unsigned width)
{
    uint32_t sum = 0;

    for (uint32_t i = from; i < count; i += GROUP) {
        uint64_t bits = 0, signs = 0;
        for (uint32_t k = i; k < i + GROUP; k++) {
            const int64_t d = (int64_t)differences[k] >> (64 - width);
            bits |= (uint64_t)(d ^ (d >> 63));
            signs |= (uint64_t)(d >> 63);
        }
        sum += width_from(bits, signs);
    }
    return sum;
}

static void subtract(uint64_t *values, uint32_t count)
{
    for (uint32_t i = count; i-- > 1;)
        values[i] -= values[i - 1];
}

/* Of a float with this magnitude the number that is ordered as floats are, with a fixed point at
 * the exponent high unless that is 0; and the bits that it leaves out. */
static uint64_t fix(uint64_t m, unsigned mantissa, unsigned high, uint32_t *left_out)
{
    const unsigned e = (unsigned)(m >> mantissa);
    const unsigned low = high > mantissa - 2 ? high - (mantissa - 2) : 1;
    const uint64_t one = UINT64_C(1) << mantissa;

    if (high == 0 || m == 0)
        return m;
    if (e >= high)
        return m - ((uint64_t)(high - 1) << mantissa);
    if (e < low) {
        *left_out += 64 - (unsigned)__builtin_clzll(((uint64_t)low << mantissa) - 1);
        return 1;
    }
    *left_out += high - e;
    return ((m & (one - 1)) | one) >> (high - e);
}

static uint64_t map(const struct type *type, uint64_t pattern, unsigned high, uint32_t *left_out)
{
    const unsigned width = width_of(type);
    const uint64_t half = UINT64_MAX >> (65 - width), sign = 0 - (pattern >> (width - 1));
    const uint64_t m = pattern & half;

    return type->is_float ? fix(m, mantissa_of(type), high, left_out) ^ sign : pattern;
}

/* What differences along x take in the windows for types. */
static uint32_t try_type(const struct type *type, const uint8_t *raw, uint32_t raw_length)
{
    const uint32_t count = TYPE_BYTES >> type->size_log2;
    const unsigned width = width_of(type);
    uint32_t sum = 0, none = 0;

    for (uint32_t w = 0; w < TYPE_WINDOWS; w++) {
        const uint32_t range = raw_length - TYPE_BYTES - BEHIND;
        const uint8_t *at = raw + (uint64_t)range * w / (TYPE_WINDOWS - 1) / 8 * 8 + type->lead;
        uint64_t values[TYPE_BYTES / 2 + 1];
        for (uint32_t i = 0; i <= count; i++) {
            const uint64_t p = get_element(type, at + (i << type->size_log2));
            values[i] = map(type, p, 0, &none) << (64 - width);
        }
        subtract(values, count + 1);
        sum += bytes_of(values + 1, 0, count, width);
    }
    return sum;
}

static struct type find_type(const uint8_t *raw, uint32_t raw_length)
{
    static const uint8_t sizes[] = {2, 3, 1};
    struct type best = {0};
    uint32_t least = UINT32_MAX;

    for (unsigned i = 0; i < sizeof sizes; i++)
        for (unsigned n = 0; n < 4u << sizes[i]; n++) {
            const struct type type = {sizes[i], n / 4, n / 2 % 2 != 0, n % 2 == 0};
            const uint32_t its = try_type(&type, raw, raw_length);
            if (its < least)
                least = its, best = type;
        }
    return best;
}

/* The patterns of both windows. Returns how many there are. */
static uint32_t gather(const struct type *type, const uint8_t *raw, uint32_t raw_length,
                       uint64_t patterns[WINDOWS][ELEMENTS_MAX])
{
    const uint32_t count = WINDOW_BYTES >> type->size_log2;
    const uint32_t range = raw_length - WINDOW_BYTES - BEHIND;

    for (uint32_t w = 0; w < WINDOWS; w++) {
        const uint8_t *at =
            raw + (uint64_t)range * (2 * w + 1) / (2 * WINDOWS) / 8 * 8 + type->lead;
        for (uint32_t i = 0; i < count; i++)
            patterns[w][i] = get_element(type, at + (i << type->size_log2));
    }
    return count;
}

/* The greatest exponent that is not all ones; 0 of integers. */
static unsigned greatest_exponent(const struct type *type,
                                  const uint64_t patterns[WINDOWS][ELEMENTS_MAX], uint32_t count)
{
    const unsigned mantissa = mantissa_of(type), width = width_of(type);
    const unsigned ones = (1u << (width - 1 - mantissa)) - 1;
    unsigned most = 0;

    for (uint32_t w = 0; type->is_float && w < WINDOWS; w++)
        for (uint32_t i = 0; i < count; i++) {
            unsigned e = (unsigned)(patterns[w][i] >> mantissa) & ones;
            most = e > most && e < ones ? e : most;
        }
    return most;
}

/* The bytes that both windows take behind their first group, with the best order along x. */
static uint32_t try_exponent(const struct type *type,
                             const uint64_t patterns[WINDOWS][ELEMENTS_MAX], uint32_t count,
                             unsigned high)
{
    const unsigned width = width_of(type);
    uint32_t sums[ORDERS] = {0}, left_out = 0, none = 0, least = UINT32_MAX;

    for (uint32_t w = 0; w < WINDOWS; w++) {
        uint64_t values[ELEMENTS_MAX];
        for (uint32_t i = 0; i < count; i++)
            values[i] = map(type, patterns[w][i], high, i < GROUP ? &none : &left_out)
                        << (64 - width);
        for (unsigned order = 0; order < ORDERS; order++) {
            sums[order] += bytes_of(values, GROUP, count, width);
            subtract(values, count);
        }
    }
    for (unsigned order = 0; order < ORDERS; order++)
        least = sums[order] < least ? sums[order] : least;
    return least + left_out / 8;
}

uint32_t bale_auto_float(const uint8_t *raw, uint32_t raw_length, uint32_t sample_length)
{
    uint64_t patterns[WINDOWS][ELEMENTS_MAX];
    const struct type type = find_type(raw, raw_length);
    const uint32_t count = gather(&type, raw, raw_length, patterns);
    const uint32_t length = WINDOWS * (count - GROUP) << type.size_log2;
    const unsigned high = greatest_exponent(&type, patterns, count);
    uint32_t least = try_exponent(&type, patterns, count, 0);

    if (high > 0) {
        uint32_t its = try_exponent(&type, patterns, count, high);
        least = its < least ? its : least;
    }
    least += 3 * (length >> type.size_log2) / 64; /* headers and deltas */
    return (uint32_t)((uint64_t)least * sample_length / length);
}
