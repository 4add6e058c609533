#include "fs/container/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/frame.h"
#include "format/hash.h"
#include "format/page.h"
#include "format/settings.h"

/* The fields of FORMAT.md sections 5 and 6 that identify a structure. */
enum {
    PAGE_AT_HEIGHT = 5,
    PAGE_AT_COUNT = 6,
    PAGE_AT_CONTAINER_ID = 16,
    PAGE_HEAD = 24,
    SETTINGS_AT_LENGTH = 6,
    FRAME_AT_CODEC = 5,
    FRAME_AT_CHUNK_LOG2 = 6,
    FRAME_AT_RAW_LENGTH = 12,
    FRAME_AT_OFFSET = 16,
    FRAME_AT_GENERATION = 24,
    FRAME_HEAD = 52, /* the least */
};

static bool all_zero(const uint8_t *bytes, size_t length)
{
    return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

/* The length of a page of the index or of a settings page, as its head says; 0: no page has this
 * head. */
static size_t length_by_head(const uint8_t *page)
{
    uint8_t height = page[PAGE_AT_HEIGHT];
    size_t length;

    if (memcmp(page, "BSET", 4) == 0)
        return bale_get16(page + SETTINGS_AT_LENGTH) == BALE_SETTINGS_SIZE ? BALE_SETTINGS_SIZE : 0;
    if (memcmp(page, "BIDX", 4) != 0 || height < 1 || height > BALE_HEIGHT_MAX)
        return 0;
    length = bale_page_length(height, bale_get16(page + PAGE_AT_COUNT));
    return length <= BALE_PAGE_MAX ? length : 0;
}

static bool seals(const uint8_t *page, size_t length, size_t got)
{
    return length > PAGE_HEAD && length <= got &&
           bale_hash(page, length - BALE_HASH_SIZE) == bale_get64(page + length - BALE_HASH_SIZE);
}

int bale_evidence_page(struct bale_io *io, const struct bale_ref *ref, uint64_t container_id,
                       bool *missing)
{
    uint8_t page[BALE_PAGE_MAX];
    size_t length, got;
    uint64_t checksum;
    int err = io->ops->read(io, page, sizeof page, ref->position, &got);

    if (err != BALE_OK)
        return err;
    *missing = true;
    if (ref->length < PAGE_HEAD + BALE_HASH_SIZE || got < ref->length)
        return BALE_OK;
    checksum = bale_get64(page + ref->length - BALE_HASH_SIZE);
    length = length_by_head(page);
    if (seals(page, length, got)) /* a whole page: this one or another one */
        *missing = length != ref->length || checksum != ref->checksum;
    else
        *missing =
            checksum != ref->checksum &&
            (length != ref->length || bale_get64(page + PAGE_AT_CONTAINER_ID) != container_id);
    return BALE_OK;
}

/* Whether the bytes are zeros that were not written. codec: the frame's, or store for its extent
 * part. */
static bool lacks(const uint8_t *data, const struct bale_chunk *entry, uint8_t codec)
{
    return all_zero(data, entry->stored) &&
           bale_chunk_checksum(codec, data, entry->stored) != entry->checksum;
}

/* Whether the extent part or a chunk consists of zeros that were not written. */
static bool lacks_chunk(const uint8_t *data, const struct bale_frame *frame)
{
    size_t at = bale_frame_chunks_at(frame);

    if (frame->part.stored > 0 && lacks(data + frame->head_length, &frame->part, BALE_CODEC_STORE))
        return true;
    for (uint32_t i = 0; i < frame->chunks; i++) {
        struct bale_chunk chunk = bale_frame_chunk(data, frame, i);

        if (lacks(data + at, &chunk, frame->codec))
            return true;
        at += chunk.stored;
    }
    return false;
}

/* Whether the head checksum field, at the place that the head's own codec, chunk size and raw
 * length give, has the reference's checksum. */
static bool has_checksum(const uint8_t *data, const struct bale_ref *ref)
{
    uint32_t raw_length = bale_get32(data + FRAME_AT_RAW_LENGTH);
    uint8_t log2 = data[FRAME_AT_CHUNK_LOG2];
    uint32_t length;

    if (log2 < BALE_CHUNK_LOG2_MIN || log2 > BALE_CHUNK_LOG2_MAX || raw_length > BALE_EXTENT_MAX)
        return false;
    length = bale_frame_head_length(data[FRAME_AT_CODEC], raw_length, log2);
    return length <= ref->length && bale_get64(data + length - BALE_HASH_SIZE) == ref->checksum;
}

static bool is_identified(const uint8_t *data, const struct bale_evidence_frame *frame)
{
    uint64_t generation = bale_get64(data + FRAME_AT_GENERATION);

    return memcmp(data, "BFRM", 4) == 0 && bale_get64(data + FRAME_AT_OFFSET) == frame->offset &&
           generation >= frame->generation_least && generation <= frame->generation_most;
}

static bool is_missing(const uint8_t *data, const struct bale_evidence_frame *wanted)
{
    const struct bale_ref *ref = &wanted->ref;
    struct bale_frame frame;
    int err = bale_frame_head_decode(data, ref->length, &frame);

    if (err == BALE_OK && frame.head_checksum != ref->checksum)
        return true; /* a whole head of another frame */
    if (err == BALE_OK)
        return (uint64_t)frame.head_length + frame.stored_length == ref->length &&
               lacks_chunk(data, &frame);
    return !is_identified(data, wanted) && !has_checksum(data, ref);
}

int bale_evidence_frame(struct bale_io *io, const struct bale_evidence_frame *frame, bool *missing)
{
    const struct bale_ref *ref = &frame->ref;
    uint8_t *data;
    size_t got;
    int err;

    *missing = true;
    if (ref->length < FRAME_HEAD)
        return BALE_OK;
    data = malloc(ref->length);
    if (!data)
        return BALE_E_NOMEM;
    err = io->ops->read(io, data, ref->length, ref->position, &got);
    if (err == BALE_OK && got == ref->length)
        *missing = is_missing(data, frame);
    free(data);
    return err;
}
