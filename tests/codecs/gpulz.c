#include "format/gpulz.h"

#include "tests/codecs/bytes.h"
#include "tests/codecs/lzss.h"

static const struct codec_setting settings[] = {
    {"gpulz", SETTINGS_ALL & ~(unsigned)SETTINGS_DAMAGE},
    {"gpulz:c=2048", SETTINGS_RANDOM},
    {"gpulz:s=1", SETTINGS_DAMAGE},
    {"gpulz:s=1,c=65536", SETTINGS_RANDOM},
    {"gpulz:s=1,w=40,c=65536", SETTINGS_FRAMES | SETTINGS_CHUNK_SIZES},
    {"gpulz:s=1,w=64,c=2048", SETTINGS_GPU_API},
    {"gpulz:s=2,w=32", SETTINGS_API | SETTINGS_GPU_API},
    {"gpulz:s=4,c=2048", SETTINGS_DAMAGE},
    {"gpulz:s=4,w=32,c=2048", SETTINGS_RANDOM},
    {.text = NULL},
};

static void mixed_numbers(uint8_t *raw, size_t length)
{
    sample_numbers(raw, length);
    sample_mix(raw, length);
}

static const struct codec_sample samples[] = {
    {"1", "gpulz:s=1", 70000, 16, sample_text, "bytes, two chunks, the largest window"},
    {"level-1", "gpulz:s=1,w=32,c=2048", 20000, 12, sample_text,
     "bytes, the smallest window and pieces"},
    {"2", "gpulz:s=2,w=128,c=2048", 20001, 13, sample_numbers,
     "symbols of two bytes, and one byte behind them"},
    {"4", "gpulz:s=4,c=65536", 69999, 16, sample_numbers,
     "symbols of four bytes, and three behind them"},
    {"8", "gpulz:s=8,w=255,c=8192", 20007, 14, sample_numbers,
     "symbols of eight bytes, and seven behind them"},
    {"adaptive", "gpulz:w=200", 20000, 14, sample_numbers,
     "the size of symbols follows from the bytes"},
    {"mixed", "gpulz:s=4", 12000, 12, mixed_numbers, "the second chunk is stored raw"},
    {.name = NULL},
};

static void streams(codec_stream_visit *visit, void *arg)
{
    enum { WINDOW = BALE_GPULZ_WINDOW_MIN, ADAPTIVE = BALE_GPULZ_ADAPTIVE };
    uint16_t parameter = bale_gpulz_parameter(0, BALE_GPULZ_PIECE_LOG2_MIN, WINDOW);
    uint16_t large = bale_gpulz_parameter(0, BALE_GPULZ_PIECE_LOG2_MAX + 1, WINDOW);

    lzss_bad_parameter("adaptive", parameter | ADAPTIVE, "adaptive symbols in a frame", visit, arg);
    lzss_bad_parameter("window-small", parameter - 1, "a window of 31", visit, arg);
    lzss_bad_parameter("piece", large, "pieces of 128 KiB", visit, arg);
    lzss_streams(parameter, WINDOW, visit, arg);
}

extern const struct codec_case codec_case_gpulz;
const struct codec_case codec_case_gpulz = {
    .id = BALE_CODEC_GPULZ,
    .defined = true,
    .settings = settings,
    .setting_parameters = 5 * 6 * 224, /* s, c, w */
    .frame_parameters = 4 * 6 * 224,
    .shapes = LZSS_SHAPES,
    .shape_fill = shape_fill,
    .samples = samples,
    .streams = streams,
};
