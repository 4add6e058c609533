/* The chunks of a batch on the fake device, one after the other, by the CPU's codecs. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/frame.h"
#include "format/hash.h"
#include "kernels/frame/registry.h"
#include "tests/cuda/fake_device.h"

static const struct bale_codec *codec_of(enum cuda_codec codec)
{
    return bale_codec_find(bale_cuda_codecs[codec].id);
}

static uint8_t *part_cell(const struct bale_cuda_slot *slot, uint32_t frame)
{
    return slot->parts + (size_t)frame * BALE_CUDA_PART;
}

static void set_part(struct bale_cuda_slot *slot, uint32_t frame, uint32_t length)
{
    struct cuda_part *made = (struct cuda_part *)(uintptr_t)&slot->host.made[frame];

    *made = (struct cuda_part){bale_hash(part_cell(slot, frame), length), length};
}

/* Of a codec without extent parts it is of no bytes. */
static struct bale_extent_part part_of(const struct bale_cuda_slot *slot, uint32_t frame)
{
    return (struct bale_extent_part){part_cell(slot, frame), slot->host.made[frame].length};
}

/* Before the frame's first chunk is encoded. */
static void make_part(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t f)
{
    const struct cuda_frame *frame = &slot->host.frames[f];
    const struct cuda_chunk *chunk = &slot->host.chunks[frame->first];
    const uint8_t id = bale_cuda_codecs[codec].id;
    const int16_t parameter = (int16_t)chunk->parameter;
    uint8_t *raw = malloc(frame->raw_length);
    int64_t length = 0;

    const uint32_t first = chunk->whole;

    for (uint32_t at = 0; raw && at < frame->raw_length; at += chunk->raw_length, chunk++)
        memcpy(raw + at, (const uint8_t *)(uintptr_t)chunk->address, chunk->raw_length);
    if (raw)
        length = codec_of(codec)->learn(bale_scratch_work(slot->scratch, id), parameter,
                                        &frame->field, frame->offset, first, raw, frame->raw_length,
                                        part_cell(slot, f), bale_part_limit(frame->raw_length));
    set_part(slot, f, length > 0 ? (uint32_t)length : 0);
    free(raw);
}

/* Before the frame's first chunk is decoded. */
static void take_part(struct bale_cuda_slot *slot, uint32_t f)
{
    const struct cuda_frame *frame = &slot->host.frames[f];

    memcpy(part_cell(slot, f), (const uint8_t *)(uintptr_t)frame->address, frame->length);
    set_part(slot, f, frame->length);
}

/* Whether the chunk is the first of a frame with an extent part. */
static bool begins_part(const struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t c)
{
    return bale_codec_has_part(bale_cuda_codecs[codec].id) &&
           slot->host.frames[slot->host.chunks[c].frame].first == c;
}

static uint32_t flags_of(const uint8_t *raw, uint32_t length)
{
    for (uint32_t i = 1; i < length; i++)
        if (raw[i] != raw[0])
            return CUDA_MIXED;
    return raw[0];
}

/* Where the stored bytes of the chunk begin. */
static uint8_t *packed_of(const struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t first)
{
    return codec == CUDA_STORE ? slot->raw + (size_t)first * BALE_CUDA_CELL
                               : slot->packed + (size_t)first * FAKE_PACKED_CELL;
}

static struct cuda_result *result_of(struct bale_cuda_slot *slot, uint32_t c)
{
    return (struct cuda_result *)(uintptr_t)&slot->host.results[c];
}

/* Whether c is the last cell of its chunk. */
static bool ends_chunk(const struct cuda_chunk *chunk, uint32_t c)
{
    return (c + 1 - chunk->first) * BALE_CUDA_CELL >= chunk->whole;
}

