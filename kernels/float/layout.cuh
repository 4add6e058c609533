/* float on the device: the extent part, and the map (spec.md) of an element. */
#ifndef BALE_KERNELS_FLOAT_LAYOUT_CUH
#define BALE_KERNELS_FLOAT_LAYOUT_CUH

#include <string.h>

#include "kernels/base/swapped.cuh"
#include "kernels/codec/bytes.cuh"
#include "kernels/codec/tables.h"
#include "kernels/float/tries.h"

namespace bale_float
{
using bale_base::swapped;

/* Of a block for a chunk. One for a frame or a cell may have more. */
constexpr unsigned THREADS = 512, THREADS_MAX = 1024;

/* Of elements of sizeof(T) bytes. */
template <typename T> struct element {
    static constexpr unsigned BITS = 8 * sizeof(T);
    static constexpr unsigned SIZE_LOG2 = sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    static constexpr unsigned MANTISSA = sizeof(T) == 2 ? 10 : sizeof(T) == 4 ? 23 : 52;
    static constexpr unsigned EXCEPTION = sizeof(uint32_t) + sizeof(T); /* bytes of one */
    static constexpr T SIGN_BIT = (T)((T)1 << (BITS - 1));
};

/* Signed integers and floats of the size; floats of two bytes are never decimals. */
template <typename T> struct kin {
    using whole = int16_t;
    using real = float;
};
template <> struct kin<uint32_t> {
    using whole = int32_t;
    using real = float;
};
template <> struct kin<uint64_t> {
    using whole = int64_t;
    using real = double;
};

__device__ inline unsigned bit_length(uint64_t x)
{
    return 64 - (unsigned)__clzll((long long)x);
}

__device__ inline uint32_t load_le32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- The extent part ---- */

__device__ inline unsigned mantissa_of(unsigned size_log2)
{
    return size_log2 == 1 ? 10 : size_log2 == 2 ? 23 : 52;
}

/* float_map_has (float.h). */
__device__ inline bool map_has(const float_layout &l, unsigned exponent)
{
    const unsigned mantissa = mantissa_of(l.size_log2);

    if ((exponent & FLOAT_DECIMAL) != 0)
        return l.is_float && l.size_log2 > 1 && l.shift == 0 &&
               exponent - FLOAT_DECIMAL <= (l.size_log2 == 2 ? 10u : 22u);
    return l.is_float && mantissa - l.shift >= 3 && exponent >= 1 &&
           exponent < 1u << ((8u << l.size_log2) - 1 - mantissa);
}

/* float_may_have_singles (float.h). An encoder has them then. */
__device__ inline bool has_singles(unsigned size_log2)
{
    return 8u << size_log2 > FLOAT_SINGLES_ABOVE;
}

/* False: it breaks a rule. */
__device__ inline bool read_part(const uint8_t *p, uint32_t length, float_layout *l)
{
    const bool interpolated = length == FLOAT_PART_MAX;
    const uint32_t details = interpolated ? p[FLOAT_PART] : 0;
    bool fine = true;

    if (length != FLOAT_PART && !interpolated)
        return false;
    l->size_log2 = p[0] & 3;
    l->is_float = (p[0] & 4) != 0;
    l->big_endian = (p[0] & 8) != 0;
    l->lead = p[0] >> 4 & 7;
    l->singles = p[0] >> 7 != 0;
    l->shift = p[1];
    l->exponent = (uint16_t)(p[2] | p[3] << 8);
    l->orders[0] = p[12] & 7;
    l->orders[1] = p[12] >> 3 & 7;
    l->orders[2] = p[12] >> 6;
    l->strides[0] = l->orders[0] != 0;
    l->strides[1] = load_le32(p + 4);
    l->strides[2] = load_le32(p + 8);
    l->interpolated = interpolated;
    l->details[0] = details & 3;
    l->details[1] = (uint8_t)(details >> 2);
    for (unsigned i = 0; i < FLOAT_AXES; i++)
        fine = fine && l->orders[i] <= 4 && l->strides[i] <= FLOAT_STRIDE_MAX &&
               (l->orders[i] == 0 && !(i == 1 && interpolated)) == (l->strides[i] == 0);
    if (interpolated)
        fine = fine && l->orders[1] <= 2 && l->orders[2] == 0 && l->details[0] <= 2 &&
               l->details[1] <= 2;
    return fine && l->size_log2 >= 1 && (!l->singles || has_singles(l->size_log2)) &&
           l->lead < 1u << l->size_log2 && l->shift < 8u << l->size_log2 &&
           (!l->is_float || l->shift <= mantissa_of(l->size_log2)) &&
           (l->exponent == 0 || map_has(*l, l->exponent));
}

__device__ inline uint32_t part_length(const float_layout &l)
{
    return l.interpolated ? FLOAT_PART_MAX : FLOAT_PART;
}

/* Byte i of the part. */
__device__ inline uint8_t part_byte(const float_layout &l, unsigned i)
{
    const uint32_t type = l.size_log2 | (uint32_t)l.is_float << 2 | (uint32_t)l.big_endian << 3 |
                          (uint32_t)l.lead << 4 | (uint32_t)has_singles(l.size_log2) << 7;
    const uint32_t head = type | (uint32_t)l.shift << 8 | (uint32_t)l.exponent << 16;
    const uint32_t orders = l.orders[0] | (uint32_t)l.orders[1] << 3 | (uint32_t)l.orders[2] << 6;
    const uint32_t behind = orders | (uint32_t)l.details[0] << 8 | (uint32_t)l.details[1] << 10;
    const uint32_t word = i < 4 ? head : i < 8 ? l.strides[1] : i < 12 ? l.strides[2] : behind;

    return (uint8_t)(word >> 8 * (i % 4));
}

/* ---- Elements ---- */

/* Elements that lie wholly in a chunk, and the bytes before them. */
struct extents {
    uint32_t lead, count, tail;
};

__device__ inline extents extents_of(const float_layout &l, uint32_t raw_length)
{
    const uint32_t lead = min((uint32_t)l.lead, raw_length);
    const uint32_t count = (raw_length - lead) >> l.size_log2;

    return {lead, count, raw_length - lead - (count << l.size_log2)};
}

/* From any address. Reads whole words that hold bytes of it, or an element where it is aligned, as
 * nearly all are. */
template <typename T> __device__ inline T load_element(const uint8_t *p, bool big_endian)
{
    if ((uintptr_t)p % sizeof(T) == 0)
        return big_endian ? swapped(*(const T *)p) : *(const T *)p;
    const uintptr_t first = (uintptr_t)p & ~(uintptr_t)3;
    const uintptr_t last = (uintptr_t)(p + sizeof(T) - 1) & ~(uintptr_t)3;
    const uint32_t shift = 8 * ((uintptr_t)p & 3);
    const uint32_t a = *(const uint32_t *)first, b = *(const uint32_t *)min(first + 4, last);
    uint64_t x = __funnelshift_r(a, b, shift);

    if (sizeof(T) == 8)
        x |= (uint64_t)__funnelshift_r(b, *(const uint32_t *)last, shift) << 32;
    return big_endian ? swapped((T)x) : (T)x;
}

/* ---- The map ---- */

template <typename T> __device__ inline float_map map_of(const float_layout &l)
{
    float_map map = {};

    map.shift = l.shift;
    map.is_float = l.is_float;
    map.mantissa = element<T>::MANTISSA - l.shift;
    map.is_decimal = (l.exponent & FLOAT_DECIMAL) != 0;
    map.scale = 1;
    if (map.is_decimal)
        for (unsigned i = min(l.exponent - FLOAT_DECIMAL, 22); i > 0; i--)
            map.scale *= 10;
    else
        map.high = l.exponent;
    if (map.high > 0) {
        map.low = map.high > map.mantissa - 2 ? map.high - (map.mantissa - 2) : 1;
        map.low_bits = bit_length(((uint64_t)map.low << map.mantissa) - 1);
    }
    return map;
}

template <typename T> __device__ inline T sign_of(T x)
{
    return (T)((typename kin<T>::whole)x >> (element<T>::BITS - 1));
}

/* Of a float's pattern, shifted. */
template <typename T> __device__ inline T magnitude(T pattern, unsigned shift)
{
    return (T)((T)(pattern & (T)~element<T>::SIGN_BIT) >> shift);
}

/* The magnitude's integer, and how many of the magnitude's low bits are raw bits. */
template <typename T> __device__ inline T fix(const float_map &map, T m, unsigned *raw_bits)
{
    const unsigned e = (unsigned)(m >> map.mantissa);
    const T one = (T)((T)1 << map.mantissa);

    *raw_bits = 0;
    if (e >= map.high)
        return (T)(m - (T)((T)(map.high - 1) << map.mantissa));
    if (e < map.low) {
        *raw_bits = m != 0 ? map.low_bits : 0;
        return m != 0;
    }
    *raw_bits = map.high - e;
    return (T)((T)((m & (T)(one - 1)) | one) >> *raw_bits);
}

/* Whether the pattern is an integer by the power of ten. No other integer is it then, so it does not
 * matter how the product is rounded. */
template <typename T> __device__ inline bool decimal_of(const float_map &map, T pattern, T *q)
{
    using real = typename kin<T>::real;
    const T limit = (T)((T)1 << (element<T>::MANTISSA - 1));
    const real scale = (real)map.scale, whole = (real)(T)(limit * 3);
    real x, rounded, back;
    T of_rounded, of_whole, of_back;

    if (sizeof(T) == 2)
        return false;
    memcpy(&x, &pattern, sizeof x < sizeof pattern ? sizeof x : sizeof pattern);
    rounded = x * scale + whole;
    back = (rounded - whole) / scale;
    memcpy(&of_rounded, &rounded, sizeof(T));
    memcpy(&of_whole, &whole, sizeof(T));
    memcpy(&of_back, &back, sizeof(T));
    *q = (T)(of_rounded - of_whole);
    return of_back == pattern && (T)(*q + (limit - 1)) < (T)(2 * limit - 1);
}

/* The integer of a pattern; raw bits of 0 or more; false: an exception, whose integer is not set. */
template <typename T>
__device__ inline bool map_element(const float_map &map, T pattern, T *q, unsigned *raw_bits)
{
    *raw_bits = 0;
    if (map.is_decimal)
        return decimal_of(map, pattern, q);
    if (map.high > 0)
        *q = (T)(fix(map, magnitude(pattern, map.shift), raw_bits) ^ sign_of(pattern));
    else if (map.is_float)
        *q = (T)(magnitude(pattern, map.shift) ^ sign_of(pattern));
    else
        *q = (T)((typename kin<T>::whole)pattern >> map.shift);
    return true;
}

/* With a fixed point: the raw bits behind an integer without its sign. */
template <typename T> __device__ inline unsigned raw_bits_of(const float_map &map, T a)
{
    const T least = (T)((T)1 << (map.mantissa - (map.high - map.low)));
    const int zeros = sizeof(T) == 8 ? __clzll((long long)a) : __clz((int)a) + 32;
    const int bits = zeros - (int)(63 - map.mantissa);

    if (a < least)
        return a == 0 ? 0 : map.low_bits;
    return (unsigned)max(bits, 0);
}

/* The other way, with those bits. */
template <typename T> __device__ inline T unfix(const float_map &map, T a, unsigned bits, T raw)
{
    const T least = (T)((T)1 << (map.mantissa - (map.high - map.low)));

    if (a < least)
        return a == 0 ? (T)0 : raw;
    return (T)((T)((T)(map.high - 1 - bits) << map.mantissa) + (T)((T)(a << bits) | raw));
}

/* A magnitude and a sign, all ones or zeros, to a float's pattern. */
template <typename T> __device__ inline T join_sign(const float_map &map, T m, T sign)
{
    return (T)((sign & element<T>::SIGN_BIT) | ((T)(m << map.shift) & (T)~element<T>::SIGN_BIT));
}

/* Without raw bits. */
template <typename T> __device__ inline T unmap_element(const float_map &map, T q)
{
    const T sign = sign_of(q);

    if (map.is_decimal && sizeof(T) > 2) {
        const typename kin<T>::real x =
            (typename kin<T>::real)(typename kin<T>::whole)q / (typename kin<T>::real)map.scale;
        T pattern = 0;
        memcpy(&pattern, &x, sizeof x < sizeof pattern ? sizeof x : sizeof pattern);
        return pattern;
    }
    return map.is_float ? join_sign(map, (T)(q ^ sign), sign) : (T)(q << map.shift);
}
} // namespace bale_float

#endif
