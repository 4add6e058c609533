/* Commits and syncs, and the space that they free (FORMAT.md section 9). */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/internal.h"

/* A frame of at most so many bytes is written together with the first root. */
#define JOINED_MAX (32u << 10)

/* Never the slot of the last durable root. While there is no durable root, always the same slot: no
 * root was promised to survive. A first root in the second slot makes the file long enough to be a
 * container. */
static int next_slot(const struct bale_container *c)
{
    if (c->durable_slot >= 0)
        return 1 - c->durable_slot;
    return c->slot >= 0 ? c->slot : 1;
}

static void newest_is_durable(struct bale_container *c)
{
    c->durable = c->root.generation;
    c->durable_slot = c->slot;
    c->durable_unrecorded = true;
    c->sync_before_write = false;
    bale_container_note_durable(c);
    bale_space_free_deferred(c);
}

static void lock_session(struct bale_container *c)
{
    if (c->config->session_roll)
        pthread_rwlock_rdlock(c->config->session_roll);
}

static void unlock_session(struct bale_container *c)
{
    if (c->config->session_roll)
        pthread_rwlock_unlock(c->config->session_roll);
}

/* Whether the next root may overwrite the newest one: there is none, it is durable (then the next
 * goes to the other slot), or it is of the present session. */
static bool may_overwrite_newest(const struct bale_container *c)
{
    return c->root.generation == 0 || c->durable >= c->root.generation ||
           c->root.session == atomic_load(c->config->session);
}

/* The newest root is of a session that has ended, and its checkpoint may have promised that the
 * root is durable: then it must not be overwritten. Makes it the last durable root, with a sync if
 * that is not known. */
static int secure_newest(struct bale_container *c)
{
    if (bale_container_session(c->config, c->root.session) != BALE_SESSION_CERTAIN)
        return bale_container_make_durable(c);
    newest_is_durable(c);
    return BALE_OK;
}

/* Writes the bytes of a root and, in the same write, those of a frame right behind the slots. */
static int write_joined(struct bale_container *c, const uint8_t *root, int slot,
                        const uint8_t *frame, size_t length)
{
    uint8_t *bytes = malloc(BALE_ROOT_SIZE + length);

    if (!bytes)
        return BALE_E_NOMEM;
    memcpy(bytes, root, BALE_ROOT_SIZE);
    memcpy(bytes + BALE_ROOT_SIZE, frame, length);
    int err =
        c->io->ops->write(c->io, bytes, BALE_ROOT_SIZE + length, (uint64_t)slot * BALE_ROOT_SIZE);
    free(bytes);
    return err;
}

/* frame: with a root in the second slot, what lies right behind it; or NULL. */
static int write_root(struct bale_container *c, struct bale_root *root, const uint8_t *frame,
                      size_t length)
{
    struct bale_container_attr attr;
    uint8_t bytes[BALE_ROOT_SIZE];
    int slot, err;

    lock_session(c);
    if (!may_overwrite_newest(c)) {
        unlock_session(c);
        err = secure_newest(c);
        /* Cloned frames are not durable, although their generations may be older than the durable
         * root's. */
        if (err == BALE_OK && c->cloned > 0 && c->cloned <= c->durable)
            err = bale_container_make_durable(c);
        if (err != BALE_OK)
            return err;
        lock_session(c);
    }
    slot = next_slot(c);
    root->generation = c->generation;
    root->durable = c->durable;
    root->session = atomic_load(c->config->session);
    bale_root_encode(root, bytes);
    atomic_store(&c->newest_durable, false); /* before a checkpoint may look */
    err = frame ? write_joined(c, bytes, slot, frame, length)
                : c->io->ops->write(c->io, bytes, sizeof bytes, (uint64_t)slot * BALE_ROOT_SIZE);
    unlock_session(c);
    if (err != BALE_OK)
        return bale_container_failed(c, err);

    bale_container_root_attr(root, &attr);
    pthread_rwlock_wrlock(&c->index_lock);
    c->root = *root;
    bale_container_show_attr(c, &attr);
    pthread_rwlock_unlock(&c->index_lock);
    atomic_store(&c->id, root->container_id);
    c->slot = slot;
    c->cloned = 0;
    c->durable_unrecorded = false;
    return BALE_OK;
}

