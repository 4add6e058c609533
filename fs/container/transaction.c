/* Beginning and ending a transaction, and the changes that it makes. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "format/bytes.h"
#include "format/err.h"
#include "fs/container/internal.h"

#define IDS 32u /* 256 bytes: getrandom gives so many, or none */

int bale_container_make_id(uint64_t *id)
{
    static _Thread_local uint64_t ids[IDS];
    static _Thread_local unsigned left;

    while (*id == 0) {
        if (left == 0) {
            if (getrandom(ids, sizeof ids, 0) != (ssize_t)sizeof ids)
                return BALE_E_IO;
            left = IDS;
        }
        *id = ids[--left];
    }
    return BALE_OK;
}

/* Prepares a container without a root. */
static int prepare_empty(struct bale_container *c)
{
    int err = bale_container_make_id(&c->root.container_id);

    if (err != BALE_OK)
        return err;
    /* Remove what a writer left that was killed before its first root. */
    err = c->space.high > 0 ? c->io->ops->truncate(c->io, 0) : BALE_OK;
    if (err != BALE_OK)
        return err;
    c->space.high = 0;
    c->slot = -1; /* a rejected root is gone now */
    c->index.ctx.container_id = c->root.container_id;
    return BALE_OK;
}

/* Prepares the container for its first transaction. */
static int prepare(struct bale_container *c)
{
    int err = c->sync_before_write ? bale_container_make_durable(c) : BALE_OK;

    if (err != BALE_OK)
        return err;
    err = bale_space_build(c);
    if (err != BALE_OK)
        return err;
    if (c->root.generation == 0) {
        err = prepare_empty(c);
        if (err != BALE_OK)
            return err;
    }
    c->ready = true;
    return BALE_OK;
}

int bale_container_begin(struct bale_container *c, uint64_t *generation)
{
    int err = BALE_OK;

    if (c->read_only)
        return BALE_E_RDONLY;
    bale_container_lock_writer(c);
    if (bale_container_is_broken(c))
        err = BALE_E_IO;
    else if (!c->ready)
        err = prepare(c);
    if (err != BALE_OK) {
        bale_container_unlock_writer(c);
        return err;
    }
    *generation = ++c->generation;
    return BALE_OK;
}

void bale_container_abandon(struct bale_container *c)
{
    bale_space_free_unreferenced(c);
    bale_container_unlock_writer(c);
}

/* Remembers checksum and raw length of the frame at offset 0: the direct form needs them. */
static void note_head(struct bale_container *c, const uint8_t *frame, size_t length)
{
    struct bale_frame head;

    /* Byte 16 is the offset (FORMAT.md 6): mostly it is not 0, and nothing must be decoded. */
    if (bale_get64(frame + 16) != 0 || bale_frame_head_decode(frame, length, &head) != BALE_OK)
        return;
    pthread_mutex_lock(&c->space.lock);
    c->space.head_checksum = head.head_checksum;
    c->space.head_raw_length = head.raw_length;
    pthread_mutex_unlock(&c->space.lock);
}

int bale_container_write_frame(struct bale_container *c, const uint8_t *frame, size_t length,
                               uint64_t *position)
{
    bool written;
    int err;

    if (bale_container_is_broken(c))
        return BALE_E_IO;
    err = bale_space_allocate(c, length, position);
    if (err != BALE_OK)
        return err;
    err = bale_container_write_first_frame(c, frame, length, *position, &written);
    if (err == BALE_OK && !written)
        err = c->io->ops->write(c->io, frame, length, *position);
    if (err != BALE_OK) {
        atomic_store(&c->slack, true);
        bale_space_release(c, *position, length);
        return bale_container_failed(c, err);
    }
    note_head(c, frame, length);
    pthread_mutex_lock(&c->space.lock);
    err = bale_free_map_release(&c->space.written, *position, length);
    pthread_mutex_unlock(&c->space.lock);
    if (err != BALE_OK)
        bale_space_release(c, *position, length);
    return err;
}

