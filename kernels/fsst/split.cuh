/* fsst on the device: the split of a thread. */
#ifndef BALE_KERNELS_FSST_SPLIT_CUH
#define BALE_KERNELS_FSST_SPLIT_CUH

#include "kernels/fsst/match.cuh"

namespace bale_fsst
{
constexpr unsigned THREADS = SPLITS; /* of a block that encodes or decodes: one for each split */

__device__ inline uint64_t low_of(uint4 v)
{
    return v.x | (uint64_t)v.y << 32;
}

__device__ inline uint64_t high_of(uint4 v)
{
    return v.z | (uint64_t)v.w << 32;
}

/* Bytes of the thread's split of a chunk; 0: it has none. */
__device__ inline uint32_t split_length(uint32_t raw_length)
{
    const uint32_t at = threadIdx.x * SPLIT;

    return at >= raw_length ? 0 : min(raw_length - at, SPLIT);
}

/* The raw bytes of a split from its beginning on: 24 bytes in registers, and 16 that are on their
 * way. The split is aligned to 16 bytes; up to 15 bytes behind its end are read. */
class split_reader
{
  public:
    __device__ split_reader(const uint8_t *in, uint32_t length)
        : next_((const uint4 *)in), end_(in + length)
    {
        const uint4 first = load();

        low_ = low_of(first);
        high_ = high_of(first);
        ahead_ = load();
    }

    /* The next eight bytes; those behind the split may be any. */
    __device__ uint64_t eight() const
    {
        return low_ >> bits_ | high_ << 1 << (63 - bits_);
    }

    /* Goes on by 1 to 8 bytes. */
    __device__ void go_on(uint32_t bytes)
    {
        bits_ += 8 * bytes;
        if (bits_ < 64)
            return;
        bits_ -= 64;
        low_ = high_;
        high_ = odd_ ? high_of(ahead_) : low_of(ahead_);
        if (odd_)
            ahead_ = load();
        odd_ = !odd_;
    }

  private:
    __device__ uint4 load()
    {
        return (const uint8_t *)next_ < end_ ? *next_++ : make_uint4(0, 0, 0, 0);
    }

    const uint4 *next_;
    const uint8_t *end_;
    uint64_t low_, high_;
    uint4 ahead_;
    uint32_t bits_ = 0; /* of low_ that lie behind, below 64 */
    bool odd_ = false;  /* the first half of ahead_ is used */
};
} // namespace bale_fsst

#endif
