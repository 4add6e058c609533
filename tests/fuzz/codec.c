/* A target for each codec of format/codecs.h. Input: a frame's parameter (u16), a raw length (u16),
 * of a codec with an extent part its length (u16) and its bytes, and a chunk's stored bytes. */
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "kernels/frame/registry.h"
#include "tests/codecs/cases.h"
#include "tests/fuzz/target.h"

enum { HEAD = 4, PART_HEAD = 2, RAW_MAX = 2500, CHUNK_SIZE = 1 << 16 };

static struct bale_scratch *scratch;

static const struct bale_codec *find_codec(uint8_t id)
{
    FUZZ_HOLDS(scratch != NULL || bale_scratch_create(&scratch) == BALE_OK);
    return bale_codec_find(id);
}

/* Bytes that were decoded can be encoded, and decoded again. The stream may be another one. */
static void check_raw(const struct bale_codec *codec, int16_t parameter, const uint8_t *raw,
                      uint32_t length)
{
    void *work = bale_scratch_work(scratch, codec->id);
    uint8_t room[CODEC_PART_MAX];
    struct bale_extent_part part = codec_case_part(codec, work, parameter, raw, length, room);
    uint8_t *out = malloc(length);
    uint8_t *again = malloc(length);
    int64_t stored;

    FUZZ_HOLDS(out != NULL && again != NULL);
    stored = codec->encode(work, parameter, part, raw, length, out, length - 1);
    FUZZ_HOLDS(stored >= 0 && stored < length);
    if (stored > 0) {
        FUZZ_HOLDS(codec->decode(work, parameter, part, out, (uint32_t)stored, again, length,
                                 CHUNK_SIZE, (struct bale_wanted){0, length}) == BALE_OK);
        FUZZ_HOLDS(memcmp(again, raw, length) == 0);
    }
    free(again);
    free(out);
}

/* A range, which the input's size chooses, is as in the whole chunk; raw is NULL if that is
 * damaged. */
static void check_range(const struct bale_codec *codec, int16_t parameter,
                        struct bale_extent_part part, const uint8_t *in, uint32_t stored,
                        const uint8_t *raw, uint32_t length)
{
    struct bale_wanted wanted = {.from = stored * 7 % length};
    uint8_t *some = malloc(length);
    int err;

    wanted.to = wanted.from + 1 + stored * 13 % (length - wanted.from);
    FUZZ_HOLDS(some != NULL);
    err = codec->decode(bale_scratch_work(scratch, codec->id), parameter, part, in, stored, some,
                        length, CHUNK_SIZE, wanted);
    FUZZ_HOLDS(err == BALE_OK || (err == BALE_E_CORRUPT && !raw));
    if (raw)
        FUZZ_HOLDS(memcmp(some + wanted.from, raw + wanted.from, wanted.to - wanted.from) == 0);
    free(some);
}

