#include "tools/stream/pack.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "format/stream.h"
#include "kernels/engine/dispatch.h"
#include "kernels/frame/field.h"
#include "kernels/round/piece.h"
#include "tools/common/message.h"
#include "tools/common/size.h"

struct packer {
    struct bale_pack *pack;
    const struct bale_source *source;
    struct bale_output *output;
    struct bale_packed *packed;
    struct bale_ring *ring;
    struct bale_stream stream;
    uint64_t at;       /* offset in the source: read or skipped */
    uint64_t data_end; /* no hole before this offset; UINT64_MAX: none at all */
    size_t room;       /* of an entry's stored bytes */
    unsigned started;
    bool ended;
    bool exact;              /* no element is rounded, whatever the setting says */
    struct bale_field field; /* what the setting says, with what the source's header says */
};

ssize_t bale_source_read(const struct bale_source *source, void *bytes, size_t length)
{
    size_t have = 0;

    while (have < length) {
        ssize_t got = read(source->fd, (char *)bytes + have, length - have);
        if (got < 0 && errno != EINTR) {
            bale_message("%s: cannot be read: %s", source->name, strerror(errno));
            return -1;
        }
        if (got == 0)
            break;
        if (got > 0)
            have += (size_t)got;
    }
    return (ssize_t)have;
}

int bale_pack_lanes(struct bale_pack *pack, size_t raw, size_t stored, struct bale_ring **ring)
{
    size_t each = bale_ring_room(1, raw, stored);
    bool staged = pack->staging && !pack->lost;
    size_t count = staged ? bale_staging_size(pack->staging) / each : 0;

    if (count > 1)
        return bale_ring_create_in(pack->engine, (unsigned)count, raw, stored,
                                   bale_staging_take(pack->staging, count * each), ring);
    return bale_ring_create(pack->engine, bale_ring_entry_count(pack->threads, raw + stored), raw,
                            stored, ring);
}

bool bale_pack_is_lost(struct bale_pack *pack, const struct bale_source *source,
                       const struct bale_item *item)
{
    if (item->status != BALE_E_QUARANTINED)
        return false;
    pack->lost = true; /* the device may use its memory until the program ends */
    bale_message("%s: the GPU does not answer: try --engine cpu", source->name);
    return true;
}

void bale_pack_count(struct bale_pack *pack, uint64_t raw)
{
    if (pack->gpu_after == 0)
        return;
    pack->gpu_after = pack->gpu_after > raw ? pack->gpu_after - raw : 0;
    if (pack->gpu_after == 0)
        bale_dispatch_open(pack->engine);
}

void bale_pack_progress(struct bale_pack *pack, const struct bale_source *source, uint64_t read,
                        const struct bale_packed *packed)
{
    char name[256], done[BALE_TEXT], all[BALE_TEXT], ratio[BALE_TEXT];
    uint64_t size = source->is_file ? (uint64_t)source->st.st_size : 0;

    if (pack->progress.quiet)
        return;
    bale_clean_text(source->name, name, sizeof name);
    bale_size_text(read, done);
    bale_ratio_text(packed->raw, packed->stored, ratio);
    if (size > 0 && read <= size)
        bale_progress_text(&pack->progress, "%s: %s of %s, %.0f %%, ratio %s", name, done,
                           bale_size_text(size, all), 100.0 * (double)read / (double)size, ratio);
    else
        bale_progress_text(&pack->progress, "%s: %s, ratio %s", name, done, ratio);
}

/* Skips whole extents that are a hole. If the source cannot report holes, nothing is skipped. */
static void skip_hole(struct packer *packer)
{
    int fd = packer->source->fd;
    uint64_t size = (uint64_t)packer->source->st.st_size;
    uint32_t extent = packer->pack->extent;
    off_t data, end;

    if (packer->at < packer->data_end)
        return;
    data = lseek(fd, (off_t)packer->at, SEEK_DATA);
    if (data < 0 && errno == ENXIO)
        data = (off_t)size;
    end = data >= 0 && (uint64_t)data < size ? lseek(fd, data, SEEK_HOLE) : data;
    packer->data_end = data < 0 || end < 0 ? UINT64_MAX : (uint64_t)end;
    if (data >= 0 && (uint64_t)data > packer->at)
        packer->at = (uint64_t)data >= size
                         ? size
                         : packer->at + ((uint64_t)data - packer->at) / extent * extent;
    if (lseek(fd, (off_t)packer->at, SEEK_SET) < 0)
        packer->data_end = UINT64_MAX;
}

/* With a lossy setting: rounds the elements of the length bytes that the source has next, unless
 * the source's begin shows that it is no array. Returns what these bytes are to be encoded with. */
static struct bale_setting round_extent(struct packer *packer, uint8_t *raw, size_t length)
{
    static const uint8_t hole[BALE_ROUND_BEGIN];
    struct bale_setting setting = packer->pack->setting;
    const size_t begin = length < BALE_ROUND_BEGIN ? length : BALE_ROUND_BEGIN;
    const char *what = NULL;

