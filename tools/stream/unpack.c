#include <assert.h>

#include "format/err.h"
#include "format/stream.h"
#include "tools/common/message.h"
#include "tools/stream/pack.h"

struct unpacker {
    struct bale_pack *pack;
    const struct bale_source *source;
    struct bale_output *output; /* may be NULL */
    struct bale_packed *packed;
    struct bale_ring *ring; /* NULL before the first stream */
    struct bale_stream_reader reader;
    uint32_t extent;  /* of the ring's entries */
    uint64_t at;      /* offset in the source after the parts that were read */
    uint64_t written; /* bytes of the contents */
    unsigned started;
    bool ended;
};

static bool wrong(const struct unpacker *unpacker, uint64_t at, const char *why)
{
    bale_message("%s: byte %llu: %s: %s", unpacker->source->name, (unsigned long long)at, why,
                 at == 0 ? "give a file that balefs compress made"
                         : "balefs decompress -c writes what comes before");
    return false;
}

static bool write_zeros_to(struct unpacker *unpacker, uint64_t offset)
{
    uint64_t length = offset - unpacker->written;

    unpacker->written = offset;
    unpacker->packed->raw = offset;
    return !unpacker->output || bale_output_zeros(unpacker->output, length);
}

/* Writes the contents of the oldest entry. */
static bool write_extent(struct unpacker *unpacker, const struct bale_ring_entry *entry)
{
    const struct bale_item *item = &entry->item;
    uint32_t length = item->frame.raw_length;

    if (item->status == BALE_E_NOMEM) {
        bale_message("%s: cannot be decompressed: out of memory", unpacker->source->name);
        return false;
    }
    if (bale_pack_is_lost(unpacker->pack, unpacker->source, item))
        return false;
    if (item->status < 0)
        return wrong(unpacker, entry->from, "the frame is damaged");
    if (!write_zeros_to(unpacker, entry->to))
        return false;
    unpacker->written += length;
    bale_pack_count(unpacker->pack, length);
    unpacker->packed->raw = unpacker->written;
    bale_pack_progress(unpacker->pack, unpacker->source, entry->from, unpacker->packed);
    if (!unpacker->output)
        return true;
    if (item->frame.codec == BALE_CODEC_ZERO && item->frame.parameter == 0)
        return bale_output_zeros(unpacker->output, length);
    return bale_output_write(unpacker->output, item->raw, length);
}

static bool write_oldest(struct unpacker *unpacker)
{
    struct bale_ring_entry *entry = bale_ring_wait(unpacker->ring);
    bool good = write_extent(unpacker, entry);

    bale_ring_release(unpacker->ring);
    return good;
}

static bool write_all_extents(struct unpacker *unpacker)
{
    while (unpacker->ring && bale_ring_wait(unpacker->ring))
        if (!write_oldest(unpacker))
            return false;
    return true;
}

/* Creates a ring whose entries can contain the frames of the stream that begins. */
static bool make_lanes(struct unpacker *unpacker)
{
    uint32_t extent = unpacker->reader.stream.extent;
    size_t room = bale_frame_bound(extent, BALE_CHUNK_LOG2_MIN);

    if (unpacker->ring && extent <= unpacker->extent)
        return true;
    bale_ring_destroy(unpacker->ring);
    unpacker->ring = NULL;
    unpacker->extent = extent;
    if (bale_pack_lanes(unpacker->pack, extent, room, &unpacker->ring) == BALE_OK)
        return true;
    bale_message("%s: cannot be decompressed: out of memory", unpacker->source->name);
    return false;
}

/* Reports an error at the start of the next part or, after have bytes of it, at its end. First
 * writes everything before it. */
static void wrong_part(struct unpacker *unpacker, size_t have, const char *why)
{
    bool follows = !unpacker->reader.inside && unpacker->reader.streams > 0;

    if (!write_all_extents(unpacker))
        return;
    if (follows)
        bale_message("%s: byte %llu: %s: truncate -s %llu removes it", unpacker->source->name,
                     (unsigned long long)unpacker->at, why, (unsigned long long)unpacker->at);
    else
        wrong(unpacker, unpacker->reader.inside ? unpacker->at + have : unpacker->at, why);
}

/* Reads the next part completely: a frame into the entry, and any other part into the same memory,
 * or into a small buffer before there is a ring. 1: done; 0: the end; negative after a message. */
static int read_part(struct unpacker *unpacker, uint8_t *into, struct bale_stream_item *item)
{
    size_t have = 0, need = BALE_STREAM_MAGIC;
    int err = BALE_E_SHORT;

    while (err == BALE_E_SHORT || have < need) {
        ssize_t got = bale_source_read(unpacker->source, into + have, need - have);
        if (got < 0)
            return BALE_E_IO;
        have += (size_t)got;
        if (have < need) {
            const char *why = bale_stream_ended(&unpacker->reader, have);
            if (why)
                wrong_part(unpacker, have, why);
            return why ? BALE_E_CORRUPT : 0;
        }
        if (err == BALE_OK)
            break;
        err = bale_stream_read(&unpacker->reader, into, have, item);
        need = item->length;
        if (err < 0 && err != BALE_E_SHORT) {
            wrong_part(unpacker, 0, item->why);
            return err;
        }
    }
    return 1;
}

static void start_frame(struct unpacker *unpacker, const struct bale_stream_item *item,
                        struct bale_ring_entry *entry)
{
    entry->from = unpacker->at;
    entry->to = item->offset;
    entry->item.kind = BALE_ITEM_DECODE;
    entry->item.frame = item->frame;
    entry->item.raw = entry->raw;
    entry->item.stored = entry->stored;
    entry->item.stored_length = item->length;
    bale_ring_start(unpacker->ring);
    if (++unpacker->started % BALE_PACK_TOGETHER == 0)
        bale_ring_submit(unpacker->ring);
}

static bool unpack_part(struct unpacker *unpacker)
{
    struct bale_ring_entry *entry = unpacker->ring ? bale_ring_next(unpacker->ring) : NULL;
    uint8_t small[BALE_STREAM_HEAD];
    struct bale_stream_item item;
    bool good = true;
    int more;

    if (unpacker->ring && !entry)
        return write_oldest(unpacker);
    more = read_part(unpacker, entry ? entry->stored : small, &item);
    if (more <= 0) {
        unpacker->ended = true;
        return more == 0 && write_all_extents(unpacker);
    }
    assert(entry || item.part != BALE_PART_FRAME); /* the head of the stream came first */
    if (item.part == BALE_PART_FRAME)
        start_frame(unpacker, &item, entry);
    else if (item.part == BALE_PART_END)
        good = write_all_extents(unpacker) && write_zeros_to(unpacker, item.offset);
    else
        good = make_lanes(unpacker);
    unpacker->at += item.length;
    unpacker->packed->stored = unpacker->at;
    return good;
}

bool bale_unpack(struct bale_pack *pack, const struct bale_source *source,
                 struct bale_output *output, struct bale_packed *packed)
{
    struct unpacker unpacker = {.pack = pack, .source = source, .output = output, .packed = packed};
    bool good = true;

    *packed = (struct bale_packed){0};
    while (good && !unpacker.ended)
        good = unpack_part(&unpacker);
    bale_ring_destroy(unpacker.ring);
    return good;
}
