/* float on the device: the type of an extent's elements (spec.md, What an encoder chooses, 1), and
 * the low bits that all of them have as zeros (2). */
#ifndef BALE_KERNELS_FLOAT_TYPE_CUH
#define BALE_KERNELS_FLOAT_TYPE_CUH

#include "kernels/float/block.cuh"
#include "kernels/float/windows.cuh"

namespace bale_float
{
constexpr uint32_t TYPES = 28;         /* sizes, places and byte orders */
constexpr uint32_t TYPE_BEHIND = 40;   /* bytes behind a window: lead, and FLOAT_APART elements */
constexpr uint32_t SHIFT_FIRST = 8192; /* bytes in which an odd element is looked for first */
constexpr uint32_t TYPE_WORDS = (FLOAT_TYPE_BYTES + TYPE_BEHIND) / 4;

/* The types of one size of elements, of which there are twice as many as bytes in the largest. */
struct type_shared {
    static constexpr uint32_t MOST = 2 * sizeof(uint64_t);
    uint32_t windows[FLOAT_TYPE_WINDOWS][TYPE_WORDS];
    unsigned long long bits[MOST][FLOAT_TYPE_WINDOWS]; /* those that a window's patterns have */
    uint32_t may_be;                                   /* bit n: type n may be decimals */
    uint32_t digits[MOST];                             /* bit d: they have d digits */
    uint32_t costs[MOST][FLOAT_APART][FLOAT_KINDS];
};

/* A pattern by which decimals are found. */
template <typename T> struct probe {
    static constexpr uint32_t BIAS = (1u << (element<T>::BITS - 2 - element<T>::MANTISSA)) - 1;
    static constexpr uint32_t BELOW =
        sizeof(T) == 4 ? 34 : 50; /* 2^-BELOW has less than one unit */
    T pattern;
    bool is_number, may_be;

    __device__ explicit probe(T from) : pattern(from)
    {
        const T m = magnitude(from, 0);
        const uint32_t e = (uint32_t)(m >> element<T>::MANTISSA);

        is_number = m != 0 && e <= 2 * BIAS;
        may_be = !is_number || (e >= BIAS - BELOW && e < BIAS + element<T>::MANTISSA);
    }
};

/* By a warp: whether something holds for nearly all lanes. */
__device__ inline bool nearly_all(bool is)
{
    static_assert(FLOAT_PROBED == 32, "an element for each lane");

    return __popc(__ballot_sync(bale_warp::ALL, !is)) <= FLOAT_UNFIT;
}

/* By a warp, with an element of each lane: whether nearly all of them are numbers with no more than
 * so many digits behind the point. */
template <typename T> __device__ inline bool are_decimals(const probe<T> &its, uint32_t digits)
{
    float_layout l = {};
    T unused = 0;

    l.size_log2 = element<T>::SIZE_LOG2;
    l.is_float = true;
    l.exponent = (uint16_t)(FLOAT_DECIMAL | digits);
    if (!nearly_all(its.may_be) || !map_has(l, l.exponent))
        return false;
    return nearly_all(decimal_of(map_of<T>(l), its.is_number ? its.pattern : (T)0, &unused));
}

/* E of decimals with the least of these numbers of digits; 0: there is none. */
__device__ inline uint32_t decimals_of(uint32_t digits)
{
    return digits != 0 ? FLOAT_DECIMAL | (uint32_t)(__ffs((int)digits) - 1) : 0;
}

/* The n-th type, an integer's, in the order in which the first of equal ones is taken. */
__device__ inline float_layout type_of(uint32_t n)
{
    const uint32_t size_log2 = n < 8 ? 2 : n < 24 ? 3 : 1;
    const uint32_t of_size = n - (size_log2 == 2 ? 0 : size_log2 == 3 ? 8 : 24);
    float_layout type = {};

    type.size_log2 = (uint8_t)size_log2;
    type.lead = (uint8_t)(of_size / 2);
    type.big_endian = of_size % 2 != 0;
    return type;
}

/* How far elements are apart, at most. Where components lie beside each other, they mostly begin at
 * a multiple of four bytes. */
__device__ inline uint32_t most_apart(uint32_t type)
{
    return type_of(type).lead % 4 == 0 ? FLOAT_APART : 1;
}

/* The first type with elements like T. */
template <typename T> constexpr uint32_t FIRST_TYPE = sizeof(T) == 4 ? 0 : sizeof(T) == 8 ? 8 : 24;

/* By a warp: an element of each lane of the n-th type like T. */
template <typename T> __device__ inline probe<T> probe_of(const type_shared *s, uint32_t n)
{
    constexpr uint32_t COUNT = FLOAT_TYPE_BYTES / sizeof(T);
    const float_layout its = type_of(FIRST_TYPE<T> + n);
    const uint32_t k = bale_warp::lane();
    const uint8_t *window = (const uint8_t *)s->windows[k * FLOAT_TYPE_WINDOWS / FLOAT_PROBED];
    const uint32_t at = its.lead + FLOAT_PROBE_STEP * k % COUNT * (uint32_t)sizeof(T);

    return probe<T>(load_element<T>(window + at, its.big_endian));
}

/* By a block: which types of elements like T may be decimals. First a warp asks for each of them
 * whether it may be, then each warp tries a number of digits. */
template <typename T> __device__ inline void find_type_decimals(type_shared *s)
{
    static_assert(THREADS / 32 == FLOAT_DIGITS + 1 && THREADS / 32 >= type_shared::MOST,
                  "a warp for each type, and for each number of digits");
    const uint32_t warp = threadIdx.x / 32;

    if (warp < 2 * sizeof(T) && nearly_all(probe_of<T>(s, warp).may_be) && bale_warp::lane() == 0)
        atomicOr(&s->may_be, 1u << warp);
    __syncthreads();
    for (uint32_t left = s->may_be; left != 0; left &= left - 1) {
        const uint32_t n = (uint32_t)__ffs((int)left) - 1;
        if (are_decimals(probe_of<T>(s, n), warp) && bale_warp::lane() == 0)
            atomicOr(&s->digits[n], 1u << warp);
    }
    __syncthreads();
}

/* A group of a window with a type of elements like T. There are as many as threads. */
template <typename T> struct type_task {
    static constexpr uint32_t GROUPS = FLOAT_TYPE_BYTES / FLOAT_GROUP / sizeof(T);
    static_assert(2 * sizeof(T) * FLOAT_TYPE_WINDOWS * GROUPS == THREADS, "one for each thread");
    uint32_t type, window, group; /* the type by its number among these */
    T at[FLOAT_GROUP + FLOAT_APART];

    __device__ explicit type_task(const type_shared *s)
    {
        group = threadIdx.x % GROUPS;
        window = threadIdx.x / GROUPS % FLOAT_TYPE_WINDOWS;
        type = threadIdx.x / GROUPS / FLOAT_TYPE_WINDOWS;
        const float_layout its = type_of(FIRST_TYPE<T> + type);
        const uint8_t *from = (const uint8_t *)s->windows[window] + its.lead;
        for (unsigned i = 0; i < FLOAT_GROUP + FLOAT_APART; i++)
            at[i] = load_element<T>(from + (group * FLOAT_GROUP + i) * sizeof(T), its.big_endian);
    }
};

template <typename T> __device__ inline void find_type_bits(type_shared *s)
{
    const type_task<T> task(s);
    T any = 0;

    for (unsigned i = 0; i < FLOAT_GROUP + 1; i++)
        any |= task.at[i];
    atomicOr(&s->bits[task.type][task.window], (unsigned long long)any);
}

/* By a thread: what a group takes as decimals. */
template <typename T>
__device__ inline uint32_t cost_as_decimals(const type_task<T> &task, uint32_t decimals)
{
    float_layout l = {};
    uint32_t cost = 0;
    T all = 0, before = 0;
    bool was = false;

    l.exponent = (uint16_t)decimals;
    const float_map map = map_of<T>(l);
    for (unsigned i = 0; i <= FLOAT_GROUP; i++) {
        T q = 0;
        const bool is = decimal_of(map, task.at[i], &q);
        if (i > 0 && is && was)
            all |= zigzag((T)(q - before));
        cost += i < FLOAT_GROUP && !is ? element<T>::EXCEPTION : 0;
        before = q, was = is;
    }
    return cost + bit_length(all);
}

template <typename T> __device__ inline void find_type_costs(type_shared *s)
{
    const type_task<T> task(s);
    const unsigned long long bits = s->bits[task.type][task.window];
    const uint32_t zeros = bits != 0 ? bit_length(bits & (0 - bits)) - 1 : 0;

    for (unsigned is_float = 0; is_float < 2; is_float++)
#pragma unroll
        for (unsigned apart = 1; apart <= FLOAT_APART; apart++) {
            T all = 0;
            if (apart > most_apart(FIRST_TYPE<T> + task.type))
                break;
#pragma unroll
            for (unsigned i = 0; i < FLOAT_GROUP; i++) {
                T x = task.at[i], y = task.at[i + apart];
                if (is_float) {
                    x = (T)(magnitude(x, 0) ^ sign_of(x));
                    y = (T)(magnitude(y, 0) ^ sign_of(y));
                }
                all |= zigzag((T)(y - x));
            }
            const uint32_t length = bit_length(all);
            atomicAdd(&s->costs[task.type][apart - 1][is_float],
                      length > zeros ? length - zeros : 0u);
        }
    if (sizeof(T) > 2 && s->digits[task.type] != 0)
        atomicAdd(&s->costs[task.type][0][FLOAT_AS_DECIMALS],
                  cost_as_decimals(task, decimals_of(s->digits[task.type])));
}

/* What type n / 2 of those like T costs: floats, which may be decimals, come first. Elements that
 * are not neighbours count a sixteenth more, and so do those that do not begin with the chunk. */
template <typename T> __device__ inline uint32_t type_cost(const type_shared *s, uint32_t n)
{
    const bool is_float = n % 2 == 0;
    const uint32_t kind = is_float ? FLOAT_AS_FLOATS : FLOAT_AS_INTEGERS;
    const uint32_t type = FIRST_TYPE<T> + n / 2;
    uint32_t least = s->costs[n / 2][0][kind];

    for (uint32_t k = 1; k < most_apart(type); k++)
        least = min(least, s->costs[n / 2][k][kind] + s->costs[n / 2][k][kind] / 16);
    if (is_float && s->digits[n / 2] != 0)
        least = min(least, s->costs[n / 2][0][FLOAT_AS_DECIMALS]);
    return type_of(type).lead > 0 ? least + least / 16 : least;
}

/* By a block: loads the windows in which types are tried. */
__device__ inline void load_windows(type_shared *s, const uint8_t *raw, uint32_t length)
{
    const uint64_t range = length - FLOAT_TYPE_BYTES - TYPE_BEHIND;

    for (uint32_t k = threadIdx.x; k < FLOAT_TYPE_WINDOWS * TYPE_WORDS; k += THREADS) {
        const uint32_t v = k / TYPE_WORDS;
        const uint32_t at = (uint32_t)(range * v / (FLOAT_TYPE_WINDOWS - 1) / 8 * 8);
        s->windows[v][k % TYPE_WORDS] = ((const uint32_t *)(raw + at))[k % TYPE_WORDS];
    }
    for (uint32_t k = threadIdx.x; k < sizeof s->bits / sizeof **s->bits; k += THREADS)
        (&s->bits[0][0])[k] = 0;
    for (uint32_t k = threadIdx.x; k < sizeof s->costs / sizeof ***s->costs; k += THREADS)
        (&s->costs[0][0][0])[k] = 0;
    if (threadIdx.x < type_shared::MOST)
        s->digits[threadIdx.x] = s->may_be = 0;
    __syncthreads();
}

/* By a block of THREADS: the keys of the types like T, the least of which wins. */
template <typename T>
__device__ inline void try_types(type_shared *s, const uint8_t *raw, uint32_t length,
                                 uint32_t keys[2 * TYPES])
{
    const uint32_t n = threadIdx.x;

    load_windows(s, raw, length);
    if (sizeof(T) > 2)
        find_type_decimals<T>(s);
    find_type_bits<T>(s);
    __syncthreads();
    find_type_costs<T>(s);
    __syncthreads();
    if (n < 4 * sizeof(T))
        keys[2 * FIRST_TYPE<T> + n] = type_cost<T>(s, n) << 6 | (2 * FIRST_TYPE<T> + n);
}

/* By a warp: the type with the least key. */
__device__ inline float_layout least_type(const uint32_t keys[2 * TYPES])
{
    static_assert(2 * TYPES > 32 && 2 * TYPES <= 64, "two for each lane");
    const uint32_t k = bale_warp::lane();
    const uint32_t key = min(keys[k], k + 32 < 2 * TYPES ? keys[k + 32] : UINT32_MAX);
    const uint32_t best = ~__reduce_max_sync(bale_warp::ALL, ~key) & 63;
    float_layout type = type_of(best / 2);

    type.is_float = best % 2 == 0;
    return type;
}

/* ---- The shift ---- */

/* By a block: the bits that some of the bytes [from, to) of a chunk have, of each place in eight. */
__device__ inline uint64_t bits_of_chunk(const uint8_t *raw, uint32_t from, uint32_t to,
                                         warp_values *room)
{
    const uint32_t first = (from + 15) / 16, last = to / 16;
    uint64_t any = 0;

    for (uint32_t k = first + threadIdx.x; k < last; k += blockDim.x) {
        const uint4 v = ((const uint4 *)raw)[k];
        any |= (uint64_t)(v.y | v.w) << 32 | (v.x | v.z);
    }
    const uint32_t before = from + threadIdx.x, behind = max(16 * last, from) + threadIdx.x;
    if (before < min(16 * first, to))
        any |= (uint64_t)raw[before] << 8 * (before % 8);
    if (behind < to)
        any |= (uint64_t)raw[behind] << 8 * (behind % 8);
    const uint32_t low = __reduce_or_sync(bale_warp::ALL, (uint32_t)any),
                   high = __reduce_or_sync(bale_warp::ALL, (uint32_t)(any >> 32));
    if (bale_warp::lane() == 0)
        room->of[threadIdx.x / 32] = (uint64_t)high << 32 | low;
    __syncthreads();
    any = 0;
    for (unsigned w = 0; w < warps(); w++)
        any |= room->of[w];
    __syncthreads();
    return any;
}

/* By a block: low bits that are zero in all elements. An odd element is looked for in a few bytes
 * first, and then in more and more. */
template <typename T>
__device__ inline uint8_t find_shift(const float_layout &l, const extent &e, warp_values *room)
{
    const unsigned most = l.is_float ? element<T>::MANTISSA : element<T>::BITS - 1;
    uint32_t chunk = 0, from = l.lead, piece = SHIFT_FIRST;
    T any = 0;

    while (chunk < e.length && (any & 1) == 0) {
        const extents its = extents_of(l, min(e.length - chunk, e.chunk));
        const uint32_t end = its.lead + its.count * (uint32_t)sizeof(T);
        const uint32_t to = min(from + piece, end);
        uint64_t bits = from < to ? bits_of_chunk(e.raw + chunk, from, to, room) : 0;
        from = to, piece = min(4 * piece, e.chunk);
        if (to >= end)
            chunk += e.chunk, from = l.lead;
        bits = l.lead > 0 ? bits >> 8 * l.lead | bits << (64 - 8 * l.lead) : bits;
        bits |= sizeof(T) < 8 ? bits >> 32 : 0;
        bits |= sizeof(T) < 4 ? bits >> 16 : 0;
        any |= l.big_endian ? swapped((T)bits) : (T)bits;
    }
    if (any == 0)
        return 0;
    const uint64_t with = any | (uint64_t)1 << most;
    return (uint8_t)(bit_length(with & (0 - with)) - 1);
}
} // namespace bale_float

#endif
