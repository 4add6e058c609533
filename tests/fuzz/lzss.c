/* Input: a frame's parameter (u16), a raw length (u16), and the stream of a gpulz or culzss chunk. */
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/gpulz.h"
#include "kernels/frame/registry.h"
#include "tests/fuzz/target.h"

enum { HEAD = 4, RAW_MAX = 2500 };

static struct bale_scratch *scratch;

static const struct bale_codec *find_codec(uint8_t id)
{
    FUZZ_HOLDS(scratch != NULL || bale_scratch_create(&scratch) == BALE_OK);
    return bale_codec_find(id);
}

/* What was decoded can be encoded, by the greedy parse, which another stream need not be of. */
static void check_raw(const struct bale_codec *codec, int16_t parameter, const uint8_t *raw,
                      uint32_t length)
{
    uint8_t *out = malloc(length);
    uint8_t *again = malloc(length);
    int64_t stored;

    FUZZ_HOLDS(out != NULL && again != NULL);
    stored = codec->encode(bale_scratch_work(scratch, codec->id), parameter, raw, length, out,
                           length - 1);
    FUZZ_HOLDS(stored >= 0 && stored < length);
    if (stored > 0) {
        FUZZ_HOLDS(codec->decode(bale_scratch_work(scratch, codec->id), parameter, out,
                                 (uint32_t)stored, again, length, 1 << 16) == BALE_OK);
        FUZZ_HOLDS(memcmp(again, raw, length) == 0);
    }
    free(again);
    free(out);
}

/* data has a head. */
static bool run(uint8_t id, const uint8_t *data, size_t size)
{
    const struct bale_codec *codec = find_codec(id);
    int16_t parameter = (int16_t)bale_get16(data);
    uint32_t length = bale_get16(data + 2) + 1u;
    uint8_t *raw = malloc(length); /* exact, for the sanitizer */
    uint8_t *in = malloc(size > HEAD ? size - HEAD : 1);

    FUZZ_HOLDS(raw != NULL && in != NULL);
    memcpy(in, data + HEAD, size - HEAD);
    int err = codec->decode(bale_scratch_work(scratch, codec->id), parameter, in,
                            (uint32_t)size - HEAD, raw, length, 1 << 16);
    FUZZ_HOLDS(err == BALE_OK || err == BALE_E_CORRUPT);
    if (err == BALE_OK)
        check_raw(codec, parameter, raw, length);
    free(in);
    free(raw);
    return err == BALE_OK;
}

static size_t seed(uint8_t id, uint16_t parameter, uint32_t length, uint8_t *out)
{
    uint8_t raw[RAW_MAX];

    for (uint32_t i = 0; i < length; i++)
        raw[i] = (uint8_t)(i % 24 < 8 ? i / 200 : i % 7 % 3);
    bale_put16(out, parameter);
    bale_put16(out + 2, (uint16_t)(length - 1));
    int64_t stored = find_codec(id)->encode(bale_scratch_work(scratch, id), (int16_t)parameter, raw,
                                            length, out + HEAD, length - 1);
    FUZZ_HOLDS(stored > 0);
    return HEAD + (size_t)stored;
}

bool fuzz_gpulz(const uint8_t *data, size_t size)
{
    return size >= HEAD && bale_codec_about(BALE_CODEC_GPULZ)->in_frame(bale_get16(data)) &&
           run(BALE_CODEC_GPULZ, data, size);
}

size_t fuzz_gpulz_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX])
{
    static const uint32_t lengths[] = {40, 300, RAW_MAX, 2051, 2063};

    if (n >= sizeof lengths / sizeof lengths[0])
        return 0;
    return seed(BALE_CODEC_GPULZ, bale_gpulz_parameter(n % 4, BALE_GPULZ_PIECE_LOG2_MIN, 255 - n),
                lengths[n], out);
}

bool fuzz_culzss(const uint8_t *data, size_t size)
{
    return size >= HEAD && bale_codec_about(BALE_CODEC_CULZSS)->in_frame(bale_get16(data)) &&
           run(BALE_CODEC_CULZSS, data, size);
}

size_t fuzz_culzss_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX])
{
    static const uint32_t lengths[] = {40, 300, 1024, 1025, RAW_MAX};

    if (n >= sizeof lengths / sizeof lengths[0])
        return 0;
    return seed(BALE_CODEC_CULZSS, (uint16_t)(n % 2 + 1), lengths[n], out);
}
