/* float on the device: the type of an extent's elements (spec.md, What an encoder chooses, 1), and
 * the low bits that all of them have as zeros (2). */
#ifndef BALE_KERNELS_FLOAT_TYPE_CUH
#define BALE_KERNELS_FLOAT_TYPE_CUH

#include "kernels/float/block.cuh"
#include "kernels/float/windows.cuh"

namespace bale_float
{
constexpr uint32_t TYPES = 28;       /* sizes, places and byte orders */
constexpr uint32_t TYPE_BEHIND = 16; /* bytes behind a window: the lead, and an element */
constexpr uint32_t TYPE_WORDS = (FLOAT_TYPE_BYTES + TYPE_BEHIND) / 4;

struct type_shared {
    uint32_t windows[FLOAT_TYPE_WINDOWS][TYPE_WORDS];
    unsigned long long bits[TYPES][FLOAT_TYPE_WINDOWS]; /* those that a window's patterns have */
    uint32_t costs[TYPES][2];                           /* of integers, and of floats */
};

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

/* A group of a window with a type of elements like T. There are as many as threads. */
template <typename T> struct type_task {
    static constexpr uint32_t GROUPS = FLOAT_TYPE_BYTES / FLOAT_GROUP / sizeof(T);
    static constexpr uint32_t FIRST = sizeof(T) == 4 ? 0 : sizeof(T) == 8 ? 8 : 24;
    static_assert(2 * sizeof(T) * FLOAT_TYPE_WINDOWS * GROUPS == THREADS, "one for each thread");
    uint32_t type, window, group;
    T at[FLOAT_GROUP + 1];

    __device__ explicit type_task(const type_shared *s)
    {
        group = threadIdx.x % GROUPS;
        window = threadIdx.x / GROUPS % FLOAT_TYPE_WINDOWS;
        type = FIRST + threadIdx.x / GROUPS / FLOAT_TYPE_WINDOWS;
        const float_layout its = type_of(type);
        const uint8_t *from = (const uint8_t *)s->windows[window] + its.lead;
        for (unsigned i = 0; i <= FLOAT_GROUP; i++)
            at[i] = load_element<T>(from + (group * FLOAT_GROUP + i) * sizeof(T), its.big_endian);
    }
};

template <typename T> __device__ inline void find_type_bits(type_shared *s)
{
    const type_task<T> task(s);
    T any = 0;

    for (T x : task.at)
        any |= x;
    atomicOr(&s->bits[task.type][task.window], (unsigned long long)any);
}

template <typename T> __device__ inline void find_type_costs(type_shared *s)
{
    const type_task<T> task(s);
    const unsigned long long bits = s->bits[task.type][task.window];
    const uint32_t zeros = bits != 0 ? bit_length(bits & (0 - bits)) - 1 : 0;

    for (unsigned is_float = 0; is_float < 2; is_float++) {
        T all = 0;
        for (unsigned i = 0; i < FLOAT_GROUP; i++) {
            T x = task.at[i], y = task.at[i + 1];
            if (is_float) {
                x = (T)(magnitude(x, 0) ^ sign_of(x));
                y = (T)(magnitude(y, 0) ^ sign_of(y));
            }
            all |= zigzag((T)(y - x));
        }
        const uint32_t length = bit_length(all);
        atomicAdd(&s->costs[task.type][is_float], length > zeros ? length - zeros : 0u);
    }
}

/* By a block: the type that costs least. */
__device__ inline float_layout find_type(type_shared *s, const uint8_t *raw, uint32_t length,
                                         warp_values *room)
{
    const uint64_t range = length - FLOAT_TYPE_BYTES - TYPE_BEHIND;

    for (uint32_t k = threadIdx.x; k < FLOAT_TYPE_WINDOWS * TYPE_WORDS; k += blockDim.x) {
        const uint32_t v = k / TYPE_WORDS;
        const uint32_t at = (uint32_t)(range * v / (FLOAT_TYPE_WINDOWS - 1) / 8 * 8);
        s->windows[v][k % TYPE_WORDS] = ((const uint32_t *)(raw + at))[k % TYPE_WORDS];
    }
    for (uint32_t k = threadIdx.x; k < TYPES * FLOAT_TYPE_WINDOWS; k += blockDim.x)
        s->bits[k / FLOAT_TYPE_WINDOWS][k % FLOAT_TYPE_WINDOWS] = 0;
    if (threadIdx.x < 2 * TYPES)
        s->costs[threadIdx.x / 2][threadIdx.x % 2] = 0;
    __syncthreads();
    if (threadIdx.x < THREADS) {
        find_type_bits<uint32_t>(s);
        find_type_bits<uint64_t>(s);
        find_type_bits<uint16_t>(s);
    }
    __syncthreads();
    if (threadIdx.x < THREADS) {
        find_type_costs<uint32_t>(s);
        find_type_costs<uint64_t>(s);
        find_type_costs<uint16_t>(s);
    }
    __syncthreads();
    /* Of each type, floats come first. */
    const uint32_t n = threadIdx.x;
    const uint32_t best =
        least_of_all(n < 2 * TYPES ? s->costs[n / 2][n % 2 == 0] << 6 | n : UINT32_MAX, room) & 63;
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

/* By a block: low bits that are zero in all elements. */
template <typename T>
__device__ inline uint8_t find_shift(const float_layout &l, const extent &e, warp_values *room)
{
    const unsigned most = l.is_float ? element<T>::MANTISSA : element<T>::BITS - 1;
    T any = 0;

    for (uint32_t at = 0; at < e.length && (any & 1) == 0; at += e.chunk) {
        const extents its = extents_of(l, min(e.length - at, e.chunk));
        uint64_t bits =
            bits_of_chunk(e.raw + at, its.lead, its.lead + its.count * (uint32_t)sizeof(T), room);
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
