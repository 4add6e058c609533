/* bale_container_scrub: zeroes what a container has given up. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/claims.h"
#include "fs/container/frame_set.h"
#include "fs/container/internal.h"
#include "kernels/frame/frame.h"

#define BLOCK 4096u              /* a shorter range has no block to punch */
#define PIECE ((size_t)64 << 10) /* bytes that are read or written at once */

/* ---- Frames that the file shows only a part of ----------------------------------------------- */

/* The chunk size to ask the encoder for. With a codec that makes chunks of several cells, the
 * frame's chunks may be larger than one may ask for. */
static uint8_t asked_log2(const struct bale_frame *head)
{
    return bale_codec_takes_chunks(head->codec, head->chunk_log2) ? head->chunk_log2
                                                                  : BALE_CHUNK_LOG2_DEFAULT;
}

/* Writes the segment's bytes as a frame of their own. raw and stored have room for them. */
static int rewrite_segment(struct bale_container *c, struct bale_scratch *scratch,
                           const struct bale_segment *segment, const struct bale_frame *head,
                           uint64_t generation, uint8_t *raw, uint8_t *stored)
{
    struct bale_setting setting = {.codec = head->codec, .parameter = (int16_t)head->parameter};
    struct bale_frame frame = {.offset = segment->offset,
                               .generation = generation,
                               .raw_length = segment->length,
                               .chunk_log2 = asked_log2(head)};
    uint64_t position;
    size_t length;
    int err = bale_container_read(c, scratch, segment, segment->offset, segment->length, raw, NULL);

    if (c->attr.setting.codec == setting.codec)
        setting.field = c->attr.setting.field;
    if (!bale_setting_valid(setting))
        setting = (struct bale_setting){.codec = BALE_CODEC_STORE};
    if (err == BALE_OK)
        err = bale_frame_encode(scratch, setting, raw, &frame, stored, &length);
    if (err == BALE_OK)
        err = bale_container_write_frame(c, stored, length, &position);
    if (err != BALE_OK)
        return err;
    struct bale_segment whole = bale_segment_of_frame(&frame, position, (uint32_t)length);
    return bale_container_put(c, &whole);
}

/* Gives each segment a frame of its own if its frame has more than the segment shows. */
static int rewrite_parts(struct bale_container *c, struct bale_scratch *scratch,
                         uint64_t generation)
{
    struct bale_segment segment = {0};
    struct bale_frame head;
    int err;

    while ((err = bale_container_map(c, segment.offset + segment.length, &segment)) == BALE_OK) {
        if (segment.flags & BALE_SEGMENT_UNWRITTEN)
            continue;
        err = bale_container_read_head(c, &segment, &head);
        if (err == BALE_OK && (segment.skip > 0 || segment.length != head.raw_length)) {
            uint8_t *raw = malloc(segment.length);
            uint8_t *stored = malloc(bale_frame_bound(segment.length, asked_log2(&head)));

            err = raw && stored
                      ? rewrite_segment(c, scratch, &segment, &head, generation, raw, stored)
                      : BALE_E_NOMEM;
            free(raw);
            free(stored);
        }
        if (err != BALE_OK)
            return err;
    }
    return err == BALE_E_NOENT ? BALE_OK : err;
}

/* ---- Gaps ------------------------------------------------------------------------------------ */

struct gaps {
    struct bale_claims used; /* frames and pages, sorted */
    struct bale_frame_set frames;
    uint64_t end;  /* of the last of them */
    uint64_t size; /* of the backing file */
    uint8_t *piece;
};

static int claim_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    struct gaps *gaps = arg;

    (void)page;
    return bale_claims_add(&gaps->used, ref->position, ref->length, 0);
}

static int claim_segment(void *arg, const struct bale_segment *segment)
{
    struct gaps *gaps = arg;
    int added =
        segment->flags & BALE_SEGMENT_UNWRITTEN ? 0 : bale_frame_set_add(&gaps->frames, segment);

    return added == 1 ? bale_claims_add(&gaps->used, segment->position, segment->frame_length, 0)
                      : added;
}

static int gaps_find(struct bale_container *c, struct gaps *gaps)
{
    const struct bale_index_visitor visitor = {
        .arg = gaps, .page = claim_page, .segment = claim_segment};

    *gaps = (struct gaps){.end = BALE_DATA_START, .piece = malloc(PIECE)};
    bale_frame_set_init(&gaps->frames, c->index.ctx.extent);
    if (!gaps->piece)
        return BALE_E_NOMEM;
    int err = bale_index_visit_root(c->io, &c->root, &visitor);
    if (err != BALE_OK)
        return err;
    bale_claims_sort(&gaps->used);
    if (gaps->used.count > 0) {
        const struct bale_claim *last = &gaps->used.claims[gaps->used.count - 1];
        gaps->end = last->position + last->length;
    }
    return c->io->ops->size(c->io, &gaps->size);
}

