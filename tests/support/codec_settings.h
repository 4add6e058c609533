/* The settings that tests go through: a row of them for each codec of format/codecs.h. A codec
 * without a row does not compile; tests/unit/kernels/frame/setting_test.c checks that each codec
 * has a setting in each set. */
#ifndef BALE_TESTS_SUPPORT_CODEC_SETTINGS_H
#define BALE_TESTS_SUPPORT_CODEC_SETTINGS_H

#include "format/err.h"
#include "kernels/frame/setting.h"
#include "tests/check.h"

/* What a setting is tested with. */
enum {
    SETTINGS_FRAMES = 1,      /* whole frames of all lengths and kinds of data */
    SETTINGS_CHUNK_SIZES = 2, /* chunks of up to 64 MiB: not for what is slow */
    SETTINGS_DAMAGE = 4,   /* frames of a codec's own that are damaged: no built-in one but store */
    SETTINGS_API = 8,      /* the library on the CPU */
    SETTINGS_GPU_API = 16, /* the library with a GPU */
    SETTINGS_RANDOM = 32,  /* items at random, through each engine */
    SETTINGS_END = 64,

    SETTINGS_MOST = SETTINGS_FRAMES | SETTINGS_CHUNK_SIZES | SETTINGS_API,
    SETTINGS_ALL = SETTINGS_END - 1,
};

/* CODEC_SETTINGS_name: the setting as a user writes it, and the sets that it is in. */
#define CODEC_SETTINGS_auto                                                                        \
    {"auto", SETTINGS_ALL & ~SETTINGS_DAMAGE}, {"auto:for=speed", SETTINGS_MOST},
#define CODEC_SETTINGS_store {"store", SETTINGS_ALL},
#define CODEC_SETTINGS_zero {"zero", SETTINGS_API | SETTINGS_RANDOM},
#define CODEC_SETTINGS_lz4 {"lz4", SETTINGS_ALL},
#define CODEC_SETTINGS_zstd                                                                        \
    {"zstd:-7", SETTINGS_MOST}, {"zstd:-5", SETTINGS_DAMAGE}, {"zstd:-3", SETTINGS_RANDOM},        \
        {"zstd:-2", SETTINGS_RANDOM}, {"zstd:1", SETTINGS_ALL},                                    \
        {"zstd:level=3", SETTINGS_MOST | SETTINGS_RANDOM}, {"zstd:6", SETTINGS_RANDOM},            \
        {"zstd:19", SETTINGS_FRAMES | SETTINGS_DAMAGE | SETTINGS_API},
#define CODEC_SETTINGS_gpulz                                                                       \
    {"gpulz", SETTINGS_ALL & ~SETTINGS_DAMAGE}, {"gpulz:c=2048", SETTINGS_RANDOM},                 \
        {"gpulz:s=1", SETTINGS_DAMAGE}, {"gpulz:s=1,c=65536", SETTINGS_RANDOM},                    \
        {"gpulz:s=1,w=40,c=65536", SETTINGS_FRAMES | SETTINGS_CHUNK_SIZES},                        \
        {"gpulz:s=1,w=64,c=2048", SETTINGS_GPU_API},                                               \
        {"gpulz:s=2,w=32", SETTINGS_API | SETTINGS_GPU_API},                                       \
        {"gpulz:s=4,c=2048", SETTINGS_DAMAGE}, {"gpulz:s=4,w=32,c=2048", SETTINGS_RANDOM},
#define CODEC_SETTINGS_culzss {"culzss", SETTINGS_ALL}, {"culzss:v=1", SETTINGS_ALL},

struct codec_setting {
    const char *text;
    unsigned sets;
};

#define CODEC_SETTINGS_BUILT_IN(name, NAME, id, frame) CODEC_SETTINGS_##name
#define CODEC_SETTINGS_OWN(name, NAME, id, frame, rank, closed, most) CODEC_SETTINGS_##name

static const struct codec_setting codec_settings[] = {
    CODEC_SETTINGS_auto BALE_CODEC_LIST(CODEC_SETTINGS_BUILT_IN, CODEC_SETTINGS_OWN)};

enum { CODEC_SETTINGS = sizeof codec_settings / sizeof codec_settings[0] };

/* The next setting of the set, from 0 on; *i becomes the one behind it. NULL: there is none. */
static inline const char *codec_settings_next(unsigned set, size_t *i)
{
    while (*i < CODEC_SETTINGS) {
        const struct codec_setting *setting = &codec_settings[(*i)++];

        if (setting->sets & set)
            return setting->text;
    }
    return NULL;
}

static inline struct bale_setting codec_setting_parse(const char *text)
{
    struct bale_setting setting;

    REQUIRE(bale_setting_parse(text, &setting, NULL) == BALE_OK);
    return setting;
}

/* One of the settings of the set. */
static inline struct bale_setting codec_settings_pick(unsigned set, uint64_t random)
{
    const char *of_set[CODEC_SETTINGS];
    size_t count = 0;

    for (size_t i = 0; (of_set[count] = codec_settings_next(set, &i)) != NULL;)
        if (++count == CODEC_SETTINGS)
            break;
    return codec_setting_parse(of_set[random % count]);
}

#endif
