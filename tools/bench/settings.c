#include "tools/bench/settings.h"

#include <stdio.h>

#include "format/reason.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"

/* Levels worth a point of their own, of codecs that have levels. */
static const char *const levels[] = {"zstd:-5", "zstd:1", "zstd:3", "zstd:6", "zstd:9", "zstd:15"};

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

void bale_bench_settings_all(struct bale_bench_settings *settings)
{
    for (int id = 0; id < BALE_CODEC_AUTO; id++) {
        const struct bale_codec *codec = bale_codec_find((uint8_t)id);
        if (!codec || id == BALE_CODEC_ZERO)
            continue;
        if (id != BALE_CODEC_ZSTD)
            bale_bench_settings_add(settings, codec->name, NULL);
        else
            for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
                bale_bench_settings_add(settings, levels[i], NULL);
    }
    bale_bench_settings_add(settings, "auto", NULL);
    bale_bench_settings_add(settings, "auto:for=speed", NULL);
}
