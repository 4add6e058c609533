/* cusz on the device: running sums that go over several cells of a chunk, behind decode.cuh. */
#ifndef BALE_KERNELS_CUSZ_FINISH_CUH
#define BALE_KERNELS_CUSZ_FINISH_CUH

#include "kernels/codec/lists.h"
#include "kernels/cusz/layout.cuh"
#include "kernels/cusz/sums.cuh"

namespace bale_cusz
{
constexpr uint32_t COLUMNS = 2048; /* as many or more are shared by a chunk's blocks */

/* What decoding knows of a cell, in its working memory. */
struct cell_decoded {
    head h;
    layout l;
    uint64_t total; /* of its words, where they are added up */
    bool fine;
};
static_assert(CELLS <= 32, "a lane for each");
static_assert(sizeof(cell_decoded) <= BALE_CUDA_WORK, "in the working memory of a cell");

__device__ inline cell_decoded *decoded_of_cell(const cuda_lists &lists, uint32_t c)
{
    return (cell_decoded *)(lists.work + (size_t)c * BALE_CUDA_WORK);
}

/* The last sums of a cell by their places in a row of the array; then what is before the cell. They
 * lie behind the parts, of which there are at most as many as cells. */
constexpr size_t ROW_AT = 512, ROW_BYTES = BALE_CUDA_PART - ROW_AT;
static_assert(ROW_AT >= CUSZ_PART, "behind a part");

__device__ inline void *row_of_cell(const cuda_lists &lists, uint32_t c)
{
    return lists.parts + (size_t)c * BALE_CUDA_PART + ROW_AT;
}

/* Where a cell leaves its words' sum and last row. */
struct carries {
    uint64_t *total;
    void *last_row;
};

enum where {
    IN_CELL,  /* the chunk has one cell, or there is nothing to add up */
    BY_CELLS, /* each cell adds up its words, for strides of 1 and of rows; then comes the rest */
    BY_ONE_BLOCK, /* one block does everything, when all words are decoded */
};

/* How a chunk's words are added up. */
struct passes {
    enum where where;
    uint32_t rows;    /* 0: not by cells */
    uint32_t columns; /* the stride that is left; 0: none */
};

__device__ inline passes passes_of(const head &h, uint32_t elements, uint32_t size)
{
    const uint32_t row = h.order >= 2 && h.strides[1] < elements ? h.strides[1] : 0;
    const uint32_t plane = h.order >= 3 && h.strides[2] < elements ? h.strides[2] : 0;

    if (h.order == 0 || elements <= BALE_CUDA_CELL / size)
        return {IN_CELL, 0, 0};
    const bool by_cells = row > 1 && row <= ROW_BYTES / size;
    const uint32_t columns = by_cells || row == 0 ? plane : row;
    if ((!by_cells && row > 0 && plane > 0) || (columns > 0 && columns < COLUMNS))
        return {BY_ONE_BLOCK, 0, 0};
    return {BY_CELLS, by_cells ? row : 0, columns};
}

/* By a block: the last sums of a whole cell, whose first word is at `begin`. */
template <typename WORD>
__device__ inline void write_last_row(const shared_row<WORD> &words, uint32_t begin, uint32_t row,
                                      WORD *to)
{
    for (uint32_t i = CELL_WORDS<WORD> - row + threadIdx.x; i < CELL_WORDS<WORD>; i += blockDim.x)
        to[(begin + i) % row] = words.load(i);
}

/* By a block: sets before[k] to the sum of the words in cells before k. */
template <typename WORD>
__device__ inline void place_totals(const cuda_lists &lists, uint32_t first, uint32_t cells,
                                    WORD *before)
{
    const uint32_t k = threadIdx.x;

    if (k < 32) {
        const WORD own = k < cells ? (WORD)decoded_of_cell(lists, first + k)->total : 0;
        const WORD upto = warp_sums(own);
        if (k < cells)
            before[k] = upto - own;
    }
    __syncthreads();
}

/* By a block: puts the sums before each cell in place of its last row. */
template <typename WORD>
__device__ inline void place_rows(const cuda_lists &lists, uint32_t first, uint32_t cells,
                                  uint32_t row, WORD *before)
{
    place_totals(lists, first, cells, before);
    for (uint32_t i = threadIdx.x; i < row; i += blockDim.x) {
        WORD sum = 0, last[CELLS];
#pragma unroll
        for (uint32_t k = 0; k < CELLS; k++)
            last[k] = k + 1 < cells ? ((const WORD *)row_of_cell(lists, first + k))[i] : 0;
#pragma unroll
        for (uint32_t k = 0; k < CELLS; k++) {
            if (k >= cells)
                break;
            const uint32_t skip = (i + row - k * CELL_WORDS<WORD> % row) % row;
            const uint32_t count = (CELL_WORDS<WORD> - 1 - skip) / row + 1;
            ((WORD *)row_of_cell(lists, first + k))[i] = sum;
            sum += last[k] + before[k] * (WORD)count;
        }
    }
}

constexpr uint32_t FINISH_THREADS = 256, FINISH_BLOCKS = 4; /* so many on a multiprocessor */

/* A block for each cell, which works if its chunk begins there and has rows that go over cells. */
__global__ void __launch_bounds__(FINISH_THREADS, FINISH_BLOCKS)
    carry(const cuda_chunk *chunks, cuda_lists lists)
{
    __shared__ uint64_t before[CELLS];
    const uint32_t c = blockIdx.x, cells = (chunks[c].whole - 1) / BALE_CUDA_CELL + 1;
    const cell_decoded *w = decoded_of_cell(lists, c);

    if (chunks[c].first != c || !w->fine)
        return;
    const passes p = passes_of(w->h, w->l.elements, w->h.f64 ? 8 : 4);
    if (p.rows == 0)
        return;
    if (w->h.f64)
        place_rows(lists, c, cells, p.rows, before);
    else
        place_rows(lists, c, cells, p.rows, (uint32_t *)before);
}

/* The words of a chunk, as far as cells have added them up, and what is before these. */
template <typename WORD> struct cell_sums {
    row<WORD> words;
    const WORD *before;       /* of each cell */
    const uint8_t *rows;      /* of the first cell, behind the parts */
    uint32_t stride, inverse; /* of a row, and of its length; 0: there are none */

    __device__ WORD load(uint32_t i) const
    {
        const uint32_t cell = i / CELL_WORDS<WORD>;
        const WORD word = words.load(i);

        if (stride == 0)
            return word + before[cell];
        const WORD *carried = (const WORD *)(rows + (size_t)cell * BALE_CUDA_PART);
        const uint32_t down = over_row(i % CELL_WORDS<WORD>) + 1;
        return word + carried[i - over_row(i) * stride] + before[cell] * (WORD)down;
    }

    /* The quad from word i on. All strides are multiples of quads. */
    __device__ quad<WORD> load_quad(uint32_t i) const
    {
        const uint32_t cell = i / CELL_WORDS<WORD>;
        quad<WORD> q = *(const quad<WORD> *)(words.at + i * sizeof(WORD)), carried = {};
        WORD all = before[cell];

        if (stride != 0) {
            carried = *(const quad<WORD> *)(rows + (size_t)cell * BALE_CUDA_PART +
                                            (i - over_row(i) * stride) * sizeof(WORD));
            all *= (WORD)(over_row(i % CELL_WORDS<WORD>) + 1);
        }
#pragma unroll
        for (uint32_t k = 0; k < quad<WORD>::COUNT; k++)
            q.words[k] += carried.words[k] + all;
        return q;
    }

    /* Whether chunks of so many words, with columns of so many, have only whole quads. */
    __device__ bool has_quads(uint32_t elements, uint32_t columns) const
    {
        return (elements | columns | stride) % quad<WORD>::COUNT == 0 &&
               (uintptr_t)words.at % sizeof(quad<WORD>) == 0;
    }

    /* i / stride, of less than 2^18 and 2^10: the inverse is less than 2^10 / 2^32 too great. */
    __device__ uint32_t over_row(uint32_t i) const
    {
        return __umulhi(i, inverse);
    }
};

/* By a thread: the elements of words i, i + step and so on below end. ADDS: of their sums. */
template <bool ADDS, typename WORD>
__device__ inline void finish_words(const cell_sums<WORD> &sums, uint32_t i, uint32_t end,
                                    uint32_t step, const rounding &r)
{
    constexpr uint32_t DEEP = FLIGHT / 8;
    WORD sum = 0, v[DEEP];

    for (; i < end; i += DEEP * step) {
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++)
            v[k] = i + k * step < end ? sums.load(i + k * step) : 0;
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++) {
            sum = ADDS ? sum + v[k] : v[k];
            if (i + k * step < end)
                sums.words.store(i + k * step, restored(r, sum));
        }
    }
}