/* Takes the segment's frame from those that no put refers to, which the end of the transaction
 * frees. *new_frame: it was among them. */
static int claim_frame(struct bale_container *c, const struct bale_segment *segment,
                       bool *new_frame)
{
    int err = BALE_E_NOENT;

    pthread_mutex_lock(&c->space.lock);
    if (segment->frame_length > 0)
        err =
            bale_free_map_allocate_at(&c->space.written, segment->position, segment->frame_length);
    if (err == BALE_OK && segment->offset == 0) {
        c->index.head_checksum = c->space.head_checksum;
        c->index.head_raw_length = c->space.head_raw_length;
    }
    pthread_mutex_unlock(&c->space.lock);
    *new_frame = err == BALE_OK;
    return err == BALE_E_NOENT ? BALE_OK : err;
}

static int put(struct bale_container *c, const struct bale_segment *segment)
{
    size_t released = c->index.released_count;
    bool new_frame;
    int err = claim_frame(c, segment, &new_frame);

    if (err != BALE_OK)
        return err;
    pthread_rwlock_wrlock(&c->index_lock);
    err = bale_index_put(&c->index, segment, new_frame);
    if (err == BALE_OK && bale_codec_has_part(segment->codec))
        c->index.ctx.features |= BALE_FEATURE_PARTS;
    pthread_rwlock_unlock(&c->index_lock);
    if (err == BALE_OK) {
        bale_space_reclaim(c, false, released);
    } else if (new_frame) {
        pthread_mutex_lock(&c->space.lock);
        (void)bale_free_map_release(&c->space.written, segment->position, segment->frame_length);
        pthread_mutex_unlock(&c->space.lock);
    }
    return err;
}

int bale_container_put(struct bale_container *c, const struct bale_segment *segment)
{
    struct bale_page_context ctx = {
        .container_id = c->root.container_id,
        .generation = c->generation,
        .size = BALE_SIZE_MAX,
        .extent = c->index.ctx.extent,
        .features = BALE_FEATURE_PARTS,
    };

    if (bale_container_is_broken(c))
        return BALE_E_IO;
    pthread_mutex_lock(&c->space.lock);
    ctx.end = c->space.free.end;
    pthread_mutex_unlock(&c->space.lock);
    if (bale_segment_check(segment, &ctx) != BALE_OK)
        return BALE_E_INVALID;
    return put(c, segment);
}

static int cut(struct bale_container *c, uint64_t offset, uint64_t end)
{
    size_t released = c->index.released_count;
    int err;

    pthread_rwlock_wrlock(&c->index_lock);
    err = bale_index_cut(&c->index, offset, end);
    if (!c->index.top)
        c->index.ctx.features = 0;
    pthread_rwlock_unlock(&c->index_lock);
    if (err == BALE_OK)
        bale_space_reclaim(c, false, released);
    return err;
}

int bale_container_cut(struct bale_container *c, uint64_t offset, uint64_t length)
{
    if (bale_container_is_broken(c))
        return BALE_E_IO;
    if (length > UINT64_MAX - offset)
        length = UINT64_MAX - offset;
    return length == 0 ? BALE_OK : cut(c, offset, offset + length);
}

/* Calls each for the holes in [offset, end) until it returns an error. */
static int each_hole(struct bale_container *c, uint64_t offset, uint64_t end,
                     int (*each)(struct bale_container *, uint64_t from, uint64_t to, void *),
                     void *arg)
{
    int err = BALE_OK;

    while (offset < end && err == BALE_OK) {
        struct bale_segment segment;
        uint64_t to = end;
        uint64_t next = end;

        err = bale_index_find(&c->index, offset, false, &segment);
        if (err == BALE_OK) {
            to = segment.offset < end ? segment.offset : end;
            next = segment.offset + segment.length;
        } else if (err == BALE_E_NOENT) {
            err = BALE_OK;
        }
        if (err == BALE_OK && to > offset)
            err = each(c, offset, to, arg);
        offset = next;
    }
    return err;
}

