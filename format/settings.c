#include "format/settings.h"

#include <string.h>

#include "format/bytes.h"
#include "format/codecs.h"
#include "format/err.h"
#include "format/hash.h"

enum {
    AT_VERSION = 4,
    AT_HEIGHT = 5,
    AT_LENGTH = 6,
    AT_GENERATION = 8,
    AT_CONTAINER_ID = 16,
    AT_TREE_POSITION = 24,
    AT_TREE_CHECKSUM = 32,
    AT_TREE_LENGTH = 40,
    AT_TYPE = 44,
    AT_FLAGS = 45,
    AT_PIPELINE = 46,
    AT_ROUNDS = 47,
    AT_DIMS = 48,
    AT_OFFSET = 72,
    AT_STEP = 80,
    AT_GREATEST_STEP = 88,
    AT_CHECKSUM = 96,
    VERSION = 1,
    BIG_ENDIAN_FLAG = 1,
};

static const uint8_t magic[4] = {'B', 'S', 'E', 'T'};

bool bale_settings_needed(const struct bale_field *field, uint64_t greatest_step)
{
    return field->type != BALE_FIELD_NONE || greatest_step != 0;
}

bool bale_settings_valid(uint8_t codec, const struct bale_field *field, unsigned rounds,
                         uint64_t greatest_step)
{
    return bale_settings_needed(field, greatest_step) && bale_field_valid(codec, field) &&
           rounds < BALE_ROUNDS_END &&
           (bale_codec_is_lossy(codec) || rounds == BALE_ROUNDS_UNDECIDED) &&
           (greatest_step == 0 || bale_step_valid(greatest_step)) &&
           (rounds != BALE_ROUNDS_YES || greatest_step >= field->step);
}

void bale_settings_encode(struct bale_settings *settings, uint64_t container_id,
                          uint8_t out[static BALE_SETTINGS_SIZE])
{
    const struct bale_field *field = &settings->field;

    memset(out, 0, BALE_SETTINGS_SIZE);
    memcpy(out, magic, sizeof magic);
    out[AT_VERSION] = VERSION;
    out[AT_HEIGHT] = settings->height;
    bale_put16(out + AT_LENGTH, BALE_SETTINGS_SIZE);
    bale_put64(out + AT_GENERATION, settings->generation);
    bale_put64(out + AT_CONTAINER_ID, container_id);
    bale_put64(out + AT_TREE_POSITION, settings->tree.position);
    bale_put64(out + AT_TREE_CHECKSUM, settings->tree.checksum);
    bale_put32(out + AT_TREE_LENGTH, settings->tree.length);
    out[AT_TYPE] = field->type;
    out[AT_FLAGS] = field->big_endian ? BIG_ENDIAN_FLAG : 0;
    out[AT_PIPELINE] = field->pipeline;
    out[AT_ROUNDS] = settings->rounds;
    for (size_t i = 0; i < BALE_FIELD_DIMS; i++)
        bale_put64(out + AT_DIMS + 8 * i, field->dims[i]);
    bale_put64(out + AT_OFFSET, field->offset);
    bale_put64(out + AT_STEP, field->step);
    bale_put64(out + AT_GREATEST_STEP, settings->greatest_step);
    settings->checksum = bale_hash(out, AT_CHECKSUM);
    bale_put64(out + AT_CHECKSUM, settings->checksum);
}

static void read_fields(const uint8_t *in, struct bale_settings *settings)
{
    *settings = (struct bale_settings){
        .field = {.type = in[AT_TYPE],
                  .pipeline = in[AT_PIPELINE],
                  .big_endian = (in[AT_FLAGS] & BIG_ENDIAN_FLAG) != 0,
                  .offset = bale_get64(in + AT_OFFSET),
                  .step = bale_get64(in + AT_STEP)},
        .rounds = in[AT_ROUNDS],
        .greatest_step = bale_get64(in + AT_GREATEST_STEP),
        .generation = bale_get64(in + AT_GENERATION),
        .checksum = bale_get64(in + AT_CHECKSUM),
        .tree = {.position = bale_get64(in + AT_TREE_POSITION),
                 .checksum = bale_get64(in + AT_TREE_CHECKSUM),
                 .length = bale_get32(in + AT_TREE_LENGTH)},
        .height = in[AT_HEIGHT],
    };
    for (size_t i = 0; i < BALE_FIELD_DIMS; i++)
        settings->field.dims[i] = bale_get64(in + AT_DIMS + 8 * i);
}

int bale_settings_decode(const uint8_t *in, const struct bale_root *root,
                         struct bale_settings *settings)
{
    if (root->tree.length != BALE_SETTINGS_SIZE)
        return BALE_E_CORRUPT;
    read_fields(in, settings);
    if (settings->checksum != root->tree.checksum ||
        settings->checksum != bale_hash(in, AT_CHECKSUM))
        return BALE_E_CORRUPT;
    if (memcmp(in, magic, sizeof magic) != 0 || in[AT_VERSION] < VERSION)
        return BALE_E_CORRUPT;
    if (in[AT_VERSION] > VERSION || (in[AT_FLAGS] & ~BIG_ENDIAN_FLAG) != 0)
        return BALE_E_UNSUPPORTED;
    if (bale_get16(in + AT_LENGTH) != BALE_SETTINGS_SIZE || settings->generation < 1 ||
        settings->generation > root->generation ||
        bale_get64(in + AT_CONTAINER_ID) != root->container_id)
        return BALE_E_CORRUPT;
    if (!bale_settings_valid(root->codec, &settings->field, settings->rounds,
                             settings->greatest_step))
        return BALE_E_CORRUPT;
    return bale_root_check_tree(root, &settings->tree, settings->height);
}
