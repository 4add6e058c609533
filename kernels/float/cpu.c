#include <stdlib.h>

#include "format/err.h"
#include "kernels/codec/codec.h"
#include "kernels/float/learn.h"

static int float_create_work(void **work)
{
    *work = aligned_alloc(64, (sizeof(struct float_work) + 63) / 64 * 64);
    return *work ? BALE_OK : BALE_E_NOMEM;
}

static int64_t float_learn_extent(void *work, int16_t parameter, const struct bale_field *field,
                                  uint64_t offset, uint32_t chunk_size, const uint8_t *raw,
                                  uint32_t raw_length, uint8_t *out, uint32_t capacity)
{
    struct float_layout layout;

    (void)parameter;
    (void)chunk_size;
    if (capacity < FLOAT_PART_MAX ||
        !float_learn(work, float_steps_best(), field, offset, raw, raw_length, &layout))
        return 0;
    return float_part_write(&layout, out);
}

static int64_t float_encode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                                  const uint8_t *raw, uint32_t raw_length, uint8_t *out,
                                  uint32_t capacity)
{
    const struct float_steps *steps;
    struct float_layout layout;
    int err;

    (void)parameter;
    if (raw_length > FLOAT_CHUNK)
        return BALE_E_INVALID;
    if (part.length == 0)
        return 0;
    err = float_part_read(part, &layout);
    if (err < 0)
        return err;
    steps = &float_steps_best()[layout.size_log2 - 1];
    return steps->encode(work, &layout, raw, raw_length, out, capacity);
}

static int float_decode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                              const uint8_t *in, uint32_t length, uint8_t *raw, uint32_t raw_length,
                              uint32_t chunk_size, struct bale_wanted wanted)
{
    const struct float_steps *steps;
    struct float_layout layout;
    int err = float_part_read(part, &layout);

    (void)parameter;
    (void)chunk_size;
    if (raw_length > FLOAT_CHUNK || length > FLOAT_CHUNK)
        err = BALE_E_CORRUPT;
    if (err < 0)
        return err;
    steps = &float_steps_best()[layout.size_log2 - 1];
    return steps->decode(work, &layout, in, length, raw, raw_length, wanted);
}

const struct bale_codec bale_codec_float = {
    .id = BALE_CODEC_FLOAT,
    .name = "float",
    .create = float_create_work,
    .destroy = free,
    .learn = float_learn_extent,
    .encode = float_encode_chunk,
    .decode = float_decode_chunk,
};