static void gaps_clear(struct gaps *gaps)
{
    bale_claims_clear(&gaps->used);
    bale_frame_set_clear(&gaps->frames);
    free(gaps->piece);
}

/* Calls each for every range that nothing uses, also beyond the last frame. */
static int gaps_each(struct bale_container *c, struct gaps *gaps,
                     int (*each)(struct bale_container *c, struct gaps *gaps, uint64_t from,
                                 uint64_t to))
{
    uint64_t from = BALE_DATA_START;
    int err = BALE_OK;

    for (size_t i = 0; i < gaps->used.count && err == BALE_OK; i++) {
        const struct bale_claim *claim = &gaps->used.claims[i];
        err = claim->position > from ? each(c, gaps, from, claim->position) : BALE_OK;
        from = claim->position + claim->length;
    }
    return err == BALE_OK && gaps->size > from ? each(c, gaps, from, gaps->size) : err;
}

static bool is_zero(const uint8_t *data, size_t length)
{
    return length == 0 || (data[0] == 0 && memcmp(data, data + 1, length - 1) == 0);
}

/* 1: the range has a byte that is not zero; 0: it has none; or an error. */
static int gap_is_used(struct bale_container *c, struct gaps *gaps, uint64_t from, uint64_t to)
{
    while (from < to) {
        size_t length = to - from < PIECE ? (size_t)(to - from) : PIECE, got = 0;
        int err = c->io->ops->read(c->io, gaps->piece, length, from, &got);

        if (err != BALE_OK || got == 0)
            return err;
        if (!is_zero(gaps->piece, got))
            return 1;
        from += got;
    }
    return 0;
}

static int gap_zero(struct bale_container *c, struct gaps *gaps, uint64_t from, uint64_t to)
{
    int err = gap_is_used(c, gaps, from, to);

    if (err != 1)
        return err;
    if (to - from >= BLOCK && c->punchable) {
        err = c->io->ops->punch(c->io, from, to - from);
        if (err != BALE_E_UNSUPPORTED)
            return err;
        c->punchable = false;
    }
    memset(gaps->piece, 0, PIECE);
    for (err = BALE_OK; from < to && err == BALE_OK;) {
        size_t length = to - from < PIECE ? (size_t)(to - from) : PIECE;
        err = c->io->ops->write(c->io, gaps->piece, length, from);
        from += length;
    }
    return err;
}

/* Makes both slots refer to the newest commit, durably. Before that, a container that is opened
 * after a crash may fall back on frames that lie in the gaps. */
static int confirm_newest(struct bale_container *c)
{
    int err = c->durable < c->root.generation ? bale_container_make_durable(c) : BALE_OK;

    if (err == BALE_OK)
        err = bale_container_repeat_root(c);
    return err == BALE_OK ? bale_container_make_durable(c) : err;
}

/* Under the writer lock. */
static int scrub_gaps(struct bale_container *c)
{
    struct gaps gaps;
    int err = gaps_find(c, &gaps);

    if (err == BALE_OK)
        err = gaps_each(c, &gaps, gap_is_used);
    if (err == 1) {
        err = confirm_newest(c);
        if (err == BALE_OK)
            err = gaps_each(c, &gaps, gap_zero);
        if (err == BALE_OK)
            err = bale_container_make_durable(c);
    }
    gaps_clear(&gaps);
    return err;
}

int bale_container_scrub(struct bale_container *c, struct bale_scratch *scratch)
{
    uint64_t generation;

    if (!bale_container_has_slack(c))
        return BALE_OK;
    int err = bale_container_begin(c, &generation);
    if (err != BALE_OK)
        return err;
    err = rewrite_parts(c, scratch, generation);
    if (err != BALE_OK) {
        bale_container_abandon(c);
        return err;
    }
    err = bale_container_commit(c, false);
    if (err != BALE_OK)
        return err;
    bale_container_lock_writer(c);
    err = bale_container_is_broken(c) ? BALE_E_IO : scrub_gaps(c);
    if (err == BALE_OK)
        atomic_store(&c->slack, false);
    bale_container_unlock_writer(c);
    return err;
}
