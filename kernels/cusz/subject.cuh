/* cusz on the device: what is encoded: the elements of a chunk, and what is left of them behind a
 * prediction. Words are made of elements wherever they are needed, which takes less time than
 * keeping them. */
#ifndef BALE_KERNELS_CUSZ_SUBJECT_CUH
#define BALE_KERNELS_CUSZ_SUBJECT_CUH

#include <cuda_runtime.h>

#include "kernels/codec/lists.h"
#include "kernels/cusz/elements.cuh"

namespace bale_cusz
{
/* A frame's array. */
struct subject {
    rounding r;
    uint32_t strides[CUSZ_ORDERS - 1];
    uint32_t orders; /* to choose from; 0: the codec is not for the frame */
    uint32_t lead, size;
    bool matches; /* they are asked for */
};

/* As many orders as dimensions are known, and one without prediction. */
__device__ inline uint32_t orders_of(const bale_field &field, uint32_t chunk_elements,
                                     uint32_t strides[CUSZ_ORDERS - 1])
{
    uint32_t orders = 2;

    strides[0] = 1;
    for (uint32_t i = 1; i < CUSZ_ORDERS - 1 && field.dims[i] > 0; i++) {
        uint64_t stride = field.dims[i - 1];
        if (stride >= chunk_elements || (stride *= strides[i - 1]) >= chunk_elements)
            break;
        strides[i] = (uint32_t)stride;
        orders = i + 2;
    }
    return orders;
}

__device__ inline subject subject_of(const cuda_frame &frame, uint32_t chunk_size)
{
    const bale_field &field = frame.field;
    subject s = {};

    s.size = field.type == BALE_FIELD_F64 ? 8 : 4;
    s.matches = field.pipeline == BALE_PIPELINE_GPULZ_HUFFMAN;
    memcpy(&s.r.step, &field.step, sizeof s.r.step);
    if ((field.type != BALE_FIELD_F32 && field.type != BALE_FIELD_F64) || chunk_size > CUSZ_CHUNK ||
        !(s.r.step >= 0x1p-1021 && s.r.step <= 0x1p1021))
        return s;
    s.r.inverse = __ddiv_rn(1, s.r.step);
    s.r.narrow_inverse = (float)s.r.inverse;
    s.r.big_endian = field.big_endian;
    s.lead = (uint32_t)((field.offset - frame.offset) % s.size);
    s.orders = orders_of(field, chunk_size / s.size, s.strides);
    return s;
}

/* Elements of a chunk. */
__device__ inline uint32_t elements_of(const subject &s, const cuda_chunk &chunk)
{
    return chunk.whole > s.lead ? (chunk.whole - s.lead) / s.size : 0;
}

/* Whether an array may have quick words. */
__device__ inline bool may_be_quick(const subject &s)
{
    return !s.r.big_endian && s.lead == 0 &&
           (s.size == 8 || (s.r.inverse > 0x1p-120 && s.r.inverse < 0x1p120));
}

/* A chunk's words, behind a prediction of an order. QUICK: they are quick words. */
template <typename WORD, bool QUICK> struct differences {
    row<WORD> elements;
    rounding r;
    uint32_t count, order;
    uint32_t row_stride, plane_stride;

    /* Of an element that is not there: what stands for 0. */
    __device__ WORD word(uint32_t i) const
    {
        bool listed;

        /* A load that depends on nothing: several are in flight. */
        if constexpr (QUICK) {
            const WORD raw = ((const WORD *)elements.at)[min(i, count - 1)];
            return quick_word(r, i < count ? raw : 0);
        }
        return i < count ? quantised(r, elements.load(i), &listed) : 0;
    }

    __device__ bool is_listed(uint32_t i) const
    {
        bool listed = false;

        if (!QUICK && i < count)
            (void)quantised(r, elements.load(i), &listed);
        return listed;
    }

    /* By a warp: adds words so many before the lane's, which are 32 apart, begin + lane first; or
     * takes them off. Mostly all are there, or none is. */
    template <bool ADDS, uint32_t COUNT>
    __device__ void combine(uint32_t begin, uint32_t back, WORD v[COUNT]) const
    {
        const uint32_t first = begin - back, i = first + bale_warp::lane();

        if (QUICK && begin >= back && first + 32 * COUNT <= count) {
            const WORD *from = (const WORD *)elements.at + i;
            WORD raw[COUNT];
#pragma unroll
            for (uint32_t k = 0; k < COUNT; k++)
                raw[k] = from[32 * k];
#pragma unroll
            for (uint32_t k = 0; k < COUNT; k++)
                v[k] += ADDS ? quick_word(r, raw[k]) : 0 - quick_word(r, raw[k]);
            return;
        }
#pragma unroll
        for (uint32_t k = 0; k < COUNT; k++)
            v[k] += ADDS ? word(i + 32 * k) : 0 - word(i + 32 * k);
    }

    /* By a warp: what is left of words behind the strides above 1. */
    template <uint32_t COUNT> __device__ void columns(uint32_t begin, WORD v[COUNT]) const
    {
#pragma unroll
        for (uint32_t k = 0; k < COUNT; k++)
            v[k] = QUICK && order < 2 ? 0 - type_of<WORD>::MAGIC_BITS : 0;
        combine<true, COUNT>(begin, 0, v);
        if (order >= 2)
            combine<false, COUNT>(begin, row_stride, v);
        if (order >= 3) {
            combine<false, COUNT>(begin, plane_stride, v);
            combine<true, COUNT>(begin, row_stride + plane_stride, v);
        }
    }
};

template <typename WORD, bool QUICK>
__device__ inline differences<WORD, QUICK> differences_of(const subject &s, const cuda_chunk &chunk,
                                                          const cuda_lists &lists, uint32_t order)
{
    return {{lists.raw + (size_t)chunk.first * BALE_CUDA_CELL + s.lead},
            s.r,
            elements_of(s, chunk),
            order,
            s.strides[1],
            s.strides[2]};
}

constexpr uint32_t EACH = 8, GROUP = 32 * EACH; /* words of a lane, side by side, and of a warp */
constexpr uint32_t GROUPS = CUSZ_CHUNK / 4 / GROUP, GROUPS_OF_CELL = BALE_CUDA_CELL / 4 / GROUP;
static_assert(GROUP == 1u << CUSZ_SEGMENT_MIN, "segments are groups");

/* Where the lanes of a warp exchange the words of a group. */
struct alignas(16) stage {
    uint64_t words[GROUP];
};

/* A lane's words of a group, folded. */
template <typename WORD> struct words_of_lane {
    WORD words[EACH];
    uint32_t there; /* so many, the first ones, are there */

    /* The mask of those that are not zero. */
    __device__ uint32_t nonzero() const
    {
        uint32_t mask = 0;

#pragma unroll
        for (uint32_t k = 0; k < EACH; k++)
            mask |= (uint32_t)(words[k] != 0) << k;
        return mask & ((1u << there) - 1);
    }
};

/* By a warp: goes through words of a chunk, a group at a time. */
template <typename WORD, bool QUICK> class group_reader
{
  public:
    __device__ group_reader(const differences<WORD, QUICK> &d, stage *s, uint32_t begin)
        : d_(d), stage_((WORD *)s->words)
    {
        begin_at(begin);
    }

    __device__ void move(uint32_t begin)
    {
        if (begin != at_)
            begin_at(begin);
    }

    /* The lane's next words, as far as they are before end. */
    __device__ words_of_lane<WORD> next(uint32_t end)
    {
        const uint32_t lane = bale_warp::lane(), first = at_ + EACH * lane;
        words_of_lane<WORD> own;
        WORD v[EACH];

        d_.template columns<EACH>(at_, v);
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++)
            stage_[32 * k + lane] = v[k];
        __syncwarp();
        load_side_by_side(own.words);
        const WORD last = own.words[EACH - 1], other = __shfl_up_sync(ALL, last, 1);
        const WORD left = lane == 0 ? before_ : other;
        before_ = __shfl_sync(ALL, last, 31);
        if (d_.order > 0) {
#pragma unroll
            for (uint32_t k = EACH - 1; k > 0; k--)
                own.words[k] -= own.words[k - 1];
            own.words[0] -= left;
        }
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++)
            own.words[k] = folded(own.words[k]);
        own.there = first < end ? min(end - first, EACH) : 0;
        at_ += GROUP;
        return own;
    }

  private:
    __device__ void load_side_by_side(WORD words[EACH]) const
    {
        const uint4 *from = (const uint4 *)(stage_ + EACH * bale_warp::lane());

#pragma unroll
        for (uint32_t k = 0; k < EACH * sizeof(WORD) / sizeof *from; k++) {
            const uint4 some = from[k];
            memcpy((uint8_t *)words + k * sizeof some, &some, sizeof some);
        }
    }

    __device__ void begin_at(uint32_t at)
    {
        at_ = at;
        before_ = 0;
        if (at >= GROUP && d_.order > 0) {
            d_.template columns<1>(at - 32, &before_);
            before_ = __shfl_sync(ALL, before_, 31);
        }
    }

    const differences<WORD, QUICK> &d_;
    WORD *stage_;
    uint32_t at_;
    WORD before_;
};

