/* bale_decompress: frames are decoded by the engine straight to their place. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/stream.h"
#include "kernels/api/context.h"

struct job {
    struct bale_context *context;
    const uint8_t *in;
    size_t length;
    size_t at;
    struct bale_stream_reader reader;
    uint8_t *out;
    size_t size; /* of out: the raw size */
    size_t done; /* of out: given to lanes or filled */
};

/* Reads the next part, whole: 1; 0 at the input's end; negative: *why says what is wrong at
 * job->at. */
static int next(struct job *job, struct bale_stream_item *item, const char **why)
{
    size_t left = job->length - job->at;
    int err = left > 0 ? bale_stream_read(&job->reader, job->in + job->at, left, item) : BALE_OK;

    if (left == 0 || err == BALE_E_AGAIN || (err == BALE_OK && item->length > left)) {
        *why = bale_stream_ended(&job->reader, left);
        return *why ? BALE_E_CORRUPT : 0;
    }
    *why = item->why;
    return err == BALE_OK ? 1 : err;
}

/* All but the frames' contents. */
static int measure(struct job *job, uint64_t *size, const char **why)
{
    struct bale_stream_item item;
    int more;

    while ((more = next(job, &item, why)) > 0)
        job->at += item.length;
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
    err = measure(&job, &size, &why);
    if (err == BALE_OK)
        *raw_size = size;
    return err;
}

/* As measured before; but the input may be somebody's shared memory. */
static bool fits(const struct job *job, const struct bale_stream_item *item)
{
    return item->offset >= job->done && item->offset <= job->size &&
           item->frame.raw_length <= job->size - item->offset;
}

/* Fills the gap before the part, gives a frame to the engine, and goes on behind it. */
static void start(struct job *job, const struct bale_stream_item *item, struct bale_lane *lane)
{
    size_t offset = (size_t)item->offset;

    if (offset > job->done)
        memset(job->out + job->done, 0, offset - job->done);
    job->done = offset;
    if (item->part != BALE_PART_FRAME) {
        job->at += item->length;
        return;
    }
    lane->item.kind = BALE_ITEM_DECODE;
    lane->item.frame = item->frame;
    lane->item.raw = job->out + offset;
    lane->item.stored = (uint8_t *)job->in + job->at; /* a decoder only reads it */
    lane->item.stored_length = item->length;
    bale_lanes_start(job->context->lanes);
    job->done += item->frame.raw_length;
    job->at += item->length;
}

static int take(struct job *job, const struct bale_item *item)
{
    if (item->status == BALE_OK)
        return BALE_OK;
    return bale_api_fail(job->context, item->status, "The frame at byte %zu is damaged: %s.",
                         (size_t)(item->stored - job->in), bale_err_text(item->status));
}

static int decode(struct job *job)
{
    struct bale_lanes *lanes = job->context->lanes;
    struct bale_stream_item item;
    struct bale_lane *lane;
    const char *why;
    int more = 1;
    int err = BALE_OK;

    do {
        while (more > 0 && err == BALE_OK && (lane = bale_lanes_next(lanes))) {
            more = next(job, &item, &why);
            if (more < 0 || (more > 0 && !fits(job, &item)))
                err = bale_api_fail(job->context, BALE_E_CORRUPT, "The input changed meanwhile.");
            else if (more > 0)
                start(job, &item, lane);
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

/* The caller's memory, or as much as the heads promise. */
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

int bale_decompress(struct bale_context *context, const struct bale_params *params, const void *in,
                    size_t length, struct bale_buffer *out)
{
    struct job job = {.context = context, .in = in, .length = length};
    struct bale_api_setup setup;
    const char *why;
    uint64_t size;
    int err;

    out->length = 0;
    if (!in && length > 0)
        return bale_api_fail(context, BALE_E_INVALID, "The input is missing.");
    err = bale_api_setup(params, &setup, context->message);
    if (err < 0)
        return err;
    err = measure(&job, &size, &why);
    if (err < 0)
        return bale_api_fail(context, err, "At byte %zu: %s.", job.at, why);
    err = bale_api_lanes(context, 2 * context->threads, 0);
    if (err == BALE_OK)
        err = open_output(&job, size, out);
    if (err < 0)
        return err;
    job.at = 0;
    job.reader = (struct bale_stream_reader){0};
    err = decode(&job);
    if (err < 0) {
        if (!out->data)
            free(job.out);
        return err;
    }
    if (!out->data) {
        out->data = job.out;
        out->capacity = job.size;
    }
    out->length = job.size;
    return BALE_OK;
}
