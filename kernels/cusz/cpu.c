#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "kernels/codec/codec.h"
#include "kernels/cusz/cusz.h"
#include "kernels/round/mode.h"

static int create(void **work)
{
    *work = calloc(1, sizeof(struct cusz_work));
    return *work ? BALE_OK : BALE_E_NOMEM;
}

static int64_t learn(void *work, int16_t parameter, const struct bale_field *field, uint64_t offset,
                     uint32_t chunk_size, const uint8_t *raw, uint32_t raw_length, uint8_t *out,
                     uint32_t capacity)
{
    uint8_t bytes[CUSZ_PART];
    struct bale_float_mode mode;
    struct cusz_part part;
    uint32_t length = 0;

    (void)parameter;
    bale_float_mode_enter(&mode);
    if (cusz_learn(work, field, offset, chunk_size, raw, raw_length, &part))
        length = cusz_part_write(&part, bytes);
    bale_float_mode_leave(&mode);
    if (length > capacity)
        return 0;
    memcpy(out, bytes, length);
    return length;
}

/* The chunks of a frame come one after the other, so the part and what is made of it are mostly the
 * last one's. */
static int prepare(struct cusz_work *work, struct bale_extent_part part)
{
    int err;

    if (part.length == work->length && memcmp(part.bytes, work->bytes, part.length) == 0)
        return BALE_OK;
    work->length = 0;
    work->has_table = work->has_puts = false;
    err = cusz_part_read(part, &work->part);
    if (err < 0)
        return err;
    memcpy(work->bytes, part.bytes, part.length);
    work->length = part.length;
    return BALE_OK;
}

static int64_t encode(void *work, int16_t parameter, struct bale_extent_part part,
                      const uint8_t *raw, uint32_t raw_length, uint8_t *out, uint32_t capacity)
{
    struct cusz_work *w = work;
    struct bale_float_mode mode;
    int64_t length;

    (void)parameter;
    if (part.length == 0)
        return 0;
    length = prepare(w, part);
    if (length < 0)
        return length;
    if (!w->has_puts)
        cusz_puts_make(&w->part.codes, &w->puts);
    w->has_puts = true;
    bale_float_mode_enter(&mode);
    length = cusz_encode(w, &w->part, raw, raw_length, out, capacity);
    bale_float_mode_leave(&mode);
    return length;
}

static int decode(void *work, int16_t parameter, struct bale_extent_part part, const uint8_t *in,
                  uint32_t length, uint8_t *raw, uint32_t raw_length, uint32_t chunk_size,
                  struct bale_wanted wanted)
{
    struct cusz_work *w = work;
    struct bale_float_mode mode;
    int err;

    (void)parameter;
    if (chunk_size > CUSZ_CHUNK || part.length == 0)
        return BALE_E_CORRUPT;
    err = prepare(w, part);
    if (err < 0)
        return err;
    if (!w->has_table)
        cusz_table_make(&w->part.codes, &w->table);
    w->has_table = true;
    bale_float_mode_enter(&mode);
    err = cusz_decode(w, &w->part, in, length, raw, raw_length, wanted);
    bale_float_mode_leave(&mode);
    return err;
}

const struct bale_codec bale_codec_cusz = {
    .id = BALE_CODEC_CUSZ,
    .name = "cusz",
    .create = create,
    .destroy = free,
    .learn = learn,
    .encode = encode,
    .decode = decode,
};
