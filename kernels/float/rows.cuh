/* float on the device: rows and planes, where nothing is known of them (spec.md, What an encoder
 * chooses, 6). */
#ifndef BALE_KERNELS_FLOAT_ROWS_CUH
#define BALE_KERNELS_FLOAT_ROWS_CUH

#include "kernels/float/cells.cuh"
#include "kernels/float/windows.cuh"

namespace bale_float
{
struct row_shared {
    uint4 values[BALE_CUDA_CELL / sizeof(uint4)];
    uint8_t bytes[FLOAT_ROW_SPAN + 8]; /* differences; words behind them are read */
    uint16_t sums[FLOAT_ROW_MAX + 1];  /* by strides: how different bytes that far apart are */
    uint32_t lengths;
    uint32_t marks[2][FLOAT_ROW_SPAN / 32];
    warp_values room;
};

/* ---- Differences as bytes ---- */

/* Integers whose differences along x are looked at: less those a stride before. */
template <typename T> struct series {
    const T *values;
    uint32_t stride; /* 0: as they are */

    __device__ T difference(uint32_t i) const
    {
        const T d = (T)(values[i + stride] - values[i + stride - 1]);

        return stride == 0 ? d : (T)(d - (T)(values[i] - values[i - 1]));
    }
};

/* By a block: differences of count integers as bytes, 128 for none. */
template <typename T>
__device__ inline void quantise(row_shared *s, const series<T> &of, uint32_t count)
{
    using whole = typename kin<T>::whole;
    uint32_t lengths = 0;

    if (threadIdx.x == 0) {
        s->lengths = 0;
        s->bytes[0] = 128;
    }
    __syncthreads();
    for (uint32_t i = FLOAT_GROUP * (threadIdx.x + 1); i < count; i += FLOAT_GROUP * blockDim.x) {
        const T d = of.difference(i);
        lengths += bit_length((T)(d ^ sign_of(d)));
    }
    lengths = __reduce_add_sync(bale_warp::ALL, lengths);
    if (bale_warp::lane() == 0)
        atomicAdd(&s->lengths, lengths);
    __syncthreads();
    const uint32_t mean = s->lengths / ((count - 1) / FLOAT_GROUP);
    const uint32_t down = mean > FLOAT_ROW_BITS ? mean - FLOAT_ROW_BITS : 0;
    for (uint32_t i = threadIdx.x + 1; i < count; i += blockDim.x) {
        const whole d = (whole)((whole)of.difference(i) >> down);
        s->bytes[i] = (uint8_t)(128 + (d < -127 ? -127 : d > 127 ? 127 : (int)d));
    }
    __syncthreads();
}

/* ---- Strides ---- */

/* Words of bytes from any address on, one after the other. */
struct word_reader {
    const uint32_t *next;
    uint32_t shift, word;

    __device__ word_reader(const uint8_t *bytes, uint32_t at)
        : next((const uint32_t *)(bytes + at / 4 * 4)), shift(8 * (at % 4)), word(*next++)
    {
    }

