#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/internal.h"
#include "kernels/frame/setting.h"

/* The frame's raw checksum from the chunks' in the scratch. */
static uint64_t raw_checksum(const struct bale_scratch *scratch, uint32_t count)
{
    return bale_frame_raw_checksum(scratch->hashes, count);
}

static bool is_all_equal(const uint8_t *raw, uint32_t length)
{
    return memcmp(raw, raw + 1, length - 1) == 0;
}

/* Raw checksum of a frame whose raw bytes are all equal: its full chunks are the same, so one of
 * them is hashed. */
static uint64_t zero_checksum(struct bale_scratch *scratch, const struct bale_frame *frame,
                              const uint8_t *raw)
{
    uint32_t count = bale_frame_chunk_count(frame);
    uint64_t full = bale_hash(raw, bale_frame_chunk_raw(frame, 0));

    for (uint32_t i = 0; i + 1 < count; i++)
        bale_put64(scratch->hashes + (size_t)i * BALE_HASH_SIZE, full);
    bale_put64(scratch->hashes + (size_t)(count - 1) * BALE_HASH_SIZE,
               count > 1 ? bale_hash(raw, bale_frame_chunk_raw(frame, count - 1)) : full);
    return raw_checksum(scratch, count);
}

/* Chunks do not fit behind their extent part. No error: the frame is stored raw. */
#define NO_ROOM 1
/* The codec, one that knows arrays, leaves the bytes to what auto chooses. No error either. */
#define NOT_SUITED 2

/* A frame's setting, and where its next chunk goes. */
struct target {
    struct bale_setting setting;
    struct bale_extent_part part;
    uint8_t *out;
    size_t room;
};

/* Encodes one chunk. Returns the stored length, 0 if there is no room even for the raw bytes, or a
 * negative bale_err. */
static int64_t encode_chunk(struct bale_scratch *scratch, const struct target *to,
                            const uint8_t *raw, uint32_t raw_length, uint64_t raw_hash,
                            struct bale_chunk *chunk)
{
    const struct bale_codec *codec = bale_codec_find(to->setting.codec);
    uint32_t limit = bale_chunk_limit(raw_length);
    uint32_t capacity = to->room < limit ? (uint32_t)to->room : limit;
    uint8_t *out = to->out;
    int64_t stored = 0;

    if (codec->encode && capacity > 0)
        stored = codec->encode(scratch->work[codec->id], to->setting.parameter, to->part, raw,
                               raw_length, out, capacity);
    if (stored < 0 || (stored == 0 && to->room < raw_length))
        return stored;
    if (stored == 0) {
        memcpy(out, raw, raw_length);
        *chunk = (struct bale_chunk){.stored = raw_length, .checksum = raw_hash};
    } else {
        *chunk =
            (struct bale_chunk){.stored = (uint32_t)stored,
                                .checksum = bale_chunk_checksum(codec->id, out, (uint32_t)stored)};
    }
    return chunk->stored;
}

/* Encodes all chunks and fills the scratch's table. NO_ROOM: they have none. */
static int encode_chunks(struct bale_scratch *scratch, struct target *to, const uint8_t *raw,
                         struct bale_frame *frame)
{
    uint32_t count = bale_frame_chunk_count(frame);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t length = bale_frame_chunk_raw(frame, i);
        uint64_t hash = bale_chunk_checksum(to->setting.codec, raw, length);
        int64_t stored = encode_chunk(scratch, to, raw, length, hash, &scratch->chunks[i]);
        if (stored <= 0)
            return stored < 0 ? (int)stored : NO_ROOM;
        bale_put64(scratch->hashes + (size_t)i * BALE_HASH_SIZE, hash);
        raw += length;
        to->out += stored;
        to->room -= (size_t)stored;
    }
    frame->raw_checksum = raw_checksum(scratch, count);
    return BALE_OK;
}

