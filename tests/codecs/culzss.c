#include "tests/codecs/bytes.h"
#include "tests/codecs/lzss.h"

enum { WINDOW = 128 };

static const struct codec_setting settings[] = {
    {"culzss", SETTINGS_ALL}, {"culzss:v=1", SETTINGS_ALL}, {.text = NULL}};

static void longest(uint8_t *raw, size_t length)
{
    memset(raw, 'x', length);
    raw[0] = 'y';
}

static void mixed_numbers(uint8_t *raw, size_t length)
{
    sample_numbers(raw, length);
    sample_mix(raw, length);
}

static const struct codec_sample samples[] = {
    {"1", "culzss:v=1", 70000, 16, sample_text, "version 1, two chunks, the last piece shorter"},
    {"2", "culzss:v=2", 70000, 16, sample_text, "version 2, two chunks, the last piece shorter"},
    {"longest", "culzss:v=2", 20000, 14, longest, "pointers of the greatest length"},
    {"mixed", "culzss:v=1", 12000, 12, mixed_numbers, "the second chunk is stored raw"},
    {.name = NULL},
};

static void streams(codec_stream_visit *visit, void *arg)
{
    lzss_bad_parameter("version-0", 0, "version 0", visit, arg);
    lzss_bad_parameter("version-3", 3, "version 3", visit, arg);
    lzss_bad_parameter("version-257", 257, "version 257", visit, arg);
    lzss_streams(1, WINDOW, visit, arg);
}

extern const struct codec_case codec_case_culzss;
const struct codec_case codec_case_culzss = {
    .id = BALE_CODEC_CULZSS,
    .defined = true,
    .settings = settings,
    .setting_parameters = 2,
    .frame_parameters = 2,
    .shapes = LZSS_SHAPES,
    .shape_fill = shape_fill,
    .samples = samples,
    .streams = streams,
};
