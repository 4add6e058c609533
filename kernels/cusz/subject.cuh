/* cusz on the device: what is encoded: the elements of a chunk, and what is left of them behind a
 * prediction. Words are made of elements wherever they are needed, which takes less time than
 * keeping them. */
#ifndef BALE_KERNELS_CUSZ_SUBJECT_CUH
#define BALE_KERNELS_CUSZ_SUBJECT_CUH

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

    memcpy(&s.r.step, &field.step, sizeof s.r.step);
    if ((field.type != BALE_FIELD_F32 && field.type != BALE_FIELD_F64) || chunk_size > CUSZ_CHUNK ||
        !(s.r.step >= 0x1p-1021 && s.r.step <= 0x1p1021))
        return s;
    s.r.inverse = __ddiv_rn(1, s.r.step);
    s.r.big_endian = field.big_endian;
    s.size = field.type == BALE_FIELD_F64 ? 8 : 4;
    s.lead = (uint32_t)((field.offset - frame.offset) % s.size);
    s.matches = field.pipeline == BALE_PIPELINE_GPULZ_HUFFMAN;
    s.orders = orders_of(field, chunk_size / s.size, s.strides);
    return s;
}

/* Elements of a chunk. */
__device__ inline uint32_t elements_of(const subject &s, const cuda_chunk &chunk)
{
    return chunk.whole > s.lead ? (chunk.whole - s.lead) / s.size : 0;
}

/* A chunk's words, behind a prediction of an order. */
template <typename WORD> struct differences {
    row<WORD> elements;
    rounding r;
    uint32_t count, order;
    uint32_t row_stride, plane_stride;

    __device__ WORD word(uint32_t i) const
    {
        bool listed;

        return quantised(r, elements.load(i), &listed);
    }

    /* What is left behind the strides above 1. *listed: element i is. Behind the chunk it is 0. */
    __device__ WORD column(uint32_t i, bool *listed) const
    {
        *listed = false;
        if (i >= count)
            return 0;
        WORD word_ = quantised(r, elements.load(i), listed);
        if (order >= 2 && i >= row_stride)
            word_ -= word(i - row_stride);
        if (order >= 3 && i >= plane_stride)
            word_ -= word(i - plane_stride);
        if (order >= 3 && i >= (uint64_t)row_stride + plane_stride)
            word_ += word(i - row_stride - plane_stride);
        return word_;
    }
};

template <typename WORD>
__device__ inline differences<WORD> differences_of(const subject &s, const cuda_chunk &chunk,
                                                   const cuda_lists &lists, uint32_t order)
{
    return {{lists.raw + (size_t)chunk.first * BALE_CUDA_CELL + s.lead},
            s.r,
            elements_of(s, chunk),
            order,
            s.strides[1],
            s.strides[2]};
}

/* By a warp: goes through words of a chunk, 32 at a time. */
template <typename WORD> class stretch
{
  public:
    __device__ stretch(const differences<WORD> &d, uint32_t begin) : d_(d), at_(begin)
    {
        bool listed;

        before_ = begin > 0 && d.order > 0 ? d.column(begin - 1, &listed) : 0;
    }

    /* The lane's next word. */
    __device__ WORD next(bool *listed)
    {
        const WORD column = d_.column(at_ + bale_warp::lane(), listed);
        const WORD other = __shfl_up_sync(ALL, column, 1);
        const WORD left = bale_warp::lane() == 0 ? before_ : other;

        before_ = __shfl_sync(ALL, column, 31);
        at_ += 32;
        return d_.order > 0 ? column - left : column;
    }

  private:
    const differences<WORD> &d_;
    uint32_t at_;
    WORD before_;
};

/* Zeros that follow each other, looked for by a warp in one tile of 32 words after the other. */
struct zero_runs {
    uint32_t open = 0; /* zeros before the tile */

    /* nonzero: the lanes whose words are not zero. How many zeros are before this lane's word. */
    __device__ uint32_t before(uint32_t nonzero) const
    {
        const uint32_t lower = nonzero & bale_warp::lower_lanes(), lane = bale_warp::lane();

        return lower ? lane - (32 - __clz((int)lower)) : lane + open;
    }

    /* Behind so many words of the tile. */
    __device__ void go_on(uint32_t nonzero, uint32_t count)
    {
        open = nonzero ? count - (32 - __clz((int)nonzero)) : open + count;
    }
};

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
