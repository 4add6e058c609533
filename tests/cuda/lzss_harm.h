/* Frames of gpulz and culzss that were made to harm: a stream is damaged, and all checksums match. */
#ifndef BALE_TESTS_CUDA_LZSS_HARM_H
#define BALE_TESTS_CUDA_LZSS_HARM_H

#include "format/bytes.h"
#include "format/hash.h"
#include "kernels/frame/registry.h"
#include "tests/cuda/lzss_items.h"

enum { LZSS_CHUNKS_MAX = 64 };

/* Changes some of a stream: anywhere, among its counts and first flags, or at its end. Returns its
 * length then. */
static inline uint32_t lzss_damage(struct lzss_items *list, uint8_t *stream, uint32_t length)
{
    uint32_t most[] = {length, 2, 70, length};

    for (uint32_t edits = 1 + lzss_below(list, 3); edits > 0; edits--) {
        uint32_t range = most[lzss_below(list, 4)];
        uint32_t at = lzss_below(list, range < length ? range : length);
        if (lzss_below(list, 4) == 0)
            at = length - 1 - lzss_below(list, length < 40 ? length : 40);
        uint8_t bit = (uint8_t)(1u << lzss_below(list, 8));
        stream[at] = (uint8_t)(lzss_below(list, 2) ? stream[at] ^ bit : data_next(&list->state));
    }
    return lzss_below(list, 6) == 0 ? 1 + lzss_below(list, length) : length;
}

/* Decodes all chunks on the CPU. False: one is refused. */
static inline bool lzss_decode_chunks(struct lzss_items *list, struct lzss_job *job,
                                      const struct bale_frame *frame,
                                      const struct bale_chunk *table, const uint8_t *in,
                                      uint8_t *hashes)
{
    const struct bale_codec *codec = bale_codec_find(frame->codec);
    uint8_t *raw = job->data;

    for (uint32_t i = 0; i < frame->chunks; i++) {
        uint32_t length = bale_frame_chunk_raw(frame, i);
        if (table[i].stored == length)
            memcpy(raw, in, length);
        else if (codec->decode(bale_scratch_work(list->scratch, codec->id),
                               (int16_t)frame->parameter, in, table[i].stored, raw, length,
                               1u << frame->chunk_log2, (struct bale_wanted){0, length}) != BALE_OK)
            return false;
        bale_put64(hashes + (size_t)8 * i, bale_hash(raw, length));
        in += table[i].stored;
        raw += length;
    }
    return true;
}

/* One chunk's stream is damaged, and all checksums are made to match. */
static inline void lzss_harm(struct lzss_items *list, struct lzss_job *job)
{
    static uint8_t stored[LZSS_ROOM], hashes[8 * LZSS_CHUNKS_MAX];
    struct bale_chunk table[LZSS_CHUNKS_MAX];
    struct bale_frame frame;
    size_t from, to = 0;

    REQUIRE(bale_frame_head_decode(job->frame, job->frame_length, &frame) == BALE_OK);
    if (frame.codec != job->setting.codec)
        return;
    REQUIRE(frame.chunks <= LZSS_CHUNKS_MAX);
    from = frame.head_length;
    uint32_t victim = lzss_below(list, frame.chunks);
    for (uint32_t i = 0; i < frame.chunks; i++) {
        table[i] = bale_frame_chunk(job->frame, &frame, i);
        memcpy(stored + to, job->frame + from, table[i].stored);
        from += table[i].stored;
        if (i == victim && table[i].stored < bale_frame_chunk_raw(&frame, i))
            table[i].stored = lzss_damage(list, stored + to, table[i].stored);
        table[i].checksum = bale_hash(stored + to, table[i].stored);
        to += table[i].stored;
    }
    job->expected =
        lzss_decode_chunks(list, job, &frame, table, stored, hashes) ? BALE_OK : BALE_E_CORRUPT;
    if (job->expected == BALE_OK)
        frame.raw_checksum = bale_hash(hashes, (size_t)8 * frame.chunks);
    bale_frame_head_encode(&frame, table, job->frame);
    memcpy(job->frame + frame.head_length, stored, to);
    job->frame_length = frame.head_length + to;
}

static inline void lzss_harm_all(struct lzss_items *list)
{
    for (unsigned i = 0; i < list->count; i++)
        lzss_harm(list, &list->jobs[i]);
}

#endif