/* Makes the extent part and the chunks behind it. NO_ROOM: they gain too little. NOT_SUITED. */
static int encode_with_part(struct bale_scratch *scratch, struct bale_setting setting,
                            const uint8_t *raw, struct bale_frame *frame, uint8_t *body)
{
    const struct bale_codec *codec = bale_codec_find(setting.codec);
    uint32_t length = frame->raw_length;
    struct target to = {.setting = setting};
    int64_t part;

    if (!bale_frame_with_part_gains(length, 0))
        return NO_ROOM;
    part = codec->learn(scratch->work[codec->id], setting.parameter, &setting.field, frame->offset,
                        1u << frame->chunk_log2, raw, length, body, bale_part_limit(length));
    if (part < 0)
        return (int)part;
    if (part == 0 && bale_codec_has_field(codec->id))
        return NOT_SUITED;
    if (!bale_frame_with_part_gains(length, (uint64_t)part))
        return NO_ROOM;
    frame->part =
        (struct bale_chunk){.stored = (uint32_t)part, .checksum = bale_hash(body, (size_t)part)};
    to.part = (struct bale_extent_part){body, (uint32_t)part};
    to.out = body + part;
    to.room = bale_chunk_limit(length) - BALE_CHUNK_ENTRY - (uint32_t)part;
    return encode_chunks(scratch, &to, raw, frame);
}

/* What the frame is encoded with: its bytes are not all equal. */
static struct bale_setting choose(struct bale_scratch *scratch, struct bale_setting setting,
                                  const uint8_t *raw, uint32_t raw_length, uint8_t chunk_log2)
{
    setting = bale_setting_choose(scratch, setting, raw, raw_length, chunk_log2);
    if (setting.codec == BALE_CODEC_ZERO)
        setting.codec = BALE_CODEC_STORE;
    return setting;
}

/* Encodes part and chunks behind the room for the head. NO_ROOM and NOT_SUITED: the frame has the
 * chunk size that was asked for, and *setting what it is to be encoded with then. */
static int encode_shared(struct bale_scratch *scratch, struct bale_setting *setting,
                         const uint8_t *raw, struct bale_frame *frame, uint8_t *out)
{
    uint8_t asked = frame->chunk_log2;
    int err;

    frame->chunk_log2 = bale_codec_chunk_log2(setting, asked);
    err = encode_with_part(
        scratch, *setting, raw, frame,
        out + bale_frame_head_length(setting->codec, frame->raw_length, frame->chunk_log2));
    if (err == NO_ROOM)
        *setting = (struct bale_setting){.codec = BALE_CODEC_STORE};
    if (err == NOT_SUITED)
        *setting = choose(scratch, (struct bale_setting){.codec = BALE_CODEC_AUTO}, raw,
                          frame->raw_length, asked);
    if (err > 0)
        frame->chunk_log2 = asked;
    return err;
}

/* Encodes everything but the head. *setting becomes what the chunks were encoded with. */
static int encode_body(struct bale_scratch *scratch, struct bale_setting *setting,
                       const uint8_t *raw, struct bale_frame *frame, uint8_t *out)
{
    struct target to = {.room = frame->raw_length};

    for (int tries = 0; bale_codec_has_part(setting->codec); tries++) {
        int err = encode_shared(scratch, setting, raw, frame, out);

        if (err <= 0)
            return err;
        if (tries > 0) /* auto's choice does not suit either */
            *setting = (struct bale_setting){.codec = BALE_CODEC_STORE};
    }
    to.setting = *setting;
    to.out = out + bale_frame_head_length(setting->codec, frame->raw_length, frame->chunk_log2);
    return encode_chunks(scratch, &to, raw, frame);
}

int bale_frame_encode(struct bale_scratch *scratch, struct bale_setting setting, const uint8_t *raw,
                      struct bale_frame *frame, uint8_t *out, size_t *length)
{
    int err;

    if (!bale_setting_valid(setting) || !bale_frame_has_geometry(frame) ||
        !bale_codec_takes_chunks(setting.codec, frame->chunk_log2))
        return BALE_E_INVALID;
    err = bale_scratch_reserve(scratch, bale_frame_chunk_count(frame));
    if (err < 0)
        return err;
    if (is_all_equal(raw, frame->raw_length)) {
        bale_frame_set_zero(frame, raw[0]);
        frame->raw_checksum = zero_checksum(scratch, frame, raw);
    } else {
        setting = choose(scratch, setting, raw, frame->raw_length, frame->chunk_log2);
        err = encode_body(scratch, &setting, raw, frame, out);
        if (err < 0)
            return err;
        bale_frame_set_codec(frame, setting, scratch->chunks);
    }
    bale_frame_head_encode(frame, scratch->chunks, out);
    *length = (size_t)frame->head_length + frame->stored_length;
    return BALE_OK;
}