static uint8_t *copy_of(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = malloc(length > 0 ? length : 1);

    FUZZ_HOLDS(copy != NULL);
    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

/* Takes the extent part from the input, if the codec has one. False: the input ends within it. */
static bool take_part(uint8_t id, const uint8_t **data, size_t *size, struct bale_extent_part *part)
{
    size_t length;

    if (!bale_codec_has_part(id))
        return true;
    if (*size < PART_HEAD)
        return false;
    length = bale_get16(*data);
    *data += PART_HEAD, *size -= PART_HEAD;
    if (length > *size)
        return false;
    *part = (struct bale_extent_part){*data, (uint32_t)length};
    *data += length, *size -= length;
    return true;
}

static bool run_codec(uint8_t id, const uint8_t *data, size_t size)
{
    const struct bale_codec *codec = find_codec(id);
    struct bale_extent_part part = {NULL, 0};
    struct bale_setting setting;
    uint32_t length, stored;
    uint8_t *raw, *in, *shared;
    int err;

    if (size < HEAD || !bale_codec_about(id)->in_frame(bale_get16(data)))
        return false;
    setting = (struct bale_setting){
        .codec = id, .parameter = (int16_t)bale_get16(data), .field = codec_case_field(id)};
    length = bale_get16(data + 2) + 1u;
    data += HEAD, size -= HEAD;
    if (!take_part(id, &data, &size, &part))
        return false;
    stored = (uint32_t)size;
    raw = malloc(length); /* exact, for the sanitizer */
    in = copy_of(data, stored);
    shared = copy_of(part.bytes, part.length);
    FUZZ_HOLDS(raw != NULL);
    part.bytes = shared;
    err = codec->decode(bale_scratch_work(scratch, id), setting.parameter, part, in, stored, raw,
                        length, CHUNK_SIZE, (struct bale_wanted){0, length});
    FUZZ_HOLDS(err == BALE_OK || err == BALE_E_CORRUPT);
    check_range(codec, setting.parameter, part, in, stored, err == BALE_OK ? raw : NULL, length);
    /* A chunk of one byte is never encoded, nor with a parameter that no setting has. */
    if (err == BALE_OK && length > 1 && bale_setting_valid(setting))
        check_raw(codec, setting.parameter, raw, length);
    free(shared);
    free(in);
    free(raw);
    return err == BALE_OK;
}

static int nth_field(const struct bale_option *option, unsigned n)
{
    if (option->values)
        return option->values[n % option->value_count].field;
    return option->max - (int)(n % (unsigned)(option->max - option->min + 1));
}

/* The parameter of seed n: each option takes its values in turn, as far as frames may have them. */
static uint16_t parameter_of(uint8_t id, unsigned n)
{
    size_t count;
    const struct bale_option *options = bale_codec_options(id, &count);
    uint16_t parameter = 0;

    for (size_t i = 0; i < count; i++)
        if (!options[i].alias)
            parameter = bale_option_set(&options[i], parameter, nth_field(&options[i], 0));
    for (size_t i = 0; i < count; i++) {
        int field = nth_field(&options[i], 7 * n);
        uint16_t with = bale_option_set(&options[i], parameter, field);
        if (bale_option_has(&options[i], field) && bale_codec_about(id)->in_frame(with))
            parameter = with;
    }
    return parameter;
}

/* Writes an input but for the stored bytes, which follow; returns where. */
static uint8_t *put_head(uint8_t id, uint16_t parameter, uint32_t length,
                         struct bale_extent_part part, uint8_t *out)
{
    bale_put16(out, parameter);
    bale_put16(out + 2, (uint16_t)(length - 1));
    out += HEAD;
    if (!bale_codec_has_part(id))
        return out;
    bale_put16(out, (uint16_t)part.length);
    memcpy(out + PART_HEAD, part.bytes, part.length);
    return out + PART_HEAD + part.length;
}

/* The search for a good stream that is made by hand. */
struct by_hand {
    uint8_t id;
    unsigned skip; /* so many first */
    uint8_t *out;
    size_t length; /* of the input; 0: there is none yet */
};

static void take_stream(void *arg, const struct codec_stream *stream)
{
    struct by_hand *search = arg;
    uint8_t *to;

    if (!stream->good || stream->raw_length > RAW_MAX || search->length > 0 || search->skip-- > 0)
        return;
    to = put_head(search->id, stream->parameter, stream->raw_length,
                  (struct bale_extent_part){stream->part, stream->part_length}, search->out);
    memcpy(to, stream->stored, stream->length);
    search->length = (size_t)(to - search->out) + stream->length;
}

static size_t seed_by_hand(uint8_t id, unsigned n, uint8_t *out)
{
    struct by_hand search = {.id = id, .skip = n, .out = out};

    codec_case_streams(codec_case_of(id), take_stream, &search);
    return search.length;
}

static size_t seed_codec(uint8_t id, unsigned n, uint8_t *out)
{
    void (*fill)(uint64_t, uint8_t *, size_t) = codec_case_of(id)->fill;
    static const uint32_t lengths[] = {40, 300, 1024, 1025, RAW_MAX, 2051, 2063};
    enum { LENGTHS = sizeof lengths / sizeof lengths[0] };
    uint8_t raw[RAW_MAX], room[CODEC_PART_MAX], *to;
    const struct bale_codec *codec = find_codec(id);
    void *work = bale_scratch_work(scratch, id);
    struct bale_extent_part part;
    uint16_t parameter;
    uint32_t length;
    int64_t stored;

    if (n >= LENGTHS)
        return seed_by_hand(id, n - LENGTHS, out);
    length = lengths[n] < codec_case_of(id)->least ? codec_case_of(id)->least : lengths[n];
    parameter = parameter_of(id, n);
    if (fill)
        fill(n, raw, length);
    for (uint32_t i = 0; !fill && i < length; i++)
        raw[i] = (uint8_t)(i % 24 < 8 ? i / 200 : i % 7 % 3);
    part = codec_case_part(codec, work, (int16_t)parameter, raw, length, room);
    to = put_head(id, parameter, length, part, out);
    stored = codec->encode(work, (int16_t)parameter, part, raw, length, to, length - 1);
    FUZZ_HOLDS(stored > 0);
    return (size_t)(to - out) + (size_t)stored;
}

#define TARGET(name, NAME, id, ...)                                                                \
    bool fuzz_##name(const uint8_t *data, size_t size)                                             \
    {                                                                                              \
        return run_codec(id, data, size);                                                          \
    }                                                                                              \
                                                                                                   \
    size_t fuzz_##name##_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX])                      \
    {                                                                                              \
        return seed_codec(id, n, out);                                                             \
    }

BALE_CODEC_LIST(BALE_CODEC_SKIP, TARGET)
