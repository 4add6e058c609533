/* bale_compress: extents become frames in lanes and are put together in order. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/stream.h"
#include "kernels/api/context.h"

struct job {
    struct bale_context *context;
    struct bale_api_setup setup;
    struct bale_stream stream;
    const uint8_t *in;
    size_t length;
    size_t at;    /* of in that was given to lanes */
    uint8_t *out; /* capacity bytes, used of them written */
    size_t capacity;
    size_t used;
};

static size_t bound(const struct bale_api_setup *setup, size_t length)
{
    size_t whole = length / setup->extent, rest = length % setup->extent, total;

    if (__builtin_mul_overflow(whole, bale_frame_bound(setup->extent, setup->chunk_log2), &total) ||
        (rest > 0 && __builtin_add_overflow(
                         total, bale_frame_bound((uint32_t)rest, setup->chunk_log2), &total)) ||
        __builtin_add_overflow(total, BALE_STREAM_HEAD + BALE_STREAM_END, &total))
        return 0;
    return total;
}

size_t bale_compress_bound(const struct bale_params *params, size_t length)
{
    struct bale_api_setup setup;
    char why[BALE_MESSAGE];

    return bale_api_setup(params, &setup, why) == BALE_OK ? bound(&setup, length) : 0;
}

static int put(struct job *job, const uint8_t *bytes, size_t length)
{
    if (length > job->capacity - job->used)
        return bale_api_fail(job->context, BALE_E_TOOBIG,
                             "The compressed bytes do not fit %zu bytes.", job->capacity);
    memcpy(job->out + job->used, bytes, length);
    job->used += length;
    return BALE_OK;
}

static void fill(struct job *job, struct bale_lane *lane)
{
    size_t left = job->length - job->at;
    uint32_t length = left < job->setup.extent ? (uint32_t)left : job->setup.extent;
    struct bale_item *item = &lane->item;

    item->kind = BALE_ITEM_ENCODE;
    item->setting = job->setup.setting;
    item->frame = (struct bale_frame){
        .offset = job->at, .raw_length = length, .chunk_log2 = job->setup.chunk_log2};
    item->raw = (uint8_t *)job->in + job->at; /* an encoder only reads it */
    item->stored = lane->stored;
    item->capacity = job->context->lane_stored;
    job->at += length;
}

static int take(struct job *job, const struct bale_item *item)
{
    int err = item->status;

    if (err < 0)
        return bale_api_fail(job->context, err, "Compressing the bytes from %llu on failed: %s.",
                             (unsigned long long)item->frame.offset, bale_err_text(err));
    err = bale_stream_add(&job->stream, &item->frame);
    return err < 0 ? err : put(job, item->stored, item->stored_length);
}

static int run(struct job *job)
{
    struct bale_lanes *lanes = job->context->lanes;
    struct bale_lane *lane;
    int err = BALE_OK;

    do {
        while (err == BALE_OK && job->at < job->length && (lane = bale_lanes_next(lanes))) {
            fill(job, lane);
            bale_lanes_start(lanes);
        }
        lane = bale_lanes_wait(lanes);
        if (lane) {
            if (err == BALE_OK)
                err = take(job, &lane->item);
            bale_lanes_release(lanes);
        }
    } while (lane);
    return err;
}

static int write_stream(struct job *job)
{
    uint8_t head[BALE_STREAM_HEAD], end[BALE_STREAM_END];
    int err;

    bale_stream_begin(&job->stream, job->setup.extent, head);
    err = put(job, head, sizeof head);
    if (err == BALE_OK)
        err = run(job);
    if (err == BALE_OK) {
        bale_stream_end_encode(&job->stream, job->length, end);
        err = put(job, end, sizeof end);
    }
    return err;
}

/* The caller's memory, or the most that can be needed of our own. */
static int open_output(struct job *job, const struct bale_buffer *out)
{
    size_t most = bound(&job->setup, job->length);

    job->out = out->data;
    job->capacity = out->capacity;
    if (job->out)
        return BALE_OK;
    if (most == 0)
        return bale_api_fail(job->context, BALE_E_TOOBIG, "%zu bytes are too many.", job->length);
    if (job->capacity == 0 || job->capacity > most)
        job->capacity = most;
    job->out = malloc(job->capacity);
    if (!job->out)
        return bale_api_fail(job->context, BALE_E_NOMEM, "There is no memory for %zu bytes.",
                             job->capacity);
    return BALE_OK;
}

/* Our own memory shrinks to what is used, if it can. */
static void close_output(struct job *job, struct bale_buffer *out)
{
    if (!out->data) {
        void *fitting = realloc(job->out, job->used);
        out->data = fitting ? fitting : job->out;
        out->capacity = job->used;
    }
    out->length = job->used;
}

int bale_compress(struct bale_context *context, const struct bale_params *params, const void *in,
                  size_t length, struct bale_buffer *out)
{
    struct job job = {.context = context, .in = in, .length = length};
    unsigned count;
    size_t each;
    int err;

    out->length = 0;
    if (!in && length > 0)
        return bale_api_fail(context, BALE_E_INVALID, "The input is missing.");
    err = bale_api_setup(params, &job.setup, context->message);
    if (err < 0)
        return err;
    each = bale_frame_bound(job.setup.extent, job.setup.chunk_log2);
    count = bale_lanes_count(context->threads, each);
    err = bale_api_lanes(context, count, each);
    if (err == BALE_OK)
        err = open_output(&job, out);
    if (err < 0)
        return err;
    err = write_stream(&job);
    if (err == BALE_OK)
        close_output(&job, out);
    else if (!out->data)
        free(job.out);
    return err;
}
