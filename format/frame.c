#include "format/frame.h"

#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"

enum {
    AT_VERSION = 4,
    AT_CODEC = 5,
    AT_CHUNK_LOG2 = 6,
    AT_FLAGS = 7,
    AT_PARAMETER = 8,
    AT_ZERO = 10,
    AT_RAW_LENGTH = 12,
    AT_OFFSET = 16,
    AT_GENERATION = 24,
    AT_RAW_CHECKSUM = 32,
    AT_STORED_LENGTH = 40,
    AT_TABLE = 44,
    ENTRY_SIZE = BALE_CHUNK_ENTRY,
    CHECKSUM_SIZE = BALE_HASH_SIZE,
    HEAD_MIN = AT_TABLE + CHECKSUM_SIZE,
    VERSION = 1,
};

static const uint8_t magic[4] = {'B', 'F', 'R', 'M'};

static uint32_t chunk_count(uint32_t raw_length, uint8_t chunk_log2)
{
    return (uint32_t)(((uint64_t)raw_length + (UINT64_C(1) << chunk_log2) - 1) >> chunk_log2);
}

uint32_t bale_frame_chunk_count(const struct bale_frame *frame)
{
    return chunk_count(frame->raw_length, frame->chunk_log2);
}

static uint32_t table_count(uint8_t codec, uint32_t raw_length, uint8_t chunk_log2)
{
    return codec == BALE_CODEC_ZERO ? 0 : chunk_count(raw_length, chunk_log2);
}

uint32_t bale_frame_head_length(uint8_t codec, uint32_t raw_length, uint8_t chunk_log2)
{
    return HEAD_MIN + ENTRY_SIZE * (table_count(codec, raw_length, chunk_log2) +
                                    (bale_codec_has_part(codec) ? 1 : 0));
}

size_t bale_frame_bound(uint32_t raw_length, uint8_t chunk_log2)
{
    return (size_t)bale_frame_head_length(BALE_CODEC_STORE, raw_length, chunk_log2) + raw_length;
}

static void put_checksum(uint8_t *head, struct bale_frame *frame)
{
    size_t covered = frame->head_length - CHECKSUM_SIZE;

    frame->head_checksum = bale_hash(head, covered);
    bale_put64(head + covered, frame->head_checksum);
}

/* What of the head's lengths follows from codec, raw length and chunk size. */
static void set_lengths(struct bale_frame *frame)
{
    frame->chunks = table_count(frame->codec, frame->raw_length, frame->chunk_log2);
    frame->head_length = bale_frame_head_length(frame->codec, frame->raw_length, frame->chunk_log2);
}

static uint8_t *put_entry(uint8_t *entry, const struct bale_chunk *chunk)
{
    bale_put32(entry, chunk->stored);
    bale_put64(entry + 4, chunk->checksum);
    return entry + ENTRY_SIZE;
}

static struct bale_chunk get_entry(const uint8_t *entry)
{
    return (struct bale_chunk){.stored = bale_get32(entry), .checksum = bale_get64(entry + 4)};
}

uint32_t bale_frame_head_encode(struct bale_frame *frame, const struct bale_chunk *chunks,
                                uint8_t *out)
{
    uint8_t *entry = out + AT_TABLE;

    set_lengths(frame);
    if (bale_codec_has_part(frame->codec))
        entry = put_entry(entry, &frame->part);
    else
        frame->part = (struct bale_chunk){0};
    frame->stored_length = frame->part.stored;
    for (uint32_t i = 0; i < frame->chunks; i++) {
        entry = put_entry(entry, &chunks[i]);
        frame->stored_length += chunks[i].stored;
    }

    memcpy(out, magic, sizeof magic);
    out[AT_VERSION] = VERSION;
    out[AT_CODEC] = frame->codec;
    out[AT_CHUNK_LOG2] = frame->chunk_log2;
    out[AT_FLAGS] = 0;
    bale_put16(out + AT_PARAMETER, frame->parameter);
    bale_put16(out + AT_ZERO, 0);
    bale_put32(out + AT_RAW_LENGTH, frame->raw_length);
    bale_put64(out + AT_OFFSET, frame->offset);
    bale_put64(out + AT_GENERATION, frame->generation);
    bale_put64(out + AT_RAW_CHECKSUM, frame->raw_checksum);
    bale_put32(out + AT_STORED_LENGTH, frame->stored_length);
    put_checksum(out, frame);
    return frame->head_length;
}

static void read_fields(const uint8_t *in, struct bale_frame *frame)
{
    frame->codec = in[AT_CODEC];
    frame->chunk_log2 = in[AT_CHUNK_LOG2];
    frame->parameter = bale_get16(in + AT_PARAMETER);
    frame->raw_length = bale_get32(in + AT_RAW_LENGTH);
    frame->offset = bale_get64(in + AT_OFFSET);
    frame->generation = bale_get64(in + AT_GENERATION);
    frame->raw_checksum = bale_get64(in + AT_RAW_CHECKSUM);
    frame->stored_length = bale_get32(in + AT_STORED_LENGTH);
}

/* What the head's length follows from; the rest waits for the checksum. */
static int check_geometry(const uint8_t *in, const struct bale_frame *frame)
{
    if (memcmp(in, magic, sizeof magic) != 0 || in[AT_VERSION] < VERSION)
        return BALE_E_CORRUPT;
    if (frame->chunk_log2 < BALE_CHUNK_LOG2_MIN || frame->chunk_log2 > BALE_CHUNK_LOG2_MAX)
        return BALE_E_CORRUPT;
    if (frame->raw_length < 1 || frame->raw_length > BALE_EXTENT_MAX)
        return BALE_E_CORRUPT;
    return BALE_OK;
}

