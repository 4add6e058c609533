#include "kernels/codec/codec.h"
#include "kernels/culzss/culzss.h"

static int64_t culzss_encode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                                   const uint8_t *raw, uint32_t raw_length, uint8_t *out,
                                   uint32_t capacity)
{
    (void)part;
    return bale_lzss_encode(work, bale_culzss_geometry((uint16_t)parameter), raw, raw_length, out,
                            capacity);
}

static int culzss_decode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                               const uint8_t *in, uint32_t length, uint8_t *raw,
                               uint32_t raw_length, uint32_t chunk_size, struct bale_wanted wanted)
{
    (void)work;
    (void)part;
    (void)chunk_size;
    return bale_lzss_decode(bale_culzss_geometry((uint16_t)parameter), in, length, raw, raw_length,
                            wanted);
}

const struct bale_codec bale_codec_culzss = {
    .id = BALE_CODEC_CULZSS,
    .name = "culzss",
    .create = bale_lzss_create,
    .destroy = bale_lzss_destroy,
    .encode = culzss_encode_chunk,
    .decode = culzss_decode_chunk,
};
