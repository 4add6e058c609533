#include "tools/bench/settings.h"

#include <stdio.h>
#include <string.h>

#include "format/reason.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"

/* Levels that get a point of their own. */
static const char *const levels[] = {"zstd:-5", "zstd:1",  "zstd:3", "zstd:6",
                                     "zstd:9",  "zstd:15", "lzr:1",  "lzr:2"};

bool bale_bench_settings_add(struct bale_bench_settings *settings, const char *text,
                             struct bale_reason *why)
{
    if (settings->count == BALE_BENCH_SETTINGS) {
        bale_reason_set(why, "%d are enough.", BALE_BENCH_SETTINGS);
        return false;
    }
    if (bale_setting_parse(text, &settings->list[settings->count], why) < 0)
        return false;
    settings->count++;
    return true;
}

static bool has_levels(const char *codec)
{
    size_t length = strlen(codec);

    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (strncmp(levels[i], codec, length) == 0 && levels[i][length] == ':')
            return true;
    return false;
}

static void add_levels(struct bale_bench_settings *settings, const char *codec)
{
    size_t length = strlen(codec);

    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (strncmp(levels[i], codec, length) == 0)
            bale_bench_settings_add(settings, levels[i], NULL);
}

void bale_bench_settings_all(struct bale_bench_settings *settings, unsigned chunk_log2)
{
    for (int id = 0; id < BALE_CODEC_AUTO; id++) {
        const char *name = bale_codec_name((uint8_t)id);
        if (!name || id == BALE_CODEC_ZERO || !bale_codec_takes_chunks((uint8_t)id, chunk_log2))
            continue;
        if (has_levels(name))
            add_levels(settings, name);
        else
            bale_bench_settings_add(settings, name, NULL);
    }
    bale_bench_settings_add(settings, "auto", NULL);
    bale_bench_settings_add(settings, "auto:for=speed", NULL);
}