int bale_container_write_root(struct bale_container *c, struct bale_root *root)
{
    return write_root(c, root, NULL, 0);
}

int bale_container_repeat_root(struct bale_container *c)
{
    struct bale_root root = c->root;

    c->generation++;
    return bale_container_write_root(c, &root);
}

int bale_container_make_durable(struct bale_container *c)
{
    int err = c->io->ops->sync(c->io);

    if (err != BALE_OK) {
        /* Whatever the reason, data written since the last sync may be lost. */
        atomic_store(&c->broken, true);
        return err == BALE_E_NOSPACE || err == BALE_E_DQUOT ? err : BALE_E_IO;
    }
    newest_is_durable(c);
    return BALE_OK;
}

static int space_allocate(void *arg, uint32_t length, uint64_t *position)
{
    return bale_space_allocate(arg, length, position);
}

static void space_release(void *arg, uint64_t position, uint32_t length)
{
    bale_space_release(arg, position, length);
}

void bale_container_root_attr(const struct bale_root *root, struct bale_container_attr *attr)
{
    *attr = (struct bale_container_attr){
        .size = root->size,
        .generation = root->generation,
        .stored = root->stored,
        .mtime = root->mtime,
        .extent = root->extent,
        .mode = root->mode,
        .setting = {.codec = root->codec,
                    .parameter = (int16_t)root->parameter,
                    .field = root->field},
        .rounds = root->rounds,
        .greatest_step = root->greatest_step,
        .setting_explicit = (root->flags & BALE_ROOT_CODEC_EXPLICIT) != 0,
        .extent_explicit = (root->flags & BALE_ROOT_EXTENT_EXPLICIT) != 0,
    };
}

void bale_container_fill_root(const struct bale_container *c,
                              const struct bale_container_attr *next, struct bale_root *root)
{
    *root = (struct bale_root){
        .size = next->size,
        .end = BALE_DATA_START,
        .stored = c->index.stored,
        .container_id = c->root.container_id,
        .mtime = next->mtime,
        .extent = next->extent,
        .mode = next->mode,
        .codec = next->setting.codec,
        .parameter = (uint16_t)next->setting.parameter,
        .features = c->index.ctx.features,
        .field = next->setting.field,
        .rounds = next->rounds,
        .greatest_step = next->greatest_step,
    };
    if (bale_settings_needed(&root->field, root->greatest_step))
        root->features |= BALE_FEATURE_PARTS;
    if (!c->config->modes_in_container)
        root->mode = 0;
    if (next->setting_explicit)
        root->flags |= BALE_ROOT_CODEC_EXPLICIT;
    if (next->extent_explicit)
        root->flags |= BALE_ROOT_EXTENT_EXPLICIT;
}

static int write_settings_and_root(struct bale_container *c, const struct bale_index_space *space,
                                   struct bale_root *root)
{
    int err = bale_index_write_settings(&c->index, c->generation, space, root);

    if (err != BALE_OK)
        return bale_container_failed(c, err);
    pthread_mutex_lock(&c->space.lock);
    root->end = c->space.free.end;
    pthread_mutex_unlock(&c->space.lock);
    return bale_container_write_root(c, root);
}

/* Writes the root of an empty file. It has no settings page, which must not lie behind empty slots.
 * So it names the codec without its field, or auto if the codec is a lossy one. */
static int write_empty_root(struct bale_container *c, const uint8_t *frame, size_t length)
{
    struct bale_container_attr attr = c->attr, bare = c->attr;
    struct bale_root root;
    int err;

    bare.size = 0;
    bare.setting.field = (struct bale_field){0};
    if (bale_codec_is_lossy(bare.setting.codec))
        bare.setting.codec = BALE_CODEC_AUTO;
    bale_container_fill_root(c, &bare, &root);
    err = write_root(c, &root, frame, length);
    c->generation++;
    if (err != BALE_OK)
        return err;
    pthread_rwlock_wrlock(&c->index_lock);
    attr.generation = c->attr.generation;
    bale_container_show_attr(c, &attr); /* the settings for new data */
    pthread_rwlock_unlock(&c->index_lock);
    return BALE_OK;
}

