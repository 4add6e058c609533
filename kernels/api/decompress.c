/* bale_decompress: decodes frames straight to the output, or to an entry's pinned memory for a
 * GPU. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/stream.h"
#include "kernels/api/context.h"

struct job {
    struct bale_context *context;
    struct bale_api_memory memory;
    uint32_t codecs;   /* bit i: the GPU decodes codec i to device memory */
    const uint8_t *in; /* on the host */
    uint8_t *fetched;  /* the same, if it was copied from a device; else NULL */
    size_t length;
    size_t at;
    struct bale_stream_reader reader;
    size_t frames, raw_most, stored_most; /* set by measure_input */
    uint8_t *out;
    size_t size; /* bytes of out: the raw size */
    size_t done; /* bytes of out that are filled or given to entries */
};

/* Reads the next whole part and returns 1; 0 at the input's end; a negative bale_err with *why
 * if the input is damaged at job->at. */
static int next_part(struct job *job, struct bale_stream_item *item, const char **why)
{
    size_t left = job->length - job->at;
    int err = left > 0 ? bale_stream_read(&job->reader, job->in + job->at, left, item) : BALE_OK;

    if (left == 0 || err == BALE_E_SHORT || (err == BALE_OK && item->length > left)) {
        *why = bale_stream_ended(&job->reader, left);
        return *why ? BALE_E_CORRUPT : 0;
    }
    *why = item->why;
    return err == BALE_OK ? 1 : err;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Checks the stream without the frames' contents, and finds the output's size. */
static int measure_input(struct job *job, uint64_t *size, const char **why)
{
    struct bale_stream_item item;
    int more;

    while ((more = next_part(job, &item, why)) > 0) {
        job->at += item.length;
        if (item.part != BALE_PART_FRAME)
            continue;
        job->frames++;
        job->raw_most = larger(job->raw_most, item.frame.raw_length);
        job->stored_most = larger(job->stored_most, item.length);
    }
    *size = job->reader.base;
    return more;
}

int bale_raw_size(const void *in, size_t length, uint64_t *raw_size)
{
    struct job job = {.in = in, .length = length};
    const char *why;
    uint64_t size;
    int err;

    if (!in && length > 0)
        return BALE_E_INVALID;
    err = measure_input(&job, &size, &why);
    if (err == BALE_OK)
        *raw_size = size;
    return err;
}

/* Whether the part is as it was measured: another process may share and change the input. */
static bool fits(const struct job *job, const struct bale_stream_item *item)
{
    return item->offset >= job->done && item->offset <= job->size &&
           item->frame.raw_length <= job->size - item->offset &&
           item->frame.raw_length <= job->raw_most &&
           (item->part != BALE_PART_FRAME || item->length <= job->stored_most);
}

static enum bale_api_way way_of(const struct job *job, const struct bale_frame *frame)
{
    if (!job->context->gpu)
        return BALE_API_DIRECT;
    return job->memory.out && job->codecs >> frame->codec & 1 ? BALE_API_ON_DEVICE
                                                              : BALE_API_STAGED;
}

static void set_memory(struct job *job, struct bale_ring_entry *entry)
{
    struct bale_item *item = &entry->item;
    enum bale_api_way way = way_of(job, &item->frame);

    item->raw = job->out + entry->to;
    item->stored = (uint8_t *)job->in + entry->from; /* a decoder only reads it */
    if (way != BALE_API_DIRECT) {
        bale_api_move(job->context, entry->stored, item->stored, item->stored_length, false);
        item->stored = entry->stored;
    }
    if (way == BALE_API_STAGED)
        item->raw = entry->raw;
    if (way == BALE_API_ON_DEVICE) {
        item->memory_kind = BALE_MEMORY_DEVICE;
        item->device = job->memory.out_device;
    }
}

/* Fills the gap before the part with zeros, starts its frame, and goes on behind it. */
static void start_frame(struct job *job, const struct bale_stream_item *item,
                        struct bale_ring_entry *entry)
{
    size_t offset = (size_t)item->offset;

    if (offset > job->done)
        bale_api_move(job->context, job->out + job->done, NULL, offset - job->done,
                      job->memory.out);
    job->done = offset;
    if (item->part == BALE_PART_FRAME) {
        entry->from = job->at;
        entry->to = offset;
        entry->item.kind = BALE_ITEM_DECODE;
        entry->item.frame = item->frame;
        entry->item.stored_length = item->length;
        set_memory(job, entry);
        bale_ring_start(job->context->ring);
        job->done += item->frame.raw_length;
    }
    job->at += item->length;
}

/* After a device could not do an item in its own memory, all items are staged. */
static void redo_staged(struct job *job, struct bale_ring_entry *entry)
{
    job->codecs = 0;
    bale_api_redo(job->context, entry);
}

static int deliver_frame(void *argument, struct bale_ring_entry *entry)
{
    struct job *job = argument;
    struct bale_item *item = &entry->item;

    if (bale_api_is_lost(job->context, item->status))
        return BALE_E_DEVICE;
    if (item->status < 0 && item->memory_kind == BALE_MEMORY_DEVICE)
        redo_staged(job, entry);
    if (item->status < 0)
        return bale_api_fail(job->context, item->status, "The frame at byte %llu is damaged: %s.",
                             (unsigned long long)entry->from, bale_err_text(item->status));
    if (item->raw == entry->raw)
        bale_api_move(job->context, job->out + entry->to, entry->raw, item->frame.raw_length,
                      job->memory.out);
    return BALE_OK;
}

/* Fills free entries, BALE_API_TOGETHER at most. *more: the result of next_part. */
static int fill_entries(struct job *job, int *more)
{
    struct bale_ring *ring = job->context->ring;
    struct bale_stream_item item;
    struct bale_ring_entry *entry;
    const char *why;
    int err = BALE_OK;
    int moved;

    for (unsigned i = 0; i<BALE_API_TOGETHER && * more> 0 && err == BALE_OK; i++) {
        entry = bale_ring_next(ring);
        if (!entry)
            break;
        *more = next_part(job, &item, &why);
        if (*more < 0 || (*more > 0 && !fits(job, &item)))
            err = bale_api_fail(job->context, BALE_E_CORRUPT, "The input changed meanwhile.");
        else if (*more > 0)
            start_frame(job, &item, entry);
    }
    moved = bale_api_run_moves(job->context);
    bale_ring_submit(ring);
    return err < 0 ? err : moved;
}

static int decode_frames(struct job *job)
{
    int more = 1;
    int err = BALE_OK;

    do {
        if (err == BALE_OK && more > 0)
            err = fill_entries(job, &more);
        if (bale_ring_wait(job->context->ring))
            err = bale_api_take_entries(job->context, deliver_frame, job, err);
    } while (bale_ring_wait(job->context->ring) || (err == BALE_OK && more > 0));
    return err;
}

/* Takes the caller's memory, or allocates as much as the frames' heads declare. */
static int open_output(struct job *job, uint64_t size, const struct bale_buffer *out)
{
    job->out = out->data;
    if (size > SIZE_MAX || ((out->data || out->capacity > 0) && size > out->capacity))
        return bale_api_fail(job->context, BALE_E_TOOBIG,
                             "%llu decompressed bytes do not fit %zu bytes.",
                             (unsigned long long)size, out->capacity);
    job->size = (size_t)size;
    if (job->out)
        return BALE_OK;
    job->out = malloc(size > 0 ? job->size : 1);
    if (!job->out)
        return bale_api_fail(job->context, BALE_E_NOMEM, "There is no memory for %llu bytes.",
                             (unsigned long long)size);
    return BALE_OK;
}

/* Bit i: the GPU's decoder of codec i is not ours. */
static uint32_t closed_codecs(void)
{
    const struct bale_codec_about *codec;
    uint32_t closed = 0;

    for (size_t i = 0; (codec = bale_codec_at(i)); i++)
        if (codec->closed)
            closed |= UINT32_C(1) << codec->id;
    return closed;
}

/* The CPU fills extents whose bytes are all equal fast enough. */
static int open_ring(struct job *job)
{
    struct bale_context *context = job->context;
    struct bale_gpu_stats stats;

    if (!context->gpu)
        return bale_api_make_ring(context, 2 * context->threads, 0, 0);
    context->gpu->stats(context->device, &stats);
    job->codecs = stats.codecs & ~(1u << BALE_CODEC_ZERO);
    if (!context->trusted)
        job->codecs &= ~closed_codecs();
    return bale_api_make_staged_ring(context, job->frames + 1, larger(job->raw_most, 1),
                                     larger(job->stored_most, 1));
}

static int decompress_stream(struct job *job, struct bale_buffer *out)
{
    const char *why;
    uint64_t size;
    int err = measure_input(job, &size, &why);

    if (err < 0)
        return bale_api_fail(job->context, err, "At byte %zu: %s.", job->at, why);
    err = open_ring(job);
    if (err == BALE_OK)
        err = open_output(job, size, out);
    if (err < 0)
        return err;
    job->at = 0;
    job->reader = (struct bale_stream_reader){0};
    err = decode_frames(job);
    if (err < 0) {
        if (!out->data)
            free(job->out);
        return err;
    }
    if (!out->data) {
        out->data = job->out;
        out->capacity = job->size;
    }
    out->length = job->size;
    return BALE_OK;
}

int bale_decompress(struct bale_context *context, const struct bale_params *params, const void *in,
                    size_t length, struct bale_buffer *out)
{
    struct job job = {.context = context, .in = in, .length = length};
    struct bale_api_setup setup;
    int err;

    out->length = 0;
    if (!in && length > 0)
        return bale_api_fail(context, BALE_E_INVALID, "The input is missing.");
    err = bale_api_setup(params, &setup, &context->message);
    if (err == BALE_OK)
        err = bale_api_begin(context, &setup, length > 0 ? in : NULL, out->data, &job.memory);
    if (err == BALE_OK && job.memory.in) {
        err = bale_api_fetch(context, in, length, &job.fetched);
        job.in = job.fetched;
    }
    if (err == BALE_OK)
        err = decompress_stream(&job, out);
    free(job.fetched);
    return err;
}
