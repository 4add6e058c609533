/* Making an index again from what can be read of it and from the frames in the container. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/claims.h"
#include "fs/container/frame_io.h"
#include "fs/container/frame_set.h"
#include "fs/container/history.h"
#include "fs/container/internal.h"
#include "fs/container/repair.h"
#include "kernels/base/array.h"

/* A lost piece is a segment whose frame is these bytes. They are as long as a frame of codec zero,
 * which has the same length for any number of raw bytes; but they are not a frame, so reading the
 * piece fails. */
#define LOST_BYTES "lost: see balefs-fsck(1), lost: see balefs-fsck(1), "
#define LOST_LENGTH 52u
#define LOST_STEP 56u        /* from one to the next */
#define LOST_MOST (1u << 20) /* in a file */

_Static_assert(sizeof LOST_BYTES - 1 == LOST_LENGTH, "the length of a frame of codec zero");

struct range {
    uint64_t first, end;
};

struct salvage {
    struct bale_container *c;
    struct bale_index index; /* the new one */
    struct range *lost;      /* ascending */
    size_t lost_count, lost_room;
    struct bale_claims claims; /* frames that the part of the index that can be read refers to */
    struct bale_candidates candidates;
    struct bale_frame_set frames;
    uint64_t stored, unwritten;
    size_t at;       /* position in lost, while the new index is walked */
    bool incomplete; /* frames are missing */
    uint64_t markers;
    void (*found)(void *arg, const struct bale_segment *segment);
    void *arg;
    struct bale_salvage *out;
};

/* ---- What can be read ------------------------------------------------------------------------ */

static int keep_segment(void *arg, const struct bale_segment *segment)
{
    struct salvage *s = arg;
    int added =
        segment->flags & BALE_SEGMENT_UNWRITTEN ? 0 : bale_frame_set_add(&s->frames, segment);

    if (added == 1)
        added = bale_claims_add(&s->claims, segment->position, segment->frame_length, 0);
    if (added < 0)
        return added == BALE_E_CORRUPT ? BALE_OK : added;
    return bale_index_put(&s->index, segment, false);
}

static int keep_lost(void *arg, int err, const struct bale_bad_ref *bad, uint64_t first,
                     uint64_t upper)
{
    struct salvage *s = arg;
    uint64_t end = upper < s->c->root.size ? upper : s->c->root.size;

    (void)bad;
    if (err != BALE_E_CORRUPT && err != BALE_E_IO)
        return err;
    struct range *grown = bale_array_grow(s->lost, s->lost_count, &s->lost_room, sizeof *grown);
    if (!grown)
        return BALE_E_NOMEM;
    s->lost = grown;
    if (s->lost_count > 0 && first < s->lost[s->lost_count - 1].end)
        first = s->lost[s->lost_count - 1].end;
    if (first >= end)
        return BALE_OK;
    s->lost[s->lost_count++] = (struct range){first, end};
    s->out->ranges++;
    return BALE_OK;
}