    if (!bale_codec_is_lossy(setting.codec) || packer->exact)
        return setting;
    if (packer->started == 0)
        what = bale_round_resolve(&setting.field, packer->at == 0 ? raw : hole,
                                  packer->at == 0 ? begin : sizeof hole, &packer->field);
    if (!what)
        what = bale_round_resolve_piece(&setting.field, packer->at, raw, length);
    if (what && packer->packed->bound > 0)
        bale_message("%s: stored without loss from byte %llu on: it is %s", packer->source->name,
                     (unsigned long long)packer->at, what);
    else if (what)
        bale_message("%s: stored without loss: it is %s", packer->source->name, what);
    packer->exact = what != NULL;
    if (!what) {
        bale_round_piece(&packer->field, packer->at, raw, raw, length);
        packer->packed->bound = bale_field_bound(packer->field.step);
        setting.field = packer->field;
    }
    return setting;
}

/* Reads the next extent into the entry and starts to encode it. */
static bool fill_extent(struct packer *packer, struct bale_ring_entry *entry)
{
    struct bale_item *item = &entry->item;
    ssize_t got;

    skip_hole(packer);
    got = bale_source_read(packer->source, entry->raw, packer->pack->extent);
    packer->ended = got < (ssize_t)packer->pack->extent;
    if (got <= 0)
        return got == 0;
    item->kind = BALE_ITEM_ENCODE;
    item->setting = round_extent(packer, entry->raw, (size_t)got);
    item->frame = (struct bale_frame){
        .offset = packer->at, .raw_length = (uint32_t)got, .chunk_log2 = packer->pack->chunk_log2};
    item->raw = entry->raw;
    item->stored = entry->stored;
    item->capacity = packer->room;
    packer->at += (uint64_t)got;
    bale_ring_start(packer->ring);
    if (++packer->started % BALE_PACK_TOGETHER == 0)
        bale_ring_submit(packer->ring);
    return true;
}

static bool put(struct packer *packer, const uint8_t *bytes, size_t length)
{
    packer->packed->stored += length;
    return bale_output_write(packer->output, bytes, length);
}

static bool write_frame(struct packer *packer, const struct bale_item *item)
{
    if (bale_pack_is_lost(packer->pack, packer->source, item))
        return false;
    if (item->status < 0 || bale_stream_add(&packer->stream, &item->frame) < 0) {
        bale_message("%s: cannot be compressed: %s", packer->source->name,
                     bale_err_text(item->status));
        return false;
    }
    bale_pack_count(packer->pack, item->frame.raw_length);
    packer->packed->raw = packer->stream.size;
    bale_pack_progress(packer->pack, packer->source, packer->stream.size, packer->packed);
    return put(packer, item->stored, item->stored_length);
}

static bool pack_extents(struct packer *packer)
{
    struct bale_ring_entry *entry;
    bool good = true;

    do {
        while (good && !packer->ended && (entry = bale_ring_next(packer->ring)))
            good = fill_extent(packer, entry);
        entry = bale_ring_wait(packer->ring);
        if (entry) {
            good = good && write_frame(packer, &entry->item);
            bale_ring_release(packer->ring);
        }
    } while (entry);
    return good;
}

static bool has_holes(const struct bale_source *source)
{
    return source->is_file && S_ISREG(source->st.st_mode) && source->st.st_size > 0 &&
           (uint64_t)source->st.st_blocks * 512 < (uint64_t)source->st.st_size;
}

static bool write_stream(struct packer *packer)
{
    uint8_t head[BALE_STREAM_HEAD], end[BALE_STREAM_END];

    bale_stream_begin(&packer->stream, packer->pack->extent, packer->pack->setting, head);
    if (!put(packer, head, sizeof head) || !pack_extents(packer))
        return false;
    bale_stream_end_encode(&packer->stream, packer->at, end);
    packer->packed->raw = packer->at;
    return put(packer, end, sizeof end);
}

bool bale_pack(struct bale_pack *pack, const struct bale_source *source, struct bale_output *output,
               struct bale_packed *packed)
{
    struct packer packer = {.pack = pack,
                            .source = source,
                            .output = output,
                            .packed = packed,
                            .room = bale_frame_bound(pack->extent, pack->chunk_log2),
                            .data_end = has_holes(source) ? 0 : UINT64_MAX};
    bool good;

    *packed = (struct bale_packed){0};
    if (bale_pack_lanes(pack, pack->extent, packer.room, &packer.ring) < 0) {
        bale_message("%s: cannot be compressed: out of memory: give a smaller --extent",
                     source->name);
        return false;
    }
    good = write_stream(&packer);
    bale_ring_destroy(packer.ring);
    return good;
}
