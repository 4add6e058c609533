#include "tests/codecs/bytes.h"
#include "tests/codecs/cases.h"

static const struct codec_setting settings[] = {{"lz4", SETTINGS_ALL}, {.text = NULL}};

static void mixed_text(uint8_t *raw, size_t length)
{
    sample_text(raw, length);
    sample_mix(raw, length);
}

static const struct codec_sample samples[] = {
    {"text", "lz4", 20000, 12, sample_text, "five chunks"},
    {"mixed", "lz4", 12000, 12, mixed_text, "the second chunk is stored raw"},
    {.name = NULL},
};

/* One sequence, literals "abcd" and a match of 4 + 15 + 6 bytes, and five last literals: 34
 * bytes. */
static struct codec_bytes one_sequence(uint16_t offset)
{
    enum { LITERALS_4_MATCH_LONG = 0x4f, LITERALS_5 = 0x50 };
    struct codec_bytes b = {.length = 0};

    bytes_add_number(&b, LITERALS_4_MATCH_LONG, 1);
    bytes_add(&b, "abcd", 4);
    bytes_add_number(&b, offset, 2);
    bytes_add_number(&b, 6, 1);
    bytes_add_number(&b, LITERALS_5, 1);
    bytes_add(&b, "vwxyz", 5);
    return b;
}

static void streams(codec_stream_visit *visit, void *arg)
{
    enum { RAW_LENGTH = 34 };
    static const uint8_t raw[] = "abcdabcdabcdabcdabcdabcdabcdavwxyz!";
    static const struct {
        const char *name, *what;
        uint16_t offset;
    } rows[] = {
        {"overlap", "a match that reaches into itself", 4},
        {"offset-zero", "a match at offset 0", 0},
        {"offset", "a match before the chunk's start", 5},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct codec_bytes b = one_sequence(rows[i].offset);
        struct codec_stream stream = {.name = rows[i].name,
                                      .what = rows[i].what,
                                      .good = i == 0,
                                      .stored = b.data,
                                      .length = b.length,
                                      .raw = raw,
                                      .raw_length = RAW_LENGTH};
        visit(arg, &stream);
    }
}

extern const struct codec_case codec_case_lz4;
const struct codec_case codec_case_lz4 = {
    .id = BALE_CODEC_LZ4,
    .settings = settings,
    .setting_parameters = 1,
    .frame_parameters = 1,
    .samples = samples,
    .streams = streams,
};