    __device__ uint32_t read()
    {
        const uint32_t low = word;

        word = *next++;
        return __funnelshift_r(low, word, shift);
    }
};

/* By a thread: how different FLOAT_BLOCK bytes are from others. */
__device__ inline uint32_t distance(const uint32_t words[FLOAT_BLOCK / 4], const uint8_t *bytes,
                                    uint32_t at)
{
    word_reader from(bytes, at);
    uint32_t sum = 0;

#pragma unroll
    for (unsigned k = 0; k < FLOAT_BLOCK / 4; k++)
        sum += __vsadu4(words[k], from.read());
    return sum;
}

__device__ inline void load_block(const uint8_t *bytes, uint32_t at,
                                  uint32_t words[FLOAT_BLOCK / 4])
{
    word_reader from(bytes, at);

#pragma unroll
    for (unsigned k = 0; k < FLOAT_BLOCK / 4; k++)
        words[k] = from.read();
}

/* By a block: how different probes of the bytes behind the first `most` are from those k steps
 * before: as sums[k], up to `most`; and as sums[0] from none. */
__device__ inline void sum_strides(row_shared *s, uint32_t step, uint32_t most)
{
    constexpr uint32_t TURNS = FLOAT_ROW_MAX / THREADS;
    uint32_t sums[TURNS] = {}, none = 0;

    for (uint32_t probe = 0; probe < FLOAT_PROBES; probe++) {
        const uint32_t at = most + (most - FLOAT_BLOCK) * probe / (FLOAT_PROBES - 1);
        uint32_t words[FLOAT_BLOCK / 4];
        load_block(s->bytes, at, words);
#pragma unroll
        for (unsigned k = 0; k < FLOAT_BLOCK / 4; k++)
            none += __vsadu4(words[k], 0x80808080u);
#pragma unroll
        for (uint32_t k = 0; k < TURNS; k++) {
            const uint32_t stride = step * (1 + k * blockDim.x + threadIdx.x);
            if (stride <= most)
                sums[k] += distance(words, s->bytes, at - stride);
        }
    }
    if (threadIdx.x == 0)
        s->sums[0] = (uint16_t)none;
#pragma unroll
    for (uint32_t k = 0; k < TURNS; k++) {
        const uint32_t n = 1 + k * blockDim.x + threadIdx.x;
        if (step * n <= most)
            s->sums[n] = (uint16_t)sums[k];
    }
    __syncthreads();
}

/* By a block: the stride at which bytes are most alike; or a shorter one at which they become
 * nearly as alike at once, as records of a table are. */
__device__ inline uint32_t find_first(const row_shared *s, uint32_t most, warp_values *room)
{
    uint32_t best = UINT32_MAX, found;

    for (uint32_t stride = 2 + threadIdx.x; stride <= most; stride += blockDim.x)
        best = min(best, (uint32_t)s->sums[stride] << 13 | stride);
    best = least_of_all(best, room);
    found = best & 0x1fff;
    for (uint32_t stride = 2 + threadIdx.x; stride < found; stride += blockDim.x) {
        const uint32_t above = s->sums[stride] - (best >> 13);
        const int32_t before = (int32_t)s->sums[stride - 1] - (int32_t)(best >> 13);
        if (before > FLOAT_SUM_LEAST && 8 * above <= (uint32_t)before)
            found = stride;
    }
    return least_of_all(found, room);
}

/* By a block: the short records of a row; 0: there are no rows of them. */
__device__ inline uint32_t find_rows_of_records(const row_shared *s, uint32_t most,
                                                warp_values *room)
{
    const uint32_t none = s->sums[0], below = none > FLOAT_SUM_LEAST ? none - none / 8 : 0;
    uint32_t best = UINT32_MAX;

    for (uint32_t rows = FLOAT_ROWS_LEAST + threadIdx.x; rows <= most; rows += blockDim.x)
        if (s->sums[rows] < below && s->sums[rows] < s->sums[rows - 1])
            best = min(best, (uint32_t)s->sums[rows] << 13 | rows);
    best = least_of_all(best, room);
    return best != UINT32_MAX ? best & 0x1fff : 0;
}

/* By four lanes, one for each probe: what is left of the bytes, in 1/256, if those `stride` before are
 * subtracted. */
__device__ inline uint32_t left_at(const row_shared *s, uint32_t count, uint32_t stride,
                                   bool is_asked)
{
    static_assert(FLOAT_PROBES == 4, "a lane for each");
    const uint32_t range = count - FLOAT_BLOCK - stride, probe = threadIdx.x % FLOAT_PROBES;
    uint32_t with = 0, without = 0;

    if (is_asked) {
        const uint32_t at = stride + range * probe / (FLOAT_PROBES - 1);
        uint32_t words[FLOAT_BLOCK / 4];
        load_block(s->bytes, at, words);
        with = distance(words, s->bytes, at - stride);
#pragma unroll
        for (unsigned k = 0; k < FLOAT_BLOCK / 4; k++)
            without += __vsadu4(words[k], 0x80808080u);
    }
    for (unsigned by = 1; by < FLOAT_PROBES; by *= 2) {
        with += __shfl_xor_sync(bale_warp::ALL, with, by);
        without += __shfl_xor_sync(bale_warp::ALL, without, by);
    }
    return without > FLOAT_SUM_LEAST ? 256 * with / without : 256;
}

/* By four lanes: the key of a second stride, the least of which wins; `order` decides between equal
 * ones. More is left at the stride `step` before. */
__device__ inline uint32_t key_of(const row_shared *s, uint32_t count, uint32_t stride,
                                  uint32_t step, uint32_t order, bool is_asked)
{
    const uint32_t left = left_at(s, count, stride, is_asked);
    const bool is_less = is_asked && left < 256 / 2;

    return left_at(s, count, stride - step, is_less) > left && is_less ? left << 13 | order
                                                                       : UINT32_MAX;
}

/* By a block: of differences at the first stride, which is not short, and along x, another stride
 * at which they are alike; 0: there is none. */
__device__ inline uint32_t find_second(const row_shared *s, uint32_t count, uint32_t first,
                                       warp_values *room)
{
    const uint32_t at_once = blockDim.x / FLOAT_PROBES;
    uint32_t key = UINT32_MAX;

    for (uint32_t least = FLOAT_ROWS_LEAST; least <= first / 2; least += at_once) {
        const uint32_t stride = least + threadIdx.x / FLOAT_PROBES;
        const bool divides = stride <= first / 2 && first % stride == 0;
        key = min(key, key_of(s, count, stride, stride / 8, FLOAT_ROW_MAX - stride, divides));
    }
    key = least_of_all(key, room);
    if (key != UINT32_MAX)
        return FLOAT_ROW_MAX - (key & 0x1fff);
    for (uint32_t least = FLOAT_ROWS_LEAST; least <= FLOAT_ROWS_MOST; least += at_once) {
        const uint32_t rows = least + threadIdx.x / FLOAT_PROBES;
        const bool fits = rows <= FLOAT_ROWS_MOST && rows * first + FLOAT_BLOCK <= count;
        key = min(key, key_of(s, count, rows * first, first, rows, fits));
    }
    key = least_of_all(key, room);
    return key != UINT32_MAX ? (key & 0x1fff) * first : 0;
}

/* The half of count elements, but at most those in which strides are looked for. */
__device__ inline uint32_t strides_of(uint32_t count)
{
    return min(count / 2, (uint32_t)FLOAT_ROW_MAX);
}

/* By a block: rows and planes of whole rows, by the chunk in the middle; *row stays 0 without. Where
 * nothing is known of rows, chunks have a cell. */
template <typename T>
__device__ inline void find_rows(row_shared *s, const extent &e, const float_layout &l,
                                 uint32_t *row, uint32_t *plane)
{
    const uint32_t chunks = (e.used + BALE_CUDA_CELL - 1) / BALE_CUDA_CELL;
    const uint32_t at = (chunks - 1) / 2 * BALE_CUDA_CELL;
    const uint32_t whole = (min(e.length - at, BALE_CUDA_CELL) - l.lead) / (uint32_t)sizeof(T);
    const uint32_t count = min(whole, (uint32_t)FLOAT_ROW_SPAN);
    const uint32_t most = strides_of(count);
    T *values = (T *)s->values;
    warp_values *room = &s->room;

    if (most < 2 * FLOAT_BLOCK)
        return;
    const integers<T> q = {
        map_of<T>(l), {e.raw + at + l.lead, l.big_endian}, {s->marks[0], s->marks[1]}};
    if (q.map.is_decimal)
        mark_decimals<T>(q.map, q.from, count, q.m, room);
    load_cell(q, cell{{0, count, 0}, 0, count}, halo{}, values, room);
    quantise(s, series<T>{values, 0}, count);
    sum_strides(s, 1, most);
    const uint32_t first = find_first(s, most, room);
    quantise(s, series<T>{values, first}, count - first);
    uint32_t second;
    if (first < FLOAT_ROWS_LEAST) {
        const uint32_t half = strides_of(count - first);
        sum_strides(s, first, half);
        second = first * find_rows_of_records(s, half / first, room);
    } else {
        second = find_second(s, count - first, first, room);
    }
    *row = second > 0 && second < first ? second : first;
    *plane = second > first ? second : second > 0 ? first : 0;
}
} // namespace bale_float

#endif
