/* Elements are compared as integers in the same order, which compilers make vectors of, and which
 * the thread's floating-point mode does not change. */
#include "kernels/round/range.h"

#include <math.h>
#include <string.h>

#include "kernels/round/mode.h"

/* Defines name(swaps, in, count): the range of count elements of size bits. Of a negative number all
 * bits but the sign are turned around, so that keys ascend as numbers do: there and back. */
#define DEFINE_RANGE(name, type, size, swap, infinite)                                             \
    static type name##_number(int##size##_t key)                                                   \
    {                                                                                              \
        const int##size##_t bits = key < 0 ? key ^ INT##size##_MAX : key;                          \
        type x;                                                                                    \
        memcpy(&x, &bits, sizeof x);                                                               \
        return x;                                                                                  \
    }                                                                                              \
    static struct bale_range name(bool swaps, const uint8_t *in, size_t count)                     \
    {                                                                                              \
        struct bale_range range = {INFINITY, -INFINITY};                                           \
        int##size##_t low = INT##size##_MAX, high = INT##size##_MIN;                               \
        for (size_t i = 0; i < count; i++) {                                                       \
            uint##size##_t raw;                                                                    \
            int##size##_t bits, least, most;                                                       \
            memcpy(&raw, in + i * sizeof raw, sizeof raw);                                         \
            raw = swaps ? swap(raw) : raw;                                                         \
            bits = (int##size##_t)raw;                                                             \
            bits = bits < 0 ? bits ^ INT##size##_MAX : bits;                                       \
            least = (raw & (infinite)) != (infinite) ? bits : INT##size##_MAX;                     \
            most = (raw & (infinite)) != (infinite) ? bits : INT##size##_MIN;                      \
            low = least < low ? least : low;                                                       \
            high = most > high ? most : high;                                                      \
        }                                                                                          \
        if (low <= high)                                                                           \
            range = (struct bale_range){name##_number(low), name##_number(high)};                  \
        return range;                                                                              \
    }

DEFINE_RANGE(range_of_f32, float, 32, __builtin_bswap32, UINT32_C(0x7f800000))
DEFINE_RANGE(range_of_f64, double, 64, __builtin_bswap64, UINT64_C(0x7ff0000000000000))

struct bale_range bale_range_of_piece(const struct bale_field *field, uint64_t offset,
                                      const uint8_t *in, size_t length)
{
    const size_t width = bale_field_element(field);
    const bool swaps = field->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    struct bale_range range = {INFINITY, -INFINITY};
    struct bale_float_mode mode;
    uint64_t skip;

    if (field->type != BALE_FIELD_F32 && field->type != BALE_FIELD_F64)
        return range;
    if (field->end > 0 && field->end < offset + length)
        length = field->end > offset ? (size_t)(field->end - offset) : 0;
    skip = field->offset > offset ? field->offset - offset : (field->offset - offset) % width;
    if (skip >= length)
        return range;
    bale_float_mode_enter(&mode);
    range = (width == 8 ? range_of_f64 : range_of_f32)(swaps, in + skip, (length - skip) / width);
    bale_float_mode_leave(&mode);
    return range;
}
