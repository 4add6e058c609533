#include "format/root.h"

#include <stdbool.h>
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/frame.h"
#include "format/hash.h"
#include "format/page.h"
#include "format/settings.h"

enum {
    AT_VERSION = 4,
    AT_FLAGS = 5,
    AT_MODE = 6,
    AT_GENERATION = 8,
    AT_DURABLE = 16,
    AT_SESSION = 24,
    AT_EXTENT = 28,
    AT_SIZE = 32,
    AT_END = 40,
    AT_TREE_POSITION = 48,
    AT_TREE_LENGTH = 56,
    AT_HEIGHT = 60,
    AT_CODEC = 61,
    AT_PARAMETER = 62,
    AT_TREE_CHECKSUM = 64,
    AT_STORED = 72,
    AT_CONTAINER_ID = 80,
    AT_FEATURES = 88,
    AT_MTIME = 96,
    AT_CHECKSUM = 104,
    VERSION = 1,
    MODE_BITS = 07777,
    SET_USER_ID = 04000,
    SET_GROUP_ID = 02000,
    OWNER_READS_AND_WRITES = 0600,
    STICKY = 01000,
};

static const uint8_t magic[4] = {'B', 'A', 'L', 'E'};

void bale_root_encode(const struct bale_root *root, uint8_t slot[static BALE_ROOT_SIZE])
{
    memset(slot, 0, BALE_ROOT_SIZE);
    memcpy(slot, magic, sizeof magic);
    slot[AT_VERSION] = VERSION;
    slot[AT_FLAGS] = root->flags;
    bale_put16(slot + AT_MODE, root->mode);
    bale_put64(slot + AT_GENERATION, root->generation);
    bale_put64(slot + AT_DURABLE, root->durable);
    bale_put32(slot + AT_SESSION, root->session);
    bale_put32(slot + AT_EXTENT, root->extent);
    bale_put64(slot + AT_SIZE, root->size);
    bale_put64(slot + AT_END, root->end);
    bale_put64(slot + AT_TREE_POSITION, root->tree.position);
    bale_put32(slot + AT_TREE_LENGTH, root->tree.length);
    slot[AT_HEIGHT] = root->height;
    slot[AT_CODEC] = root->codec;
    bale_put16(slot + AT_PARAMETER, root->parameter);
    bale_put64(slot + AT_TREE_CHECKSUM, root->tree.checksum);
    bale_put64(slot + AT_STORED, root->stored);
    bale_put64(slot + AT_CONTAINER_ID, root->container_id);
    bale_features_encode(root->features, slot + AT_FEATURES);
    bale_put64(slot + AT_MTIME, (uint64_t)root->mtime);
    bale_put64(slot + AT_CHECKSUM, bale_hash(slot, AT_CHECKSUM));
}

static void read_fields(const uint8_t *slot, struct bale_root *root)
{
    *root = (struct bale_root){
        .generation = bale_get64(slot + AT_GENERATION),
        .durable = bale_get64(slot + AT_DURABLE),
        .size = bale_get64(slot + AT_SIZE),
        .end = bale_get64(slot + AT_END),
        .stored = bale_get64(slot + AT_STORED),
        .container_id = bale_get64(slot + AT_CONTAINER_ID),
        .mtime = (int64_t)bale_get64(slot + AT_MTIME),
        .tree = {.position = bale_get64(slot + AT_TREE_POSITION),
                 .checksum = bale_get64(slot + AT_TREE_CHECKSUM),
                 .length = bale_get32(slot + AT_TREE_LENGTH)},
        .session = bale_get32(slot + AT_SESSION),
        .extent = bale_get32(slot + AT_EXTENT),
        .mode = bale_get16(slot + AT_MODE),
        .flags = slot[AT_FLAGS],
        .height = slot[AT_HEIGHT],
        .codec = slot[AT_CODEC],
        .parameter = bale_get16(slot + AT_PARAMETER),
    };
}

uint32_t bale_root_backing_mode(uint32_t mode)
{
    return (mode & (SET_USER_ID | SET_GROUP_ID | 0777)) | OWNER_READS_AND_WRITES;
}

uint32_t bale_root_permissions(uint16_t mode, uint32_t backing)
{
    return mode & MODE_BITS & (backing | OWNER_READS_AND_WRITES | STICKY);
}