static int read_index(struct salvage *s)
{
    const struct bale_index_visitor visitor = {.arg = s, .segment = keep_segment, .bad = keep_lost};
    int err;

    bale_frame_set_init(&s->frames, s->c->root.extent);
    err = bale_index_visit_root(s->c->io, &s->c->root, &visitor);
    bale_frame_set_clear(&s->frames);
    bale_claims_sort(&s->claims);
    return err;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static bool is_wanted(const struct salvage *s, const struct bale_segment *frame)
{
    size_t low = 0, high = s->lost_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->lost[middle].end <= frame->offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->lost_count && s->lost[low].first < frame->offset + frame->length;
}

/* Whether bytes of the frame are in use; *i is the first claim that may be. Frames ascend. */
static bool is_claimed(const struct salvage *s, const struct bale_segment *frame, size_t *i)
{
    const struct bale_claim *claims = s->claims.claims;

    while (*i < s->claims.count && claims[*i].position + claims[*i].length <= frame->position)
        ++*i;
    return *i < s->claims.count && claims[*i].position < frame->position + frame->frame_length;
}

/* If frames overlap, none of them can be trusted. */
static void drop_overlaps(struct bale_candidates *candidates)
{
    struct bale_segment *frames = candidates->frames;
    uint64_t end = 0; /* of all frames so far */
    size_t kept = 0, i = 0;

    while (i < candidates->frame_count) {
        const struct bale_segment first = frames[i];
        size_t from = i++;

        end = first.position + first.frame_length;
        for (; i < candidates->frame_count && frames[i].position < end; i++)
            if (frames[i].position + frames[i].frame_length > end)
                end = frames[i].position + frames[i].frame_length;
        if (i == from + 1)
            frames[kept++] = first;
    }
    candidates->frame_count = kept;
}

/* Keeps the frames that a lost part of the index may have referred to and that are whole. */
static int choose_frames(struct salvage *s)
{
    struct bale_candidates *all = &s->candidates;
    size_t kept = 0, claim = 0;

    for (size_t i = 0; i < all->frame_count; i++) {
        const struct bale_segment frame = all->frames[i];
        if (!is_wanted(s, &frame) || is_claimed(s, &frame, &claim))
            continue;
        int err = bale_frame_verify(s->c->io, &frame, s->c->root.extent, NULL, NULL);
        if (err == BALE_OK)
            all->frames[kept++] = frame;
        else if (err == BALE_E_NOMEM)
            return err;
    }
    all->frame_count = kept;
    drop_overlaps(all);
    return BALE_OK;
}

static int place_frames(struct salvage *s)
{
    const struct bale_history_without nothing = {SIZE_MAX, SIZE_MAX, false};
    int err = BALE_OK;

    for (size_t i = 0; err == BALE_OK && i < s->lost_count; i++) {
        struct bale_history history;
        err = bale_history_take(&history, s->c->io, &s->c->index.ctx, &s->candidates,
                                s->lost[i].first, s->lost[i].end, s->c->root.generation);
        history.known = true;
        if (err == BALE_OK)
            err = bale_history_replay(&history, &s->index, &nothing);
        bale_history_clear(&history);
    }
    return err;
}

/* ---- What stays lost ------------------------------------------------------------------------- */

static int count_segment(void *arg, const struct bale_segment *segment)
{
    struct salvage *s = arg;
    int added = 0;

    if (segment->flags & BALE_SEGMENT_UNWRITTEN)
        s->unwritten += segment->length;
    else
        added = bale_frame_set_add(&s->frames, segment);
    if (added < 0 && added != BALE_E_CORRUPT)
        return added;
    if (added == 1)
        s->stored += segment->frame_length;
    while (s->at < s->lost_count && s->lost[s->at].end <= segment->offset)
        s->at++;
    if (s->at == s->lost_count || s->lost[s->at].first > segment->offset ||
        segment->flags & BALE_SEGMENT_UNWRITTEN)
        return BALE_OK;
    s->out->placed += segment->length;
    if (s->found)
        s->found(s->arg, segment);
    return BALE_OK;
}

static int count_found(struct salvage *s)
{
    const struct bale_index_visitor visitor = {.arg = s, .segment = count_segment};
    int err;

    bale_frame_set_init(&s->frames, s->c->root.extent);
    err = bale_index_visit(&s->index, &visitor);
    bale_frame_set_clear(&s->frames);
    return err;
}

/* Sets [*from, *to) to the first range at or behind *from that has no segment and lies in one
 * extent. False: there is none before end. */
static bool next_gap(struct salvage *s, uint64_t *from, uint64_t *to, uint64_t end)
{
    uint64_t extent = s->c->root.extent;
    struct bale_segment segment;
    int err;

    while ((err = bale_index_find(&s->index, *from, false, &segment)) == BALE_OK &&
           segment.offset <= *from)
        *from = segment.offset + segment.length;
    if (*from >= end)
        return false;
    *to = (*from / extent + 1) * extent;
    *to = *to < end ? *to : end;
    if (err == BALE_OK && segment.offset < *to)
        *to = segment.offset;
    return true;
}

static int count_gaps(struct salvage *s)
{
    uint64_t from, to;

    for (size_t i = 0; i < s->lost_count; i++)
        for (from = s->lost[i].first; next_gap(s, &from, &to, s->lost[i].end); from = to) {
            s->out->lost += to - from;
            if (++s->markers > LOST_MOST)
                return BALE_E_TOOBIG;
        }
    return BALE_OK;
}

static int mark_lost(struct salvage *s, uint64_t from, uint64_t to, uint64_t position)
{
    const struct bale_segment segment = {
        .offset = from,
        .position = position,
        .generation = s->c->root.generation, /* durable: nobody verifies it after a crash */
        .checksum = position,
        .length = (uint32_t)(to - from),
        .frame_length = LOST_LENGTH,
        .codec = BALE_CODEC_ZERO,
        .chunk_log2 = BALE_CHUNK_LOG2_DEFAULT,
    };
    int err = s->c->io->ops->write(s->c->io, (const uint8_t *)LOST_BYTES, LOST_LENGTH, position);

    s->stored += LOST_LENGTH;
    return err == BALE_OK ? bale_index_put(&s->index, &segment, false) : err;
}

static int mark_gaps(struct salvage *s)
{
    uint64_t position = 0, from, to;
    int err =
        s->markers > 0 ? bale_space_allocate(s->c, s->markers * LOST_STEP, &position) : BALE_OK;

    for (size_t i = 0; err == BALE_OK && s->incomplete && i < s->lost_count; i++)
        for (from = s->lost[i].first; err == BALE_OK && next_gap(s, &from, &to, s->lost[i].end);
             from = to) {
            err = mark_lost(s, from, to, position);
            position += LOST_STEP;
        }
    return err;
}

/* ---- The new index --------------------------------------------------------------------------- */

/* Everything that the container has stays: all space up to its end counts as used. */
static int use_all_space(struct bale_container *c)
{
    uint64_t size, end = c->root.end;
    int err = c->io->ops->size(c->io, &size);

    end = (size > end ? size : end) + LOST_STEP - 1;
    bale_free_map_clear(&c->space.free);
    bale_free_map_init(&c->space.free, end / 8 * 8, 8);
    c->space.high = size;
    c->ready = true;
    return err;
}

/* Gives the container the new index. */
static void take_index(struct salvage *s)
{
    struct bale_container *c = s->c;

    pthread_rwlock_wrlock(&c->index_lock);
    s->index.ctx = c->index.ctx;
    s->index.stored = s->stored;
    s->index.unwritten = s->unwritten;
    s->index.released_count = 0;
    s->index.changed = true;
    bale_index_clear(&c->index);
    c->index = s->index;
    pthread_rwlock_unlock(&c->index_lock);
    bale_index_init(&s->index, c->io, NULL, c->root.extent);
    c->next = c->attr;
    if (c->next.setting.field.type == BALE_FIELD_NONE &&
        bale_codec_is_lossy(c->next.setting.codec)) /* the settings page is lost */
        c->next.setting = (struct bale_setting){.codec = BALE_CODEC_AUTO};
}

/* With the writer lock, which the commit gives back. */
static int store_index(struct salvage *s)
{
    struct bale_container *c = s->c;
    int err;

    c->read_only = false;
    err = bale_container_make_durable(c);
    if (err == BALE_OK)
        err = use_all_space(c);
    if (err == BALE_OK)
        err = mark_gaps(s);
    if (err != BALE_OK) {
        bale_container_unlock_writer(c);
        return err;
    }
    take_index(s);
    c->generation++;
    err = bale_container_commit(c, true);
    return err == BALE_OK ? bale_container_settle(c) : err;
}

static int find_index(struct salvage *s)
{
    int err = read_index(s);

    if (err != BALE_OK || s->lost_count == 0)
        return err;
    err = bale_candidates_find(s->c->io, &s->c->index.ctx, &s->candidates);
    if (err == BALE_OK)
        err = choose_frames(s);
    if (err == BALE_OK)
        err = place_frames(s);
    if (err == BALE_OK)
        err = count_found(s);
    /* If the sum is right, no frame is missing, and a gap was a hole. */
    s->incomplete = s->stored != s->c->root.stored;
    return err == BALE_OK && s->incomplete ? count_gaps(s) : err;
}

int bale_container_salvage(struct bale_container *c, bool write,
                           void (*found)(void *arg, const struct bale_segment *segment), void *arg,
                           struct bale_salvage *out)
{
    struct salvage s = {.c = c, .found = found, .arg = arg, .out = out};
    int err;

    *out = (struct bale_salvage){0};
    bale_container_lock_writer(c);
    bale_index_init(&s.index, c->io, NULL, c->root.extent);
    err = c->root.generation > 0 ? find_index(&s) : BALE_OK;
    if (err == BALE_OK && write && s.lost_count > 0)
        err = store_index(&s);
    else
        bale_container_unlock_writer(c);
    bale_index_clear(&s.index);
    bale_claims_clear(&s.claims);
    bale_candidates_clear(&s.candidates);
    free(s.lost);
    return err;
}
