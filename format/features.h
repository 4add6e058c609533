/* Feature tags of root slots and stream heads (FORMAT.md section 4): what a reader must know. */
#ifndef BALE_FORMAT_FEATURES_H
#define BALE_FORMAT_FEATURES_H

#include <stdint.h>

enum {
    BALE_FEATURE_PARTS = 1 << 0, /* frames may have an extent part */
};

#define BALE_FEATURE_TAGS 8u /* bytes: room for two tags */

/* Writes the tags of a set of features. */
void bale_features_encode(uint8_t features, uint8_t out[static BALE_FEATURE_TAGS]);

/* Reads the tags. BALE_OK, BALE_E_CORRUPT (a gap, a tag twice), or BALE_E_UNSUPPORTED: then the
 * four characters of the first unknown tag and a NUL are in unknown, unprintable characters as '?';
 * else unknown is as it was. */
int bale_features_decode(const uint8_t in[static BALE_FEATURE_TAGS], uint8_t *features,
                         char unknown[static 5]);

#endif
