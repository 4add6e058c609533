/* Reading data. No lock is held: if a commit moves the data meanwhile, the checks notice it. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/hash.h"
#include "fs/container/frame_io.h"
#include "fs/container/internal.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"

/* A frame of this length or less is read whole, even for one chunk of it. */
#define SMALL_FRAME (32u << 10)

/* Consecutive chunks are read together up to this many bytes. */
#define RUN_MAX (1u << 20)

/* Whether the index now says that the data is at another position. */
static bool has_moved(struct bale_container *c, const struct bale_segment *segment, uint64_t from)
{
    struct bale_segment now;
    int err = bale_container_map(c, from, &now);

    if (err == BALE_E_NOENT)
        return true;
    return err == BALE_OK &&
           (now.offset > from || now.position != segment->position ||
            now.generation != segment->generation || now.checksum != segment->checksum);
}

/* The extent size. It changes only while the container has no segments. */
static uint32_t extent_of(struct bale_container *c)
{
    uint32_t extent;

    pthread_rwlock_rdlock(&c->index_lock);
    extent = c->index.ctx.extent;
    pthread_rwlock_unlock(&c->index_lock);
    return extent;
}

/* A check fails also if a commit has moved the data meanwhile: that is BALE_E_STALE. */
static int check_stale(struct bale_container *c, const struct bale_segment *segment, uint64_t from,
                       int err)
{
    if (err != BALE_OK && bale_container_reconsider(c, err))
        return BALE_E_STALE;
    if ((err == BALE_E_CORRUPT || err == BALE_E_UNSUPPORTED) && has_moved(c, segment, from))
        return BALE_E_STALE;
    return err;
}

/* Memory for bytes of a frame: the scratch's if they fit there, because new memory costs a page
 * fault for each page. AddressSanitizer sees what a decoder reads or writes past their end only if
 * the memory ends there too. */
#ifdef __SANITIZE_ADDRESS__
enum { OF_SCRATCH = 0, IS_EXACT = 1 };
#else
enum { OF_SCRATCH = BALE_SCRATCH_ROOM, IS_EXACT = 0 };
#endif
struct room {
    uint8_t *bytes; /* NULL: there is none yet */
    uint8_t *owned; /* to be freed, or NULL */
    size_t capacity;
};

/* A read of file bytes [from, to) out of one frame. */
struct part {
    struct bale_container *container;
    struct bale_io *io;
    struct bale_scratch *scratch;
    const struct bale_segment *segment;
    struct bale_frame_head head;
    uint32_t extent;
    uint64_t from;
    uint64_t to;
    uint8_t *raw;
    const uint8_t *shared; /* the frame's extent part, or NULL */
    uint8_t *shared_read;  /* it was not read with the head */
    struct room chunk;     /* for a decoded chunk of which only a part is needed */
    struct room run;       /* for stored bytes */
    struct bale_fault *fault;
};

/* Gives the room that many bytes. Its contents are lost if it had fewer. */
static int make_room(struct room *room, uint8_t *scratch_room, size_t size)
{
    if (room->bytes && (IS_EXACT ? size == room->capacity : size <= room->capacity))
        return BALE_OK;
    free(room->owned);
    room->owned = size > OF_SCRATCH ? malloc(size) : NULL;
    room->bytes = size > OF_SCRATCH ? room->owned : scratch_room;
    room->capacity = size > OF_SCRATCH ? size : OF_SCRATCH;
    return room->bytes ? BALE_OK : BALE_E_NOMEM;
}

/* The file offsets of a chunk. */
static void chunk_range(const struct part *p, uint32_t i, uint64_t *first, uint64_t *end)
{
    *first = p->head.frame.offset + ((uint64_t)i << p->head.frame.chunk_log2);
    *end = *first + bale_frame_chunk_raw(&p->head.frame, i);
}

static void fill_chunk_fault(const struct part *p, uint32_t i, const uint8_t *stored,
                             uint64_t position)
{
    struct bale_chunk chunk = bale_frame_chunk(p->head.data, &p->head.frame, i);
    uint64_t found = bale_chunk_checksum(p->head.frame.codec, stored, chunk.stored);

    if (found == chunk.checksum && p->shared &&
        bale_frame_part_check(&p->head.frame, p->shared, p->fault) != BALE_OK) {
        p->fault->position = p->segment->position + p->head.frame.head_length;
        return;
    }
    bale_frame_fault_at(p->fault, p->segment, &p->head.frame, i, position);
    p->fault->what = "chunk data";
    if (found != chunk.checksum) {
        p->fault->what = "chunk checksum";
        p->fault->expected = chunk.checksum;
        p->fault->found = found;
    }
}