static int count_hole(struct bale_container *c, uint64_t from, uint64_t to, void *arg)
{
    uint64_t *bytes = arg;

    (void)c;
    *bytes += to - from;
    return BALE_OK;
}

static int fill_hole(struct bale_container *c, uint64_t from, uint64_t to, void *arg)
{
    int err = BALE_OK;

    (void)arg;
    while (from < to && err == BALE_OK) {
        uint64_t length = to - from < BALE_UNWRITTEN_MAX ? to - from : BALE_UNWRITTEN_MAX;
        struct bale_segment segment = {
            .offset = from, .length = (uint32_t)length, .flags = BALE_SEGMENT_UNWRITTEN};

        err = put(c, &segment);
        from += length;
    }
    return err;
}

int bale_container_preallocate(struct bale_container *c, uint64_t offset, uint64_t length)
{
    uint64_t bytes = 0;
    int err;

    if (bale_container_is_broken(c))
        return BALE_E_IO;
    if (offset > BALE_SIZE_MAX || length > BALE_SIZE_MAX - offset)
        return BALE_E_TOOBIG;
    err = each_hole(c, offset, offset + length, count_hole, &bytes);
    if (err != BALE_OK || bytes == 0)
        return err;
    err = bale_space_preallocate(c, bytes);
    if (err != BALE_OK)
        return err == BALE_E_IO ? bale_container_failed(c, err) : err;
    err = each_hole(c, offset, offset + length, fill_hole, NULL);
    if (err != BALE_OK)
        bale_space_give_back(c);
    return err;
}

static bool same_attr(const struct bale_container_attr *a, const struct bale_container_attr *b)
{
    return a->size == b->size && a->mtime == b->mtime && a->extent == b->extent &&
           a->mode == b->mode && a->setting.codec == b->setting.codec &&
           a->setting.parameter == b->setting.parameter &&
           bale_field_equal(&a->setting.field, &b->setting.field) && a->rounds == b->rounds &&
           a->greatest_step == b->greatest_step && a->setting_explicit == b->setting_explicit &&
           a->extent_explicit == b->extent_explicit;
}

static bool valid_setting(const struct bale_container_attr *attr)
{
    const struct bale_setting *setting = &attr->setting;

    return bale_setting_valid(*setting) &&
           (bale_settings_needed(&setting->field, attr->greatest_step)
                ? bale_settings_valid(setting->codec, &setting->field, attr->rounds,
                                      attr->greatest_step)
                : attr->rounds == BALE_ROUNDS_UNDECIDED);
}

static bool valid_attr(const struct bale_container_attr *attr)
{
    return attr->size <= BALE_SIZE_MAX && bale_extent_is_valid(attr->extent) &&
           valid_setting(attr) &&
           (attr->mode == 0 || (attr->mode & ~07777) == BALE_ROOT_MODE_IN_CONTAINER);
}

/* Readers of segments that are gone may still ask for it. */
static void set_extent(struct bale_container *c, uint32_t extent)
{
    if (extent == c->index.ctx.extent)
        return;
    pthread_rwlock_wrlock(&c->index_lock);
    c->index.ctx.extent = extent;
    pthread_rwlock_unlock(&c->index_lock);
}

int bale_container_set_attr(struct bale_container *c, const struct bale_container_attr *attr)
{
    int err = BALE_OK;

    if (bale_container_is_broken(c))
        return BALE_E_IO;
    if (!valid_attr(attr) || (c->index.top && attr->extent != c->index.ctx.extent))
        return BALE_E_INVALID;
    if (attr->size < bale_index_covered(&c->index))
        err = cut(c, attr->size, UINT64_MAX);
    if (err != BALE_OK)
        return err;
    /* An empty container has no root, so attributes that it did not store are a change. */
    c->attr_changed = c->attr_changed || c->root.generation == 0 || !same_attr(attr, &c->next);
    c->next = *attr;
    set_extent(c, attr->extent);
    return BALE_OK;
}
