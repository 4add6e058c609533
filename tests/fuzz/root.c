/* Input: the first bytes of a container. */
#include "format/root.h"

#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "tests/fuzz/target.h"
#include "tests/support/offsets.h"

static void check_slot(const uint8_t *slot, const struct bale_root *root)
{
    uint8_t again[BALE_ROOT_SIZE];

    bale_root_encode(root, again);
    FUZZ_HOLDS(memcmp(again, slot, BALE_ROOT_SIZE) == 0);
    FUZZ_HOLDS(root->generation > root->durable);
    FUZZ_HOLDS(root->end <= (uint64_t)BALE_SIZE_MAX && root->tree.position <= root->end &&
               root->tree.length <= root->end - root->tree.position);
}

bool fuzz_root(const uint8_t *data, size_t size)
{
    size_t length = size < BALE_DATA_START ? size : BALE_DATA_START;
    uint8_t *head = malloc(length > 0 ? length : 1); /* exact, for the sanitizer */
    struct bale_roots roots;
    int err;

    FUZZ_HOLDS(head != NULL);
    memcpy(head, data, length);
    for (size_t at = 0; at + BALE_ROOT_SIZE <= length; at += BALE_ROOT_SIZE)
        bale_put64(head + at + ROOT_AT_CHECKSUM, bale_hash(head + at, ROOT_AT_CHECKSUM));

    err = bale_roots_read(head, length, &roots);
    FUZZ_HOLDS(err == BALE_OK || (roots.newest == -1 && roots.fallback == -1));
    FUZZ_HOLDS(err == BALE_E_UNSUPPORTED || roots.feature[0] == '\0');
    if (roots.newest >= 0)
        check_slot(head + (size_t)roots.newest * BALE_ROOT_SIZE, &roots.root[roots.newest]);
    if (roots.fallback >= 0) {
        check_slot(head + (size_t)roots.fallback * BALE_ROOT_SIZE, &roots.root[roots.fallback]);
        FUZZ_HOLDS(roots.root[roots.newest].generation > roots.root[roots.fallback].generation);
    }
    free(head);
    return err == BALE_OK;
}

size_t fuzz_root_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX])
{
    static const struct bale_root trees[] = {
        {.height = 0, .codec = 255},
        {.height = BALE_HEIGHT_DIRECT,
         .size = 9,
         .stored = 73,
         .codec = 3,
         .parameter = 1,
         .tree = {.position = 224, .length = 73, .checksum = 5}},
        {.height = 1,
         .size = 1 << 20,
         .stored = 4096,
         .mode = BALE_ROOT_MODE_IN_CONTAINER | 0644,
         .tree = {.position = 8192, .length = 80, .checksum = 5}},
        {.height = 8,
         .size = BALE_SIZE_MAX,
         .flags = BALE_ROOT_EXTENT_EXPLICIT,
         .tree = {.position = 8192, .length = 68, .checksum = 5}},
    };

    if (n >= sizeof(trees) / sizeof(trees[0]))
        return 0;
    for (unsigned slot = 0; slot < BALE_SLOTS; slot++) {
        struct bale_root root = trees[n];

        root.generation = 5 + slot;
        root.durable = 4 + slot;
        root.end = 1 << 20;
        root.extent = BALE_EXTENT_DEFAULT;
        root.container_id = 1;
        bale_root_encode(&root, out + slot * BALE_ROOT_SIZE);
    }
    return BALE_DATA_START;
}