static int decode_chunk(struct part *p, uint32_t i, const uint8_t *stored, uint64_t position)
{
    uint64_t first, end, from, to;
    size_t size = (size_t)1 << p->head.frame.chunk_log2;
    bool whole;
    int err;

    if (size > p->head.frame.raw_length)
        size = p->head.frame.raw_length;
    chunk_range(p, i, &first, &end);
    from = first > p->from ? first : p->from;
    to = end < p->to ? end : p->to;
    whole = from == first && to == end;
    if (!whole && make_room(&p->chunk, bale_scratch_raw_room(p->scratch), size) != BALE_OK)
        return BALE_E_NOMEM;
    err = bale_frame_decode_chunk(
        p->scratch, p->head.data, &p->head.frame, i, p->shared, stored,
        whole ? p->raw + (first - p->from) : p->chunk.bytes,
        (struct bale_wanted){(uint32_t)(from - first), (uint32_t)(to - first)});
    if (err == BALE_E_CORRUPT)
        fill_chunk_fault(p, i, stored, position);
    else if (err == BALE_OK && !whole)
        memcpy(p->raw + (from - p->from), p->chunk.bytes + (from - first), (size_t)(to - from));
    return err;
}

/* Gets the stored bytes [at, at + length) of the frame, which may have been read with the head. */
static int fetch(struct part *p, size_t at, size_t length, const uint8_t **stored)
{
    if (at + length <= p->head.length) {
        *stored = p->head.data + at;
        return BALE_OK;
    }
    if (make_room(&p->run, bale_scratch_stored_room(p->scratch), length) != BALE_OK)
        return BALE_E_NOMEM;
    *stored = p->run.bytes;
    return bale_frame_bytes_read(p->io, p->run.bytes, length, p->segment->position + at, p->fault);
}

/* Finds the extent part, which mostly was read with the head. */
static int fetch_shared(struct part *p)
{
    const struct bale_frame *frame = &p->head.frame;

    if (!bale_codec_has_part(frame->codec))
        return BALE_OK;
    if (bale_frame_chunks_at(frame) <= p->head.length) {
        p->shared = p->head.data + frame->head_length;
        return BALE_OK;
    }
    p->shared = p->shared_read = malloc(frame->part.stored);
    if (!p->shared)
        return BALE_E_NOMEM;
    return bale_frame_bytes_read(p->io, p->shared_read, frame->part.stored,
                                 p->segment->position + frame->head_length, p->fault);
}

/* Reads chunks from *i on together and decodes them; moves *i and *at past them. */
static int decode_run(struct part *p, uint32_t *i, uint32_t last, size_t *at)
{
    uint32_t end = *i;
    size_t length = 0;
    const uint8_t *stored;
    int err;

    while (end <= last) {
        uint32_t more = bale_frame_chunk(p->head.data, &p->head.frame, end).stored;

        if (length > 0 && length + more > RUN_MAX)
            break;
        length += more;
        end++;
    }
    err = fetch(p, *at, length, &stored);
    for (; *i < end && err == BALE_OK; ++*i) {
        uint32_t step = bale_frame_chunk(p->head.data, &p->head.frame, *i).stored;

        err = decode_chunk(p, *i, stored, p->segment->position + *at);
        stored += step;
        *at += step;
    }
    return err;
}

/* Takes the first bytes of the frame if they were read with the index, as those of a small file
 * are. */
static bool take_first(struct part *p)
{
    struct bale_container *c = p->container;

    pthread_rwlock_rdlock(&c->index_lock);
    bool taken = bale_index_has_first(&c->index);
    pthread_rwlock_unlock(&c->index_lock);
    if (!taken)
        return false;
    pthread_rwlock_wrlock(&c->index_lock);
    taken = bale_index_take_first(&c->index, p->segment, &p->head);
    pthread_rwlock_unlock(&c->index_lock);
    return taken;
}

