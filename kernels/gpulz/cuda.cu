/* gpulz (spec.md) on the device. */
#include "format/gpulz.h"
#include "kernels/codec/launch.cuh"
#include "kernels/lzss/steps.cuh"

namespace
{
struct gpulz {
    /* As in format/gpulz.h. */
    static __host__ __device__ bale_lzss::geometry of(uint32_t parameter)
    {
        return bale_lzss::geometry{
            parameter >> BALE_GPULZ_SYMBOL_AT & 3,
            BALE_GPULZ_PIECE_LOG2_MIN + (parameter >> BALE_GPULZ_PIECE_AT & 7), parameter & 0xff};
    }
};

constexpr uint16_t TRIAL = 0x01ff; /* s=1,w=255,c=4096 */

template <unsigned LOG2> cudaError_t encode_symbols(const cuda_batch *b)
{
    return bale_launch::in_order([=] { return bale_lzss::encode_some<gpulz, LOG2, 1>(b); },
                                 [=] { return bale_lzss::encode_some<gpulz, LOG2, 4>(b); },
                                 [=] { return bale_lzss::encode_some<gpulz, LOG2, 8>(b); });
}

cudaError_t encode_part(const cuda_batch *b)
{
    return bale_launch::in_order(
        [=] { return encode_symbols<0>(b); }, [=] { return encode_symbols<1>(b); },
        [=] { return encode_symbols<2>(b); }, [=] { return encode_symbols<3>(b); },
        [=] { return bale_lzss::join<gpulz>(b); });
}

cudaError_t encode(const cuda_batch *b)
{
    return bale_parts::in_parts(b, bale_lzss::SCRATCH, encode_part);
}

cudaError_t decode(const cuda_batch *b)
{
    return bale_launch::in_order([=] { return bale_lzss::decode_some<gpulz, 0>(b); },
                                 [=] { return bale_lzss::decode_some<gpulz, 1>(b); },
                                 [=] { return bale_lzss::decode_some<gpulz, 2>(b); },
                                 [=] { return bale_lzss::decode_some<gpulz, 3>(b); });
}

template <unsigned LOG2> cudaError_t open_symbols()
{
    return bale_launch::in_order(
        bale_lzss::open_encode<gpulz, LOG2, 1>, bale_lzss::open_encode<gpulz, LOG2, 4>,
        bale_lzss::open_encode<gpulz, LOG2, 8>, bale_lzss::open_decode<gpulz, LOG2>);
}

cudaError_t open()
{
    return bale_launch::in_order(open_symbols<0>, open_symbols<1>, open_symbols<2>,
                                 open_symbols<3>);
}
} // namespace

extern const cuda_codec_ops bale_cuda_gpulz = bale_lzss::steps(TRIAL, open, encode, decode);