static bool part_is_whole(const struct bale_frame *frame, const uint8_t *part)
{
    return bale_hash(part, frame->part.stored) == frame->part.checksum;
}

/* Checks the stored bytes of chunk i, at in, and the extent part if the chunk needs it, and decodes
 * what is wanted of it. *entry gets the chunk's entry in the table. */
static int decode_chunk(struct bale_scratch *scratch, const uint8_t *head,
                        const struct bale_frame *frame, uint32_t i, const uint8_t *part,
                        const uint8_t *in, uint8_t *raw, struct bale_wanted wanted,
                        struct bale_chunk *entry)
{
    const struct bale_codec *codec = bale_codec_find(frame->codec);
    uint32_t raw_length = bale_frame_chunk_raw(frame, i);

    if (!codec)
        return BALE_E_UNSUPPORTED;
    *entry = bale_frame_chunk(head, frame, i);
    if (bale_chunk_checksum(frame->codec, in, entry->stored) != entry->checksum)
        return BALE_E_CORRUPT;
    if (entry->stored == raw_length) {
        memcpy(raw + wanted.from, in + wanted.from, wanted.to - wanted.from);
        return BALE_OK;
    }
    if (!codec->decode || (bale_codec_has_part(codec->id) && !part_is_whole(frame, part)))
        return BALE_E_CORRUPT;
    return codec->decode(scratch->work[codec->id], (int16_t)frame->parameter,
                         (struct bale_extent_part){part, frame->part.stored}, in, entry->stored,
                         raw, raw_length, 1u << frame->chunk_log2, wanted);
}

static int decode_chunks(struct bale_scratch *scratch, const uint8_t *head,
                         const struct bale_frame *frame, uint8_t *raw)
{
    const uint8_t *part = head + frame->head_length;
    const uint8_t *in = head + bale_frame_chunks_at(frame);

    if (bale_codec_has_part(frame->codec) && !part_is_whole(frame, part))
        return BALE_E_CORRUPT;
    for (uint32_t i = 0; i < frame->chunks; i++) {
        struct bale_chunk entry;
        uint32_t length = bale_frame_chunk_raw(frame, i);
        int err = decode_chunk(scratch, head, frame, i, part, in, raw,
                               (struct bale_wanted){0, length}, &entry);
        if (err < 0)
            return err;
        /* A chunk stored raw has one checksum, and it was checked. */
        bale_put64(scratch->hashes + (size_t)i * BALE_HASH_SIZE,
                   entry.stored == length ? entry.checksum
                                          : bale_chunk_checksum(frame->codec, raw, length));
        in += entry.stored;
        raw += length;
    }
    return raw_checksum(scratch, frame->chunks) == frame->raw_checksum ? BALE_OK : BALE_E_CORRUPT;
}

int bale_frame_decode(struct bale_scratch *scratch, const uint8_t *in, size_t length, uint8_t *raw,
                      uint32_t raw_length, struct bale_frame *frame)
{
    struct bale_frame head;
    int err = bale_frame_head_decode(in, length, &head);

    if (err < 0)
        return err == BALE_E_SHORT ? BALE_E_CORRUPT : err;
    if (frame)
        *frame = head;
    if (head.raw_length != raw_length || (uint64_t)head.head_length + head.stored_length != length)
        return BALE_E_CORRUPT;
    err = bale_scratch_reserve(scratch, bale_frame_chunk_count(&head));
    if (err < 0)
        return err;
    if (head.codec == BALE_CODEC_ZERO) {
        memset(raw, head.parameter, raw_length);
        return zero_checksum(scratch, &head, raw) == head.raw_checksum ? BALE_OK : BALE_E_CORRUPT;
    }
    return decode_chunks(scratch, in, &head, raw);
}

int bale_frame_decode_chunk(struct bale_scratch *scratch, const uint8_t *head,
                            const struct bale_frame *frame, uint32_t i, const uint8_t *part,
                            const uint8_t *in, uint8_t *raw, struct bale_wanted wanted)
{
    struct bale_chunk entry;

    if (frame->codec == BALE_CODEC_ZERO) {
        memset(raw + wanted.from, frame->parameter, wanted.to - wanted.from);
        return BALE_OK;
    }
    return decode_chunk(scratch, head, frame, i, part, in, raw, wanted, &entry);
}
