/* float on the device: what an element of an interpolated row is predicted to be (spec.md, Chunk). */
#ifndef BALE_KERNELS_FLOAT_PREDICT_CUH
#define BALE_KERNELS_FLOAT_PREDICT_CUH

#include "kernels/float/block.cuh"

namespace bale_float
{
/* Every fourth row is the first of a cycle. */
constexpr uint32_t CYCLE = 1u << FLOAT_LEVELS;

/* The order along x of row y. */
__device__ inline uint32_t order_of_row(const float_layout &l, uint32_t y)
{
    return y % CYCLE == 0 ? l.orders[0] : l.details[y % 2 == 0];
}

/* Rows that a prediction needs on either side, at most. */
constexpr uint32_t SIDE = 3, DIFFERENCES = 2 * SIDE - 1;

/* How many of them the chunk has: one above at least. */
struct rows_around {
    uint32_t above, below;
};

/* Those of row y, an odd multiple of `step`, in a column of so many rows. */
__device__ inline rows_around rows_around_of(uint32_t y, uint32_t step, uint32_t rows)
{
    return {min((y + step) / (2 * step), SIDE), min((rows - 1 - y + step) / (2 * step), SIDE)};
}

template <typename T> __device__ inline T halved(T x, unsigned times)
{
    return (T)((typename kin<T>::whole)x >> times);
}

/* From the differences of the six values around it; `before` is the third of these. */
template <typename T> __device__ inline T predicted_by(const T differences[DIFFERENCES], T before)
{
    using S = typename wide<T>::type;
    const S near = (S)differences[1] - differences[3], far = (S)differences[0] - differences[4];
    const T bend = halved((T)(22 * near - 3 * far + 64), 7);

    return (T)(before + halved((T)((S)differences[2] + bend + 1), 1));
}

/* Replaces the differences that are not there, of which [begin, end) are. */
template <typename T>
__device__ inline void extend(T differences[DIFFERENCES], uint32_t begin, uint32_t end)
{
    T *d = differences;

#pragma unroll
    for (uint32_t k = 0; k < DIFFERENCES; k++) {
        const T line = k > 1 ? (T)(2 * d[k - 1] - d[k - 2]) : (T)0;
        if (k >= end && k > 0)
            d[k] = k >= begin + 2 ? line : d[k - 1];
    }
#pragma unroll
    for (uint32_t k = SIDE - 1; k-- > 0;)
        if (k < begin)
            d[k] = (T)(2 * d[k + 1] - d[k + 2]);
}

/* From the six values around it, of which those that are not there may be anything. */
template <typename T>
__device__ inline T predicted(const T values[2 * SIDE], const rows_around &there)
{
    const uint32_t begin = SIDE - there.above, end = SIDE - 1 + there.below;
    T differences[DIFFERENCES];

#pragma unroll
    for (uint32_t k = 0; k < DIFFERENCES; k++)
        differences[k] = (T)(values[k + 1] - values[k]);
    if (begin == end)
        return values[SIDE - 1];
    if (end - begin < DIFFERENCES)
        extend(differences, begin, end);
    return predicted_by(differences, values[SIDE - 1]);
}
} // namespace bale_float

#endif
