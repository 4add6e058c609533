#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "kernels/codec/codec.h"
#include "kernels/fsst/learn.h"

struct fsst_work {
    struct fsst_learn learn;
    struct fsst_matcher matcher; /* of the symbols in part */
    uint8_t part[FSST_PART];
    uint32_t part_length; /* 0: of none */
    uint16_t lengths[FSST_SPLITS];
};

static int fsst_create_work(void **work)
{
    *work = calloc(1, sizeof(struct fsst_work));
    return *work ? BALE_OK : BALE_E_NOMEM;
}

static int64_t fsst_learn_extent(void *work, int16_t parameter, const struct bale_field *field,
                                 uint64_t offset, uint32_t chunk_size, const uint8_t *raw,
                                 uint32_t raw_length, uint8_t *out, uint32_t capacity)
{
    struct fsst_work *w = work;
    struct fsst_symbols symbols;

    (void)parameter;
    (void)field;
    (void)offset;
    (void)chunk_size;
    fsst_learn(&w->learn, raw, raw_length, capacity, &symbols);
    return fsst_part_write(&symbols, out);
}

/* The chunks of a frame come one after the other, so the matcher is mostly the last one's. */
static int prepare(struct fsst_work *w, struct bale_extent_part part)
{
    struct fsst_symbols symbols;
    int err;

    if (part.length == w->part_length && memcmp(part.bytes, w->part, part.length) == 0)
        return BALE_OK;
    err = fsst_part_read(part, &symbols);
    if (err < 0)
        return err;
    memcpy(w->part, part.bytes, part.length);
    w->part_length = part.length;
    fsst_matcher_build(&w->matcher, &symbols);
    return BALE_OK;
}

static int64_t fsst_encode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                                 const uint8_t *raw, uint32_t raw_length, uint8_t *out,
                                 uint32_t capacity)
{
    struct fsst_work *w = work;
    int err;

    (void)parameter;
    if (part.length == 0)
        return 0;
    err = prepare(w, part);
    return err < 0 ? err : fsst_encode(&w->matcher, w->lengths, raw, raw_length, out, capacity);
}

static int fsst_decode_chunk(void *work, int16_t parameter, struct bale_extent_part part,
                             const uint8_t *in, uint32_t length, uint8_t *raw, uint32_t raw_length,
                             uint32_t chunk_size, struct bale_wanted wanted)
{
    struct fsst_symbols symbols;
    int err = fsst_part_read(part, &symbols);

    (void)work;
    (void)parameter;
    (void)chunk_size;
    return err < 0 ? err : fsst_decode(&symbols, in, length, raw, raw_length, wanted);
}

const struct bale_codec bale_codec_fsst = {
    .id = BALE_CODEC_FSST,
    .name = "fsst",
    .create = fsst_create_work,
    .destroy = free,
    .learn = fsst_learn_extent,
    .encode = fsst_encode_chunk,
    .decode = fsst_decode_chunk,
};