/* The same by quads. */
template <bool ADDS, typename WORD>
__device__ inline void finish_quads(const cell_sums<WORD> &sums, uint32_t i, uint32_t end,
                                    uint32_t step, const rounding &r)
{
    constexpr uint32_t DEEP = 4;
    quad<WORD> sum = {}, v[DEEP];

    for (; i < end; i += DEEP * step) {
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++)
            if (i + k * step < end)
                v[k] = sums.load_quad(i + k * step);
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++) {
            quad<WORD> out;
            if (i + k * step >= end)
                break;
#pragma unroll
            for (uint32_t n = 0; n < quad<WORD>::COUNT; n++) {
                sum.words[n] = ADDS ? sum.words[n] + v[k].words[n] : v[k].words[n];
                out.words[n] = restored(r, sum.words[n]);
            }
            *(quad<WORD> *)(sums.words.at + (i + k * step) * sizeof(WORD)) = out;
        }
    }
}

/* Columns of a chunk, or words, that a block makes elements of. */
struct finish_part {
    uint32_t begin, end, of;
};

/* By a block: its share of a chunk's elements. adds: words of a column are added up. */
template <typename WORD>
__device__ inline void finish_columns(const cell_sums<WORD> &sums, const finish_part &own,
                                      uint32_t elements, bool adds, const rounding &r)
{
    constexpr uint32_t COUNT = quad<WORD>::COUNT;
    const bool quads = sums.has_quads(elements, own.of);
    const uint32_t each = quads ? COUNT : 1, first = own.begin + each * threadIdx.x;
    const uint32_t step = each * blockDim.x;

    if (!adds && quads)
        finish_quads<false>(sums, first, own.end, step, r);
    else if (!adds)
        finish_words<false>(sums, first, own.end, step, r);
    for (uint32_t i = first; i < own.end && adds; i += step)
        if (quads)
            finish_quads<true>(sums, i, elements, own.of, r);
        else
            finish_words<true>(sums, i, elements, own.of, r);
}

