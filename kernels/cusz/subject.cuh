/* cusz on the device: what is encoded: the elements of a chunk, and what is left of them behind a
 * prediction. */
#ifndef BALE_KERNELS_CUSZ_SUBJECT_CUH
#define BALE_KERNELS_CUSZ_SUBJECT_CUH

#include <cuda_runtime.h>

#include "kernels/cusz/cell_work.cuh"

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

constexpr uint32_t LINE = 4; /* words that a lane loads at once */

/* A chunk's words, behind a prediction of an order. QUICK: they are quick words, but where
 * depends_on_listed() says that exactly() has them. turned: they are when they are folded. */
template <typename WORD, bool QUICK> struct differences {
    row<WORD> elements;
    rounding r;
    uint32_t count, order;
    uint32_t row_stride, plane_stride;
    bool turned;
    const uint8_t *work; /* of the chunk's cells */

    /* What is known of a group's cell, and the group's number there. */
    __device__ const cell_work &cell_of(uint32_t group, uint32_t *number) const
    {
        constexpr uint32_t OF_CELL = BALE_CUDA_CELL / sizeof(WORD) / GROUP;

        *number = group % OF_CELL;
        return *(const cell_work *)(work + (size_t)(group / OF_CELL) * BALE_CUDA_WORK);
    }

    /* How many of a group's elements are listed. */
    __device__ uint32_t listed_of(uint32_t group) const
    {
        uint32_t number;
        const cell_work &cell = cell_of(group, &number);

        return cell.listed[number];
    }

    /* Whether a group has listed elements, or those have by which it is predicted, but for the one
     * before it. Not if there is no such group: group may be -1, which has no elements either. */
    __device__ bool depends_on_listed(uint32_t group) const
    {
        const uint32_t begin = group * GROUP, end = min(begin + GROUP, count);
        const uint32_t corners = order < 2 ? 1 : order < 3 ? 2 : 4;
        uint32_t listed = 0;

        for (uint32_t k = 0; k < corners && begin < end; k++) {
            const uint32_t back = (k & 1 ? row_stride : 0) + (k & 2 ? plane_stride : 0);
            if (back < end)
                listed += listed_of((begin > back ? begin - back : 0) / GROUP) +
                          listed_of((end - 1 - back) / GROUP);
        }
        return listed > 0;
    }

    __device__ differences<WORD, false> exactly() const
    {
        return {elements, r, count, order, row_stride, plane_stride, turned, work};
    }

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

        if (i < count)
            (void)quantised(r, elements.load(i), &listed);
        return listed;
    }

    /* By a warp: adds words so many before the lane's, which are 32 apart, begin + lane first; or
     * takes them off. Mostly all are there, or none is. */
    template <bool ADDS, uint32_t COUNT>
    __device__ void combine(uint32_t begin, uint32_t back, WORD v[COUNT]) const
    {
        const uint32_t first = begin - back, i = first + bale_warp::lane();

        if (QUICK && begin + 32 * COUNT <= back) {
#pragma unroll
            for (uint32_t k = 0; k < COUNT; k++)
                v[k] += ADDS ? type_of<WORD>::MAGIC_BITS : 0 - type_of<WORD>::MAGIC_BITS;
            return;
        }
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

    /* Whether lines() does, too: quick words, of which LINE are there or not together. */
    __device__ bool has_lines() const
    {
        return QUICK && (order < 2 || row_stride % LINE == 0) &&
               (order < 3 || plane_stride % LINE == 0);
    }

    /* By a lane: the same of the words from i on, a multiple of LINE, and of those from `next` on.
     * Those behind the chunk's end are anything. */
    __device__ void lines(uint32_t i, uint32_t next, WORD v[2 * LINE]) const
    {
        WORD own[2 * LINE], row_[2 * LINE] = {}, plane[2 * LINE] = {}, both[2 * LINE] = {};

        if (order >= 3) {
            load_line(i, plane_stride, plane);
            load_line(next, plane_stride, plane + LINE);
        }
        load_line(i, 0, own);
        load_line(next, 0, own + LINE);
        if (order >= 3) {
            load_line(i, row_stride + plane_stride, both);
            load_line(next, row_stride + plane_stride, both + LINE);
        }
        if (order >= 2) {
            load_line(i, row_stride, row_);
            load_line(next, row_stride, row_ + LINE);
        }
#pragma unroll
        for (uint32_t k = 0; k < 2 * LINE; k++) {
            v[k] = quick_word(r, own[k]) -
                   (order >= 2 ? quick_word(r, row_[k]) : type_of<WORD>::MAGIC_BITS);
            if (order >= 3)
                v[k] += quick_word(r, both[k]) - quick_word(r, plane[k]);
        }
    }

  private:
    __device__ void load_line(uint32_t i, uint32_t back, WORD line[LINE]) const
    {
        const uint4 *from = (const uint4 *)((const WORD *)elements.at + (i - back));

        if (i < back)
            return;
#pragma unroll
        for (uint32_t k = 0; k < LINE * sizeof(WORD) / sizeof *from; k++) {
            const uint4 some = from[k];
            memcpy((uint8_t *)line + k * sizeof some, &some, sizeof some);
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
            s.strides[2],
            !s.matches,
            lists.work + (size_t)chunk.first * BALE_CUDA_WORK};
}
} // namespace bale_cusz

#endif
