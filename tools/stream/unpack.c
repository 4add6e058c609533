#include <assert.h>

#include "format/err.h"
#include "format/stream.h"
#include "tools/common/options.h"
#include "tools/stream/pack.h"

struct job {
    struct bale_pack *pack;
    const struct bale_source *source;
    struct bale_output *output; /* may be NULL */
    struct bale_packed *packed;
    struct bale_ring *ring; /* NULL before the first stream */
    struct bale_stream_reader reader;
    uint32_t extent;  /* the entries' */
    uint64_t at;      /* of the source: parts taken in */
    uint64_t written; /* of the contents */
    unsigned started;
    bool ended;
};

static bool wrong(const struct job *job, uint64_t at, const char *why)
{
    bale_message("%s: byte %llu: %s: %s", job->source->name, (unsigned long long)at, why,
                 at == 0 ? "give what balefs compress made"
                         : "what comes before can be had with balefs decompress -c");
    return false;
}

static bool write_zeros_to(struct job *job, uint64_t offset)
{
    uint64_t length = offset - job->written;

    job->written = offset;
    job->packed->raw = offset;
    return !job->output || bale_output_zeros(job->output, length);
}

/* Writes what the oldest entry holds. */
static bool take(struct job *job, const struct bale_ring_entry *entry)
{
    const struct bale_item *item = &entry->item;
    uint32_t length = item->frame.raw_length;

    if (item->status == BALE_E_NOMEM) {
        bale_message("%s: cannot be decompressed: out of memory", job->source->name);
        return false;
    }
    if (bale_pack_is_lost(job->pack, job->source, item))
        return false;
    if (item->status < 0)
        return wrong(job, entry->from, "the frame is damaged");
    if (!write_zeros_to(job, entry->to))
        return false;
    job->written += length;
    bale_pack_count(job->pack, length);
    job->packed->raw = job->written;
    bale_pack_progress(job->pack, job->source, entry->from, job->packed);
    if (!job->output)
        return true;
    if (item->frame.codec == BALE_CODEC_ZERO && item->frame.parameter == 0)
        return bale_output_zeros(job->output, length);
    return bale_output_write(job->output, item->raw, length);
}

static bool take_oldest(struct job *job)
{
    struct bale_ring_entry *entry = bale_ring_wait(job->ring);
    bool good = take(job, entry);

    bale_ring_release(job->ring);
    return good;
}

static bool take_all(struct job *job)
{
    while (job->ring && bale_ring_wait(job->ring))
        if (!take_oldest(job))
            return false;
    return true;
}

/* Entries that hold the frames of the stream that begins. */
static bool make_lanes(struct job *job)
{
    uint32_t extent = job->reader.stream.extent;
    size_t room = bale_frame_bound(extent, BALE_CHUNK_LOG2_MIN);

    if (job->ring && extent <= job->extent)
        return true;
    bale_ring_destroy(job->ring);
    job->ring = NULL;
    job->extent = extent;
    if (bale_pack_lanes(job->pack, extent, room, &job->ring) == BALE_OK)
        return true;
    bale_message("%s: cannot be decompressed: out of memory", job->source->name);
    return false;
}

/* What is wrong where the next part begins or, after have bytes of it, ends. Said when what came
 * before has been written. */
static void wrong_part(struct job *job, size_t have, const char *why)
{
    bool follows = !job->reader.inside && job->reader.streams > 0;

    if (!take_all(job))
        return;
    if (follows)
        bale_message("%s: byte %llu: %s: truncate -s %llu takes it away", job->source->name,
                     (unsigned long long)job->at, why, (unsigned long long)job->at);
    else
        wrong(job, job->reader.inside ? job->at + have : job->at, why);
}

/* Reads the next part wholly: a frame into the entry, all else into its memory too, or into small
 * before there are entries. 1; 0 at the end; negative after a message. */
static int read_part(struct job *job, uint8_t *into, struct bale_stream_item *item)
{
    size_t have = 0, need = BALE_STREAM_MAGIC;
    int err = BALE_E_SHORT;

    while (err == BALE_E_SHORT || have < need) {
        ssize_t got = bale_source_read(job->source, into + have, need - have);
        if (got < 0)
            return BALE_E_IO;
        have += (size_t)got;
        if (have < need) {
            const char *why = bale_stream_ended(&job->reader, have);
            if (why)
                wrong_part(job, have, why);
            return why ? BALE_E_CORRUPT : 0;
        }
        if (err == BALE_OK)
            break;
        err = bale_stream_read(&job->reader, into, have, item);
        need = item->length;
        if (err < 0 && err != BALE_E_SHORT) {
            wrong_part(job, 0, item->why);
            return err;
        }
    }
    return 1;
}

static void start(struct job *job, const struct bale_stream_item *item,
                  struct bale_ring_entry *entry)
{
    entry->from = job->at;
    entry->to = item->offset;
    entry->item.kind = BALE_ITEM_DECODE;
    entry->item.frame = item->frame;
    entry->item.raw = entry->raw;
    entry->item.stored = entry->stored;
    entry->item.stored_length = item->length;
    bale_ring_start(job->ring);
    if (++job->started % BALE_PACK_TOGETHER == 0)
        bale_ring_submit(job->ring);
}

static bool step(struct job *job)
{
    struct bale_ring_entry *entry = job->ring ? bale_ring_next(job->ring) : NULL;
    uint8_t small[BALE_STREAM_HEAD];
    struct bale_stream_item item;
    bool good = true;
    int more;

    if (job->ring && !entry)
        return take_oldest(job);
    more = read_part(job, entry ? entry->stored : small, &item);
    if (more <= 0) {
        job->ended = true;
        return more == 0 && take_all(job);
    }
    assert(entry || item.part != BALE_PART_FRAME); /* a stream's head came before */
    if (item.part == BALE_PART_FRAME)
        start(job, &item, entry);
    else if (item.part == BALE_PART_END)
        good = take_all(job) && write_zeros_to(job, item.offset);
    else
        good = make_lanes(job);
    job->at += item.length;
    job->packed->stored = job->at;
    return good;
}

bool bale_unpack(struct bale_pack *pack, const struct bale_source *source,
                 struct bale_output *output, struct bale_packed *packed)
{
    struct job job = {.pack = pack, .source = source, .output = output, .packed = packed};
    bool good = true;

    *packed = (struct bale_packed){0};
    while (good && !job.ended)
        good = step(&job);
    bale_ring_destroy(job.ring);
    return good;
}