/* By a warp: the zeros directly before the lane's first word that is not zero, up to the one before
 * it. nonzero: which of its words are not; any: the lanes that have some; open: zeros before the
 * group. */
__device__ inline uint32_t zeros_before(uint32_t nonzero, uint32_t any, uint32_t open)
{
    const uint32_t lane = bale_warp::lane(), lower = any & bale_warp::lower_lanes();
    const uint32_t other = lower ? 31 - (uint32_t)__clz((int)lower) : 0;
    const uint32_t behind = __shfl_sync(ALL, (uint32_t)__clz((int)nonzero) - (32 - EACH), other);
    const uint32_t own = (uint32_t)__ffs((int)nonzero) - 1;

    return own + (lower ? behind + EACH * (lane - other - 1) : open + EACH * lane);
}

/* By a warp: words of a group up to the last one that is not zero; 0: all are zeros. */
__device__ inline uint32_t words_upto_last(uint32_t nonzero, uint32_t any)
{
    const uint32_t last = any ? 31 - (uint32_t)__clz((int)any) : 0;

    return __shfl_sync(ALL, nonzero ? EACH * bale_warp::lane() + 32 - __clz((int)nonzero) : 0u,
                       last);
}

/* The token of a folded word that is not zero; *low: how many of its low bits follow. */
template <typename WORD> __device__ inline uint32_t token_of(WORD folded, uint32_t *low)
{
    *low = 0;
    if (folded < CUSZ_LITERALS)
        return CUSZ_RUNS - 1 + (uint32_t)folded;
    const uint32_t upper = (uint32_t)((uint64_t)folded >> 32);
    const uint32_t log2 = upper ? 63 - __clz((int)upper) : 31 - __clz((int)(uint32_t)folded);
    *low = log2 - 2;
    return CUSZ_CLASSES + 4 * (log2 - CUSZ_CLASS_LOG2) + ((uint32_t)(folded >> *low) & 3);
}
} // namespace bale_cusz

#endif
