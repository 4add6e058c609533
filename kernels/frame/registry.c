#include "kernels/frame/registry.h"

/* store and zero hold no compressed bytes: the frame layer does them, so they have no callbacks. */
static const struct bale_codec codec_store = {.id = BALE_CODEC_STORE, .name = "store"};
static const struct bale_codec codec_zero = {.id = BALE_CODEC_ZERO, .name = "zero"};

static const struct bale_codec *const table[] = {
    &codec_store,     &codec_zero,       &bale_codec_lz4,
    &bale_codec_zstd, &bale_codec_gpulz, &bale_codec_culzss,
};

const struct bale_codec *bale_codec_find(uint8_t id)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i]->id == id)
            return table[i];
    return NULL;
}

const char *bale_codec_name(uint8_t codec)
{
    const struct bale_codec *found = bale_codec_find(codec);

    if (codec == BALE_CODEC_AUTO)
        return "auto";
    return found ? found->name : NULL;
}