static int check_codec(const struct bale_frame *frame)
{
    const struct bale_codec_about *codec = bale_codec_about(frame->codec);

    if (!codec || frame->codec == BALE_CODEC_AUTO)
        return BALE_E_UNSUPPORTED;
    return codec->in_frame(frame->parameter) && frame->chunk_log2 <= codec->chunk_log2
               ? BALE_OK
               : BALE_E_CORRUPT;
}

/* An empty part has the checksum of no bytes, so that its entry says nothing else. */
static int check_part(const uint8_t *in, struct bale_frame *frame)
{
    const struct bale_chunk part = get_entry(in + AT_TABLE);

    frame->part = part;
    if (part.stored > bale_part_limit(frame->raw_length) ||
        !bale_frame_with_part_gains(frame->raw_length, frame->stored_length))
        return BALE_E_CORRUPT;
    return part.stored > 0 || part.checksum == bale_hash(in, 0) ? BALE_OK : BALE_E_CORRUPT;
}

static int check_table(const uint8_t *in, const struct bale_frame *frame)
{
    uint64_t sum = frame->part.stored;

    for (uint32_t i = 0; i < frame->chunks; i++) {
        uint32_t stored = bale_frame_chunk(in, frame, i).stored;
        uint32_t raw = bale_frame_chunk_raw(frame, i);

        if (stored < 1 || stored > raw)
            return BALE_E_CORRUPT;
        if (frame->codec == BALE_CODEC_STORE && stored != raw)
            return BALE_E_CORRUPT;
        sum += stored;
    }
    return sum == frame->stored_length ? BALE_OK : BALE_E_CORRUPT;
}

int bale_frame_head_decode(const uint8_t *in, size_t length, struct bale_frame *frame)
{
    size_t covered;
    int err;

    *frame = (struct bale_frame){.head_length = HEAD_MIN};
    if (length < HEAD_MIN)
        return BALE_E_SHORT;
    read_fields(in, frame);
    err = check_geometry(in, frame);
    if (err != BALE_OK)
        return err;
    set_lengths(frame);
    if (length < frame->head_length)
        return BALE_E_SHORT;

    /* The checksum comes before any "unsupported": a flipped bit is no newer version. */
    covered = frame->head_length - CHECKSUM_SIZE;
    frame->head_checksum = bale_get64(in + covered);
    if (frame->head_checksum != bale_hash(in, covered))
        return BALE_E_CORRUPT;
    if (in[AT_VERSION] > VERSION || in[AT_FLAGS] != 0 || bale_get16(in + AT_ZERO) != 0)
        return BALE_E_UNSUPPORTED;
    err = check_codec(frame);
    if (err != BALE_OK)
        return err;
    if (frame->offset > (uint64_t)BALE_SIZE_MAX - frame->raw_length)
        return BALE_E_CORRUPT;
    err = bale_codec_has_part(frame->codec) ? check_part(in, frame) : BALE_OK;
    return err == BALE_OK ? check_table(in, frame) : err;
}

struct bale_chunk bale_frame_chunk(const uint8_t *head, const struct bale_frame *frame, uint32_t i)
{
    size_t before = bale_codec_has_part(frame->codec) ? 1 : 0;

    return get_entry(head + AT_TABLE + ENTRY_SIZE * (before + i));
}

uint32_t bale_frame_chunk_raw(const struct bale_frame *frame, uint32_t i)
{
    uint32_t size = UINT32_C(1) << frame->chunk_log2;
    uint32_t left = frame->raw_length - (i << frame->chunk_log2);

    return left < size ? left : size;
}

uint64_t bale_chunk_checksum(uint8_t codec, const uint8_t *bytes, uint32_t length)
{
    uint8_t hashes[(BALE_CELLS_MAX)*BALE_HASH_SIZE];
    uint32_t count = 0;

    if (!bale_codec_has_cells(codec) || length <= BALE_CELL)
        return bale_hash(bytes, length);
    for (uint32_t at = 0; at < length; at += BALE_CELL, count++) {
        uint32_t left = length - at;

        bale_put64(hashes + (size_t)count * BALE_HASH_SIZE,
                   bale_hash(bytes + at, left < BALE_CELL ? left : BALE_CELL));
    }
    return bale_hash(hashes, (size_t)count * BALE_HASH_SIZE);
}

bool bale_frame_has_geometry(const struct bale_frame *frame)
{
    return frame->raw_length > 0 && frame->raw_length <= BALE_EXTENT_MAX &&
           frame->chunk_log2 >= BALE_CHUNK_LOG2_MIN && frame->chunk_log2 <= BALE_CHUNK_LOG2_MAX &&
           frame->offset <= (uint64_t)BALE_SIZE_MAX - frame->raw_length;
}

uint64_t bale_frame_raw_checksum(const uint8_t *hashes, uint32_t count)
{
    return bale_hash(hashes, (size_t)count * BALE_HASH_SIZE);
}

void bale_frame_set_zero(struct bale_frame *frame, uint8_t value)
{
    frame->codec = BALE_CODEC_ZERO;
    frame->parameter = value;
}

void bale_frame_set_codec(struct bale_frame *frame, struct bale_setting setting,
                          const struct bale_chunk *chunks)
{
    uint32_t count = bale_frame_chunk_count(frame);
    bool shrunk = false;

    for (uint32_t i = 0; i < count && !shrunk; i++)
        shrunk = chunks[i].stored < bale_frame_chunk_raw(frame, i);
    frame->codec = shrunk ? setting.codec : BALE_CODEC_STORE;
    frame->parameter = shrunk ? (uint16_t)setting.parameter : 0;
}

void bale_frame_stamp(uint8_t *head, struct bale_frame *frame, uint64_t generation)
{
    frame->generation = generation;
    bale_put64(head + AT_GENERATION, generation);
    put_checksum(head, frame);
}
