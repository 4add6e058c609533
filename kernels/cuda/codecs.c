#include "kernels/cuda/codecs.h"

#include "format/culzss.h"
#include "format/err.h"
#include "format/frame.h"
#include "format/gpulz.h"

static bool encodes_store(int16_t parameter)
{
    (void)parameter;
    return true;
}

#define ENCODES(name, id, nvcomp, encodes)                                                         \
    static bool encodes_##name(int16_t parameter)                                                  \
    {                                                                                              \
        return encodes;                                                                            \
    }
BALE_CUDA_CODECS(ENCODES)

#define ABOUT(name, id, nvcomp, encodes)                                                           \
    [CUDA_##id] = {#name, BALE_CODEC_##id, nvcomp, encodes_##name},
const struct cuda_codec_about bale_cuda_codecs[CUDA_CODECS] = {
    [CUDA_STORE] = {"store", BALE_CODEC_STORE, false, encodes_store}, BALE_CUDA_CODECS(ABOUT)};

int bale_cuda_codec_of(uint8_t id)
{
    for (int c = 0; c < CUDA_CODECS; c++)
        if (bale_cuda_codecs[c].id == id)
            return c;
    return BALE_E_INVALID;
}
