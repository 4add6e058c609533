/* The settings page (FORMAT.md section 5): what a root has no room for. Pure functions. */
#ifndef BALE_FORMAT_SETTINGS_H
#define BALE_FORMAT_SETTINGS_H

#include <stdint.h>

#include "format/field.h"
#include "format/root.h"

#define BALE_SETTINGS_SIZE 104u

struct bale_settings {
    struct bale_field field;
    uint8_t rounds;         /* enum bale_rounds */
    uint64_t greatest_step; /* as in struct bale_root */
    uint64_t generation;    /* of the commit that wrote the page */
    uint64_t checksum;      /* set by encode and decode */
    struct bale_ref tree;   /* the index, and its height, as a root without a page has them */
    uint8_t height;
};

/* Whether a file of which this is known has a settings page. */
bool bale_settings_needed(const struct bale_field *field, uint64_t greatest_step);

/* Whether the page of a file with this codec may have them: there is something to say; only a lossy
 * codec has decided whether to round; and a step with which it does is not beyond the greatest. */
bool bale_settings_valid(uint8_t codec, const struct bale_field *field, unsigned rounds,
                         uint64_t greatest_step);

/* Writes the page, checksum included. */
void bale_settings_encode(struct bale_settings *settings, uint64_t container_id,
                          uint8_t out[static BALE_SETTINGS_SIZE]);

/* Reads and validates the page that the root, of height BALE_HEIGHT_SETTINGS, refers to; in has
 * root->tree.length bytes. BALE_OK, BALE_E_CORRUPT or BALE_E_UNSUPPORTED. */
int bale_settings_decode(const uint8_t *in, const struct bale_root *root,
                         struct bale_settings *settings);

#endif
