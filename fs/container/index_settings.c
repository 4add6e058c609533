/* Writing the settings page of an index. */
#include "format/err.h"
#include "fs/container/index_node.h"

static bool same_ref(const struct bale_ref *a, const struct bale_ref *b)
{
    return a->position == b->position && a->length == b->length && a->checksum == b->checksum;
}

/* Whether a new settings page would have the same contents as the one in use. */
static bool says_the_same(const struct bale_index *index)
{
    const struct bale_settings *a = &index->settings, *b = &index->next_settings;

    return index->settings_ref.length > 0 && a->height == b->height &&
           same_ref(&a->tree, &b->tree) && a->rounds == b->rounds &&
           a->greatest_step == b->greatest_step && bale_field_equal(&a->field, &b->field);
}

static int write_page(struct bale_index *index, const struct bale_index_space *space,
                      uint64_t container_id)
{
    struct bale_ref ref = {.length = BALE_SETTINGS_SIZE};
    uint8_t bytes[BALE_SETTINGS_SIZE];
    int err = space->allocate(space->arg, ref.length, &ref.position);

    if (err != BALE_OK)
        return err;
    bale_settings_encode(&index->next_settings, container_id, bytes);
    ref.checksum = index->next_settings.checksum;
    index->next_settings_ref = ref;
    return index->io->ops->write(index->io, bytes, sizeof bytes, ref.position);
}

int bale_index_write_settings(struct bale_index *index, uint64_t generation,
                              const struct bale_index_space *space, struct bale_root *root)
{
    int err = BALE_OK;

    index->next_settings_ref = (struct bale_ref){0};
    if (!bale_settings_needed(&root->field, root->greatest_step))
        return BALE_OK;
    index->next_settings = (struct bale_settings){.field = root->field,
                                                  .rounds = root->rounds,
                                                  .greatest_step = root->greatest_step,
                                                  .generation = generation,
                                                  .tree = root->tree,
                                                  .height = root->height};
    if (says_the_same(index)) {
        index->next_settings = index->settings;
        index->next_settings_ref = index->settings_ref;
    } else {
        err = write_page(index, space, root->container_id);
    }
    root->tree = index->next_settings_ref;
    root->height = BALE_HEIGHT_SETTINGS;
    return err;
}

void bale_index_settings_written(struct bale_index *index, const struct bale_index_space *space,
                                 bool ok)
{
    const struct bale_ref old = index->settings_ref, next = index->next_settings_ref;

    index->next_settings_ref = (struct bale_ref){0};
    if (same_ref(&old, &next))
        return;
    if (!ok) {
        if (next.length > 0)
            space->release(space->arg, next.position, next.length);
        return;
    }
    if (old.length > 0)
        bale_index_note_release(index, old.position, old.length, index->settings.generation);
    index->settings = index->next_settings;
    index->settings_ref = next;
}