/* A chunk that lies behind the head looks like a stream to the kernel, which would read the frames
 * that follow, too. */
static void expect_alone(struct bale_io *io, bool alone)
{
    if (io->ops->expect)
        io->ops->expect(io, alone);
}

static int read_part(struct part *p)
{
    const struct bale_frame *frame = &p->head.frame;
    size_t want = SMALL_FRAME;
    uint32_t i, last;
    size_t at;
    int err;

    if (p->segment->length == p->to - p->from && p->segment->skip == 0)
        want = p->segment->frame_length;
    else if (p->segment->frame_length > SMALL_FRAME)
        want = bale_frame_head_length(p->segment->codec, p->segment->skip + p->segment->length,
                                      p->segment->chunk_log2);
    expect_alone(p->io, want < p->segment->frame_length);
    err = take_first(p) ? BALE_OK
                        : bale_frame_head_read(p->io, p->segment->position,
                                               p->segment->frame_length, want, &p->head, p->fault);
    if (err == BALE_OK)
        err = bale_frame_head_match(frame, p->segment, p->extent, p->fault);
    if (err != BALE_OK)
        return err;
    if (frame->codec == BALE_CODEC_ZERO) {
        memset(p->raw, frame->parameter, (size_t)(p->to - p->from));
        return BALE_OK;
    }
    err = fetch_shared(p);
    at = bale_frame_chunks_at(frame);
    last = (uint32_t)((p->to - 1 - frame->offset) >> frame->chunk_log2);
    for (i = 0; i < (p->from - frame->offset) >> frame->chunk_log2; i++)
        at += bale_frame_chunk(p->head.data, frame, i).stored;
    while (i <= last && err == BALE_OK)
        err = decode_run(p, &i, last, &at);
    return err;
}

int bale_container_read(struct bale_container *c, struct bale_scratch *scratch,
                        const struct bale_segment *segment, uint64_t from, uint32_t length,
                        uint8_t *raw, struct bale_fault *fault)
{
    struct bale_fault unused;
    struct part p = {
        .container = c,
        .io = c->io,
        .scratch = scratch,
        .segment = segment,
        .extent = extent_of(c),
        .from = from,
        .to = from + length,
        .raw = raw,
        .fault = fault ? fault : &unused,
    };
    int err;

    if (from < segment->offset || length > segment->length ||
        from - segment->offset > segment->length - length)
        return BALE_E_INVALID;
    if (length == 0)
        return BALE_OK;
    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0) {
        memset(raw, 0, length);
        return BALE_OK;
    }
    *p.fault = (struct bale_fault){
        .offset = segment->offset, .length = segment->length, .position = segment->position};
    err = read_part(&p);
    free(p.head.data);
    free(p.shared_read);
    free(p.chunk.owned);
    free(p.run.owned);
    return check_stale(c, segment, from, err);
}

int bale_container_read_head(struct bale_container *c, const struct bale_segment *segment,
                             struct bale_frame *frame)
{
    struct bale_frame_head head;
    int err;

    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0)
        return BALE_E_INVALID;
    err = bale_frame_head_read(c->io, segment->position, segment->frame_length, 0, &head, NULL);
    if (err == BALE_OK)
        err = bale_frame_head_match(&head.frame, segment, extent_of(c), NULL);
    *frame = head.frame;
    free(head.data);
    return check_stale(c, segment, segment->offset, err);
}

int bale_container_read_frame(struct bale_container *c, const struct bale_segment *segment,
                              uint8_t *frame)
{
    struct bale_fault fault;
    struct bale_frame head;
    int err;

    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0)
        return BALE_E_INVALID;
    expect_alone(c->io, false);
    err = bale_frame_bytes_read(c->io, frame, segment->frame_length, segment->position, &fault);
    if (err == BALE_OK)
        err = bale_frame_head_decode(frame, segment->frame_length, &head);
    if (err == BALE_OK && (uint64_t)head.head_length + head.stored_length != segment->frame_length)
        err = BALE_E_CORRUPT;
    if (err == BALE_OK)
        err = bale_frame_head_match(&head, segment, extent_of(c), &fault);
    if (err == BALE_E_SHORT) /* its table is longer than the frame */
        err = BALE_E_CORRUPT;
    return check_stale(c, segment, segment->offset, err);
}