int bale_container_write_first(struct bale_container *c)
{
    int err = BALE_OK;

    pthread_mutex_lock(&c->first_lock);
    if (c->root.generation == 0)
        err = write_empty_root(c, NULL, 0);
    pthread_mutex_unlock(&c->first_lock);
    return err;
}

int bale_container_write_first_frame(struct bale_container *c, const uint8_t *frame, size_t length,
                                     uint64_t position, bool *written)
{
    int err = BALE_OK;

    pthread_mutex_lock(&c->first_lock);
    bool joins = length <= JOINED_MAX && position == BALE_DATA_START && next_slot(c) == 1;
    *written = c->root.generation == 0 && joins;
    if (c->root.generation == 0)
        err = write_empty_root(c, joins ? frame : NULL, length);
    pthread_mutex_unlock(&c->first_lock);
    return err;
}

static int write_tree_and_root(struct bale_container *c, const struct bale_index_space *space,
                               struct bale_root *root)
{
    int err;

    bale_container_fill_root(c, &c->next, root);
    err = bale_index_write(&c->index, c->generation, space, &root->tree, &root->height);
    return err == BALE_OK ? write_settings_and_root(c, space, root) : bale_container_failed(c, err);
}

/* Writes the pages, then the root, and tells the index whether that succeeded. */
static int write_commit(struct bale_container *c)
{
    const struct bale_index_space space = {
        .arg = c, .allocate = space_allocate, .release = space_release};
    struct bale_root root;
    int err;

    if (bale_index_covered(&c->index) > c->next.size)
        return BALE_E_INVALID;
    err = bale_settings_needed(&c->next.setting.field, c->next.greatest_step)
              ? bale_container_write_first(c)
              : BALE_OK;
    if (err != BALE_OK)
        return err;
    err = write_tree_and_root(c, &space, &root);

    pthread_rwlock_wrlock(&c->index_lock);
    bale_index_written(&c->index, &space, err == BALE_OK);
    bale_index_settings_written(&c->index, &space, err == BALE_OK);
    if (err == BALE_OK) {
        bool paged = root.height == BALE_HEIGHT_SETTINGS;

        c->index.ref = paged ? c->index.settings.tree : root.tree;
        c->index.height = paged ? c->index.settings.height : root.height;
    }
    pthread_rwlock_unlock(&c->index_lock);
    if (err != BALE_OK)
        return err;
    c->attr_changed = false;
    bale_space_reclaim(c, true, 0);
    return BALE_OK;
}

int bale_container_commit(struct bale_container *c, bool durable)
{
    int err = BALE_OK;

    if (bale_container_is_broken(c))
        err = BALE_E_IO;
    else if (c->index.changed || c->attr_changed)
        err = write_commit(c);
    if (err == BALE_OK && durable && c->durable < c->root.generation)
        err = bale_container_make_durable(c);
    bale_space_free_unreferenced(c);
    bale_container_unlock_writer(c);
    return err;
}

bool bale_container_has_slack(const struct bale_container *c)
{
    return atomic_load(&c->slack);
}

bool bale_container_is_durable(struct bale_container *c)
{
    return atomic_load(&c->newest_durable);
}

int bale_container_sync(struct bale_container *c)
{
    int err = BALE_OK;

    if (c->read_only)
        return BALE_OK;
    bale_container_lock_writer(c);
    if (bale_container_is_broken(c))
        err = BALE_E_IO;
    else if (c->durable < c->root.generation)
        err = bale_container_make_durable(c);
    bale_container_unlock_writer(c);
    return err;
}

void bale_container_give_back(struct bale_container *c)
{
    bale_container_lock_writer(c);
    if (!bale_container_is_broken(c) && c->ready)
        bale_space_give_back(c);
    bale_container_unlock_writer(c);
}

int bale_container_trim(struct bale_container *c)
{
    int err = BALE_OK;

    bale_container_lock_writer(c);
    if (bale_container_is_broken(c))
        err = BALE_E_IO;
    else if (c->ready)
        err = bale_space_trim(c);
    bale_container_unlock_writer(c);
    return err;
}
