#include "kernels/codec/scratch.h"
#include "kernels/culzss/culzss.h"
#include "kernels/frame/registry.h"

static int64_t encode(struct bale_scratch *scratch, int16_t parameter, const uint8_t *raw,
                      uint32_t raw_length, uint8_t *out, uint32_t capacity)
{
    return bale_lzss_encode(scratch->lzss, bale_culzss_geometry((uint16_t)parameter), raw,
                            raw_length, out, capacity);
}

static int decode(struct bale_scratch *scratch, int16_t parameter, const uint8_t *in,
                  uint32_t length, uint8_t *raw, uint32_t raw_length, uint32_t chunk_size)
{
    (void)scratch;
    (void)chunk_size;
    return bale_lzss_decode(bale_culzss_geometry((uint16_t)parameter), in, length, raw, raw_length);
}

const struct bale_codec bale_codec_culzss = {
    .id = BALE_CODEC_CULZSS,
    .name = "culzss",
    .encode = encode,
    .decode = decode,
};
