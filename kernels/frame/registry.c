#include "kernels/frame/registry.h"

/* store and zero hold no compressed bytes: the frame layer does them, so they have no callbacks. */
#define BUILT_IN(name, NAME, id, frame)                                                            \
    static const struct bale_codec bale_codec_##name = {id, #name, NULL, NULL, NULL};
BALE_CODEC_LIST(BUILT_IN, BALE_CODEC_SKIP)

#define ENTRY_BUILT_IN(name, NAME, id, frame) &bale_codec_##name,
#define ENTRY(name, NAME, id, frame, rank, closed, most) &bale_codec_##name,
static const struct bale_codec *const table[] = {BALE_CODEC_LIST(ENTRY_BUILT_IN, ENTRY)};

const struct bale_codec *bale_codec_find(uint8_t id)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i]->id == id)
            return table[i];
    return NULL;
}