/* By a block: puts the listed elements of its share in their places. False: a position is out of
 * range, or not above the one before. */
template <typename WORD>
__device__ inline bool put_listed(const layout &l, const uint8_t *list, const row<WORD> &elements,
                                  const finish_part &own)
{
    bool fine = true;

    for (uint32_t i = threadIdx.x; i < l.listed; i += blockDim.x) {
        const uint32_t position = number32(list + 4 * i);
        const uint8_t *from = list + 4 * l.listed + i * sizeof(WORD);
        WORD element = 0;
        for (uint32_t k = 0; k < sizeof(WORD); k++)
            element |= (WORD)from[k] << 8 * k;
        if (position < l.elements && position % own.of - own.begin < own.end - own.begin)
            elements.store(position, element);
        fine = fine && position < l.elements && (i == 0 || position > number32(list + 4 * i - 4));
    }
    return __syncthreads_and(fine);
}

/* By a block: its share of a chunk's elements. before, partial: in shared memory. */
template <typename WORD>
__device__ inline bool finish_share(const cuda_lists &lists, const cuda_chunk &chunk, uint32_t cell,
                                    const cell_decoded &w, uint8_t *raw, WORD *before,
                                    WORD *partial)
{
    const head h = w.h;
    const layout l = w.l;
    const passes p = passes_of(h, l.elements, sizeof(WORD));
    const uint32_t cells = (chunk.whole - 1) / BALE_CUDA_CELL + 1;
    const row<WORD> words = {raw + l.lead};
    const uint8_t *list = (const uint8_t *)lists.decode_from[chunk.first] +
                          (lists.decode_from_lengths[chunk.first] - l.list);
    finish_part own = {0, cell == 0 ? l.elements : 0, l.elements};

    if (p.where == BY_CELLS) {
        const uint32_t of = p.columns ? p.columns : l.elements;
        const uint32_t each = ((of - 1) / cells + 32) / 32 * 32;
        own = {min(cell * each, of), min(cell * each + each, of), of};
        place_totals(lists, chunk.first, cells, before);
        const cell_sums<WORD> sums = {words, before,
                                      (const uint8_t *)row_of_cell(lists, chunk.first), p.rows,
                                      p.rows ? UINT32_MAX / p.rows + 1 : 0};
        finish_columns(sums, own, l.elements, p.columns > 0, h.r);
    } else if (p.where == BY_ONE_BLOCK && cell == 0) {
        for (uint32_t i = h.order; i-- > 1;)
            sum_stride(words, l.elements, w.h.strides[i], partial);
        restore(words, l.elements, h.r, partial);
    }
    __syncthreads();
    return put_listed(l, list, words, own);
}

/* A block for each cell. */
__global__ void __launch_bounds__(FINISH_THREADS, FINISH_BLOCKS)
    finish(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    __shared__ uint64_t before[CELLS], partial[FINISH_THREADS];
    const uint32_t c = blockIdx.x;
    const cuda_chunk chunk = chunks[c];
    const cell_decoded &w = *decoded_of_cell(lists, chunk.first);
    const uint32_t cells = (chunk.whole - 1) / BALE_CUDA_CELL + 1;
    uint8_t *raw = (uint8_t *)to[chunk.first];
    bool fine = true;

    for (uint32_t i = threadIdx.x; i < cells; i += blockDim.x)
        fine = fine && decoded_of_cell(lists, chunk.first + i)->fine;
    fine = __syncthreads_and(fine);
    if (fine)
        fine = w.h.f64 ? finish_share(lists, chunk, c - chunk.first, w, raw, before, partial)
                       : finish_share(lists, chunk, c - chunk.first, w, raw, (uint32_t *)before,
                                      (uint32_t *)partial);
    if (c != chunk.first)
        return;
    if (fine) {
        const layout &l = w.l;
        const uint8_t *sides = (const uint8_t *)lists.decode_from[c] + l.lengths - l.lead - l.tail;
        for (uint32_t i = threadIdx.x; i < l.lead + l.tail; i += blockDim.x)
            raw[i < l.lead ? i : chunk.whole - l.tail + i - l.lead] = sides[i];
    }
    if (threadIdx.x == 0) {
        lists.statuses[c] = !fine;
        lists.decoded_lengths[c] = fine ? chunk.whole : 0;
    }
}
} // namespace bale_cusz

#endif
