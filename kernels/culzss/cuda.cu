/* culzss (spec.md) on the device: v=1 with a thread for each piece, v=2 with a lane for each
 * position. */
#include "kernels/codec/launch.cuh"
#include "kernels/culzss/culzss.h"
#include "kernels/lzss/steps.cuh"
#include "kernels/lzss/thread.cuh"

namespace
{
struct culzss {
    /* As in culzss.h. */
    static __host__ __device__ bale_lzss::geometry of(uint32_t parameter)
    {
        return bale_lzss::geometry{0, by_thread(parameter) ? 9u : 12u, bale_lzss::THREAD_WINDOW};
    }

    static __host__ __device__ bool by_thread(uint32_t parameter)
    {
        return parameter == 1;
    }
};

constexpr uint16_t TRIAL = 2;

cudaError_t encode_threads(const cuda_batch *b)
{
    return bale_launch::start(bale_lzss::encode_by_thread<culzss>, b->count, bale_lzss::THREADS, 0,
                              b->stream, b->chunks, b->lists.raw, (uint8_t *)b->temp);
}

cudaError_t encode_part(const cuda_batch *b)
{
    return bale_launch::in_order([=] { return encode_threads(b); },
                                 [=] { return bale_lzss::encode_some<culzss, 0, 4>(b); },
                                 [=] { return bale_lzss::join<culzss>(b); });
}

cudaError_t encode(const cuda_batch *b)
{
    return bale_parts::in_parts(b, bale_lzss::SCRATCH, encode_part);
}

cudaError_t decode(const cuda_batch *b)
{
    return bale_lzss::decode_some<culzss, 0>(b);
}

cudaError_t open()
{
    return bale_launch::in_order(bale_lzss::open_encode<culzss, 0, 4>,
                                 bale_lzss::open_decode<culzss, 0>);
}
} // namespace

extern const cuda_codec_ops bale_cuda_culzss = bale_lzss::steps(TRIAL, open, encode, decode);