/* Sets the results of a chunk's cells, from the first to the last. */
static void set_stored(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t first,
                       uint32_t last, uint32_t stored)
{
    const uint8_t *packed = packed_of(slot, codec, first);

    for (uint32_t c = first, at = 0; c <= last; c++, at += BALE_CUDA_CELL) {
        const uint32_t left = stored > at ? stored - at : 0;
        result_of(slot, c)->stored = stored;
        result_of(slot, c)->stored_hash =
            bale_hash(packed + at, left < BALE_CUDA_CELL ? left : BALE_CUDA_CELL);
        if (fake_fault_is_on("flip"))
            result_of(slot, c)->flags |= CUDA_MISMATCH;
    }
}

void fake_encode_chunk(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t c)
{
    const struct cuda_chunk *chunk = &slot->host.chunks[c];
    uint8_t *raw = slot->raw + (size_t)c * BALE_CUDA_CELL;
    int64_t stored = 0;

    if (begins_part(slot, codec, c))
        make_part(slot, codec, chunk->frame);
    memcpy(raw, (const uint8_t *)(uintptr_t)chunk->address, chunk->length);
    *result_of(slot, c) =
        (struct cuda_result){.stored = chunk->whole, .flags = flags_of(raw, chunk->length)};
    result_of(slot, c)->raw_hash = result_of(slot, c)->stored_hash = bale_hash(raw, chunk->length);
    if (codec != CUDA_STORE && chunk->limit > 0 && ends_chunk(chunk, c))
        stored = codec_of(codec)->encode(
            bale_scratch_work(slot->scratch, bale_cuda_codecs[codec].id), (int16_t)chunk->parameter,
            part_of(slot, chunk->frame), slot->raw + (size_t)chunk->first * BALE_CUDA_CELL,
            chunk->whole, packed_of(slot, codec, chunk->first), chunk->limit);
    if (stored > 0)
        set_stored(slot, codec, chunk->first, c, (uint32_t)stored);
}

/* Decodes a chunk that is not stored raw, when all of it is there. */
static void unpack(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t c)
{
    const struct cuda_chunk *chunk = &slot->host.chunks[c];
    uint8_t *raw = slot->raw + (size_t)chunk->first * BALE_CUDA_CELL;
    const bool fine =
        codec_of(codec)->decode(
            bale_scratch_work(slot->scratch, bale_cuda_codecs[codec].id), (int16_t)chunk->parameter,
            part_of(slot, chunk->frame), packed_of(slot, codec, chunk->first), chunk->stored, raw,
            chunk->whole, chunk->chunk_size, (struct bale_wanted){0, chunk->whole}) == BALE_OK;

    for (uint32_t i = chunk->first; i <= c; i++, raw += BALE_CUDA_CELL) {
        result_of(slot, i)->raw_hash = bale_hash(raw, slot->host.chunks[i].raw_length);
        if (!fine)
            result_of(slot, i)->flags = CUDA_BAD;
    }
}

void fake_decode_chunk(struct bale_cuda_slot *slot, enum cuda_codec codec, uint32_t c)
{
    const struct cuda_chunk *chunk = &slot->host.chunks[c];
    struct cuda_result *result = result_of(slot, c);
    uint8_t *packed =
        packed_of(slot, codec, chunk->first) + (size_t)(c - chunk->first) * BALE_CUDA_CELL;

    if (begins_part(slot, codec, c))
        take_part(slot, chunk->frame);
    memcpy(packed, (const uint8_t *)(uintptr_t)chunk->address, chunk->length);
    *result = (struct cuda_result){.stored = chunk->stored};
    result->raw_hash = result->stored_hash = bale_hash(packed, chunk->length);
    if (chunk->whole <= BALE_CUDA_CELL && result->stored_hash != chunk->checksum)
        result->flags = CUDA_BAD;
    else if (chunk->stored < chunk->whole && ends_chunk(chunk, c))
        unpack(slot, codec, c);
    if (begins_part(slot, codec, c) &&
        slot->host.made[chunk->frame].hash != slot->host.frames[chunk->frame].checksum)
        result->flags |= CUDA_BAD;
}