static bool all_zero(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* A settings page says the rest. That of a codec that knows no fields is checked with the page. */
static int check_setting(const struct bale_root *root)
{
    bool paged = root->height == BALE_HEIGHT_SETTINGS;

    if (!bale_codec_about(root->codec))
        return BALE_E_UNSUPPORTED;
    if (!bale_parameter_valid(root->codec, (int16_t)root->parameter))
        return BALE_E_CORRUPT;
    if (paged)
        return (root->features & BALE_FEATURE_PARTS) != 0 ? BALE_OK : BALE_E_CORRUPT;
    return bale_codec_is_lossy(root->codec) ? BALE_E_CORRUPT : BALE_OK;
}

static int check_attributes(const struct bale_root *root)
{
    if (root->mode != 0 && (root->mode & ~MODE_BITS) != BALE_ROOT_MODE_IN_CONTAINER)
        return BALE_E_CORRUPT;
    if (root->durable >= root->generation || root->container_id == 0) /* so generation is not 0 */
        return BALE_E_CORRUPT;
    if (!bale_extent_is_valid(root->extent))
        return BALE_E_CORRUPT;
    if (root->size > (uint64_t)BALE_SIZE_MAX)
        return BALE_E_CORRUPT;
    return BALE_OK;
}

/* Whether a frame or page lies behind the slots and ends at or below the root's end. */
static bool lies_within(const struct bale_root *root, const struct bale_ref *ref)
{
    return ref->position >= BALE_DATA_START && ref->position <= root->end &&
           ref->length <= root->end - ref->position;
}

/* What the kind of tree says about its position, size and stored. */
int bale_root_check_tree(const struct bale_root *root, const struct bale_ref *tree, uint8_t height)
{
    if (height == 0) {
        bool empty = tree->position == 0 && tree->length == 0 && tree->checksum == 0;

        return empty && root->stored == 0 ? BALE_OK : BALE_E_CORRUPT;
    }

    if (root->size == 0) /* a frame or segment is of a byte or more, all below size */
        return BALE_E_CORRUPT;
    if (!lies_within(root, tree))
        return BALE_E_CORRUPT;
    if (height == BALE_HEIGHT_DIRECT) {
        uint32_t most = root->size < root->extent ? (uint32_t)root->size : root->extent;

        if (tree->length < bale_frame_head_length(BALE_CODEC_ZERO, 1, BALE_CHUNK_LOG2_MAX) ||
            tree->length > bale_frame_bound(most, BALE_CHUNK_LOG2_MIN))
            return BALE_E_CORRUPT;
        return root->stored == tree->length ? BALE_OK : BALE_E_CORRUPT;
    }
    if (height > BALE_HEIGHT_MAX || bale_page_count(height, tree->length) == 0)
        return BALE_E_CORRUPT;
    /* Frames do not overlap each other, the page or the slots. */
    return root->stored <= root->end - BALE_DATA_START - tree->length ? BALE_OK : BALE_E_CORRUPT;
}

static int check_tree(const struct bale_root *root)
{
    if (root->end < BALE_DATA_START || root->end > (uint64_t)BALE_SIZE_MAX)
        return BALE_E_CORRUPT;
    if (root->height != BALE_HEIGHT_SETTINGS)
        return bale_root_check_tree(root, &root->tree, root->height);
    if (root->tree.length != BALE_SETTINGS_SIZE || !lies_within(root, &root->tree))
        return BALE_E_CORRUPT;
    return root->stored <= root->end - BALE_DATA_START - root->tree.length ? BALE_OK
                                                                           : BALE_E_CORRUPT;
}

int bale_root_decode(const uint8_t slot[static BALE_ROOT_SIZE], struct bale_root *root,
                     char feature[static 5])
{
    uint8_t features;
    int err;

    feature[0] = '\0';
    if (memcmp(slot, magic, sizeof magic) != 0 ||
        bale_get64(slot + AT_CHECKSUM) != bale_hash(slot, AT_CHECKSUM))
        return BALE_E_CORRUPT;
    if (slot[AT_VERSION] < VERSION)
        return BALE_E_CORRUPT;
    if (slot[AT_VERSION] > VERSION)
        return BALE_E_UNSUPPORTED;
    err = bale_features_decode(slot + AT_FEATURES, &features, feature);
    if (err != BALE_OK)
        return err;
    read_fields(slot, root);
    root->features = features;
    if ((root->flags & ~(BALE_ROOT_CODEC_EXPLICIT | BALE_ROOT_EXTENT_EXPLICIT)) != 0)
        return BALE_E_UNSUPPORTED;
    err = check_setting(root);
    if (err == BALE_OK)
        err = check_attributes(root);
    if (err == BALE_OK)
        err = check_tree(root);
    return err;
}

static int choose(const bool valid[static BALE_SLOTS], struct bale_roots *roots)
{
    if (valid[0] && valid[1]) {
        if (roots->root[0].generation == roots->root[1].generation ||
            roots->root[0].container_id != roots->root[1].container_id)
            return BALE_E_CORRUPT;
        roots->newest = roots->root[0].generation > roots->root[1].generation ? 0 : 1;
        roots->fallback = 1 - roots->newest;
    } else {
        roots->newest = valid[0] ? 0 : 1;
    }
    return BALE_OK;
}

int bale_roots_read(const uint8_t *head, size_t length, struct bale_roots *roots)
{
    uint8_t slots[BALE_DATA_START] = {0};
    bool valid[BALE_SLOTS];

    *roots = (struct bale_roots){.newest = -1, .fallback = -1};
    if (length == 0)
        return BALE_OK;
    memcpy(slots, head, length < sizeof(slots) ? length : sizeof(slots));
    for (size_t i = 0; i < BALE_SLOTS; i++) {
        const uint8_t *slot = slots + i * BALE_ROOT_SIZE;
        int err = bale_root_decode(slot, &roots->root[i], roots->feature);

        if (err == BALE_E_UNSUPPORTED)
            return err;
        valid[i] = err == BALE_OK;
        if (!valid[i] && !all_zero(slot, BALE_ROOT_SIZE))
            roots->damaged = true;
    }
    if (!valid[0] && !valid[1])
        return roots->damaged ? BALE_E_CORRUPT : BALE_E_BLANK;
    return choose(valid, roots);
}
