#include "kernels/cuda/codecs.h"

#include "format/err.h"

#define ABOUT(name, NAME, id, frame, rank, closed, ...) [rank] = {#name, id, closed},
const struct cuda_codec_about bale_cuda_codecs[CUDA_CODECS] = {
    [CUDA_STORE] = {"store", BALE_CODEC_STORE, false}, BALE_DEVICE_CODEC_LIST(ABOUT)};

int bale_cuda_codec_of(uint8_t id)
{
    for (int c = 0; c < CUDA_CODECS; c++)
        if (bale_cuda_codecs[c].id == id)
            return c;
    return BALE_E_INVALID;
}

bool bale_cuda_encodes(enum cuda_codec codec, int16_t parameter)
{
    const struct bale_codec_about *about = bale_codec_about(bale_cuda_codecs[codec].id);

    return codec == CUDA_STORE ||
           (about->in_frame((uint16_t)parameter) && parameter <= about->most);
}
