/* gpulz (spec.md) in the CUDA engine. */
#include "format/gpulz.h"
#include "kernels/lzss/lzss_steps.cuh"

namespace
{
struct gpulz {
    static constexpr unsigned SYMBOL_LOG2_MAX = BALE_GPULZ_SYMBOL_LOG2_MAX;

    /* As format/gpulz.h. */
    static __device__ bale_lzss::geometry of(uint32_t parameter)
    {
        return bale_lzss::geometry{
            parameter >> BALE_GPULZ_SYMBOL_AT & 3,
            BALE_GPULZ_PIECE_LOG2_MIN + (parameter >> BALE_GPULZ_PIECE_AT & 7), parameter & 0xff};
    }
};

constexpr uint16_t TRIAL = 0x01ff; /* s=1,w=255,c=4096 */
} // namespace

const cuda_codec_ops bale_cuda_gpulz = bale_lzss::steps<gpulz>(TRIAL);
