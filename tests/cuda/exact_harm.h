/* Frames that were made to harm: a stream or an extent part is damaged, or made by hand, and all
 * checksums match. */
#ifndef BALE_TESTS_CUDA_EXACT_HARM_H
#define BALE_TESTS_CUDA_EXACT_HARM_H

#include "format/bytes.h"
#include "format/hash.h"
#include "kernels/frame/registry.h"
#include "tests/cuda/exact_items.h"
#include "tests/vectors/craft.h"

enum { EXACT_CHUNKS_MAX = 64 };

/* Changes some of a stream: anywhere, among its counts and first flags, or at its end. Returns its
 * length then. */
static inline uint32_t exact_damage(struct exact_items *list, uint8_t *stream, uint32_t length)
{
    uint32_t most[] = {length, 2, 70, length};

    for (uint32_t edits = 1 + exact_below(list, 3); edits > 0; edits--) {
        uint32_t range = most[exact_below(list, 4)];
        uint32_t at = exact_below(list, range < length ? range : length);
        if (exact_below(list, 4) == 0)
            at = length - 1 - exact_below(list, length < 40 ? length : 40);
        uint8_t bit = (uint8_t)(1u << exact_below(list, 8));
        stream[at] = (uint8_t)(exact_below(list, 2) ? stream[at] ^ bit : data_next(&list->state));
    }
    return exact_below(list, 6) == 0 ? 1 + exact_below(list, length) : length;
}

/* Decodes all chunks, behind the extent part at in, on the CPU. False: one is refused. */
static inline bool exact_decode_chunks(struct exact_items *list, struct exact_job *job,
                                       const struct bale_frame *frame,
                                       const struct bale_chunk *table, const uint8_t *in,
                                       uint8_t *hashes)
{
    const struct bale_codec *codec = bale_codec_find(frame->codec);
    const struct bale_extent_part part = {in, frame->part.stored};
    uint8_t *raw = job->data;

    in += part.length;
    for (uint32_t i = 0; i < frame->chunks; i++) {
        uint32_t length = bale_frame_chunk_raw(frame, i);
        if (table[i].stored == length)
            memcpy(raw, in, length);
        else if (codec->decode(bale_scratch_work(list->scratch, codec->id),
                               (int16_t)frame->parameter, part, in, table[i].stored, raw, length,
                               1u << frame->chunk_log2, (struct bale_wanted){0, length}) != BALE_OK)
            return false;
        bale_put64(hashes + (size_t)8 * i, bale_chunk_checksum(frame->codec, raw, length));
        in += table[i].stored;
        raw += length;
    }
    return true;
}

/* One chunk's stream is damaged, or the extent part, and all checksums are made to match; sometimes
 * the part's is not. */
static inline void exact_harm(struct exact_items *list, struct exact_job *job)
{
    static uint8_t stored[EXACT_ROOM], hashes[8 * EXACT_CHUNKS_MAX];
    struct bale_chunk table[EXACT_CHUNKS_MAX];
    struct bale_frame frame;
    size_t from, to;

    REQUIRE(bale_frame_head_decode(job->frame, job->frame_length, &frame) == BALE_OK);
    if (frame.codec != job->setting.codec)
        return;
    REQUIRE(frame.chunks <= EXACT_CHUNKS_MAX);
    from = bale_frame_chunks_at(&frame);
    to = frame.part.stored;
    memcpy(stored, job->frame + frame.head_length, to);
    bool of_part = to > 0 && exact_below(list, 3) == 0;
    uint32_t victim = of_part ? frame.chunks : exact_below(list, frame.chunks);
    if (of_part)
        to = frame.part.stored = exact_damage(list, stored, frame.part.stored);
    frame.part.checksum = bale_hash(stored, to);
    for (uint32_t i = 0; i < frame.chunks; i++) {
        table[i] = bale_frame_chunk(job->frame, &frame, i);
        memcpy(stored + to, job->frame + from, table[i].stored);
        from += table[i].stored;
        if (i == victim && table[i].stored < bale_frame_chunk_raw(&frame, i))
            table[i].stored = exact_damage(list, stored + to, table[i].stored);
        table[i].checksum = bale_chunk_checksum(frame.codec, stored + to, table[i].stored);
        to += table[i].stored;
    }
    job->expected =
        exact_decode_chunks(list, job, &frame, table, stored, hashes) ? BALE_OK : BALE_E_CORRUPT;
    if (job->expected == BALE_OK)
        frame.raw_checksum = bale_hash(hashes, (size_t)8 * frame.chunks);
    if (of_part && exact_below(list, 4) == 0) {
        frame.part.checksum ^= 1;
        job->expected = BALE_E_CORRUPT;
    }
    bale_frame_head_encode(&frame, table, job->frame);
    memcpy(job->frame + frame.head_length, stored, to);
    job->frame_length = frame.head_length + to;
}

/* Adds a stream made by hand, for which there is room. What is expected is the CPU's answer. If the
 * head is wrong already, no device sees the frame. */
static inline void exact_add_stream(struct exact_items *list, uint8_t codec,
                                    const struct codec_stream *stream)
{
    struct exact_job *job = &list->jobs[list->count];
    struct bale_frame head;

    *job = (struct exact_job){
        .setting = {.codec = codec, .parameter = (int16_t)stream->parameter},
        .length = stream->raw_length,
        .chunk_log2 = 16,
        .data = exact_data(list, list->count),
        .frame = exact_frame(list, list->count),
    };
    job->frame_length = craft_frame(codec, stream, job->frame);
    if (bale_frame_head_decode(job->frame, job->frame_length, &head) != BALE_OK)
        return;
    list->count++;
    job->expected = bale_frame_decode(list->scratch, job->frame, job->frame_length, job->data,
                                      job->length, NULL);
}

struct exact_streams {
    struct exact_items *list;
    uint8_t codec;
};

static inline void exact_visit_stream(void *arg, const struct codec_stream *stream)
{
    struct exact_streams *streams = arg;

    exact_add_stream(streams->list, streams->codec, stream);
    if (streams->list->count == EXACT_ITEMS) {
        exact_decode_all(streams->list);
        streams->list->count = 0;
    }
}

/* Decodes the streams that the codec's case makes by hand. The list is empty before and after. */
static inline void exact_decode_streams(struct exact_items *list, const struct codec_case *c)
{
    struct exact_streams streams = {.list = list, .codec = c->id};

    codec_case_streams(c, exact_visit_stream, &streams);
    exact_decode_all(list);
    list->count = 0;
}

static inline void exact_harm_all(struct exact_items *list)
{
    for (unsigned i = 0; i < list->count; i++)
        exact_harm(list, &list->jobs[i]);
}

#endif
