#include "format/features.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"

enum { TAG_SIZE = 4 };

static const struct {
    uint8_t feature;
    uint8_t tag[TAG_SIZE];
} known[] = {
    {BALE_FEATURE_PARTS, {'p', 'a', 'r', 't'}},
};
enum { KNOWN = sizeof known / sizeof known[0] };

void bale_features_encode(uint8_t features, uint8_t out[static BALE_FEATURE_TAGS])
{
    memset(out, 0, BALE_FEATURE_TAGS);
    for (size_t i = 0; i < KNOWN; i++) {
        if ((features & known[i].feature) == 0)
            continue;
        memcpy(out, known[i].tag, TAG_SIZE);
        out += TAG_SIZE;
    }
}

/* 0: the tag is unknown. */
static uint8_t feature_of(const uint8_t *tag)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (memcmp(tag, known[i].tag, TAG_SIZE) == 0)
            return known[i].feature;
    return 0;
}

int bale_features_decode(const uint8_t in[static BALE_FEATURE_TAGS], uint8_t *features,
                         char unknown[static 5])
{
    bool ended = false;

    *features = 0;
    for (const uint8_t *tag = in; tag < in + BALE_FEATURE_TAGS; tag += TAG_SIZE) {
        uint8_t feature = feature_of(tag);

        if (bale_get32(tag) == 0) {
            ended = true;
            continue;
        }
        if (ended || (*features & feature) != 0)
            return BALE_E_CORRUPT;
        *features |= feature;
        if (feature != 0)
            continue;
        for (int c = 0; c < TAG_SIZE; c++)
            unknown[c] = (char)(tag[c] >= 0x20 && tag[c] < 0x7f ? tag[c] : '?');
        unknown[TAG_SIZE] = '\0';
        return BALE_E_UNSUPPORTED;
    }
    return BALE_OK;
}
