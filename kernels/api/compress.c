/* bale_compress: encodes extents in the ring's entries, and appends the frames in order. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/reason.h"
#include "format/stream.h"
#include "kernels/api/context.h"
#include "kernels/round/piece.h"

struct job {
    struct bale_context *context;
    struct bale_api_setup setup;
    struct bale_api_memory memory;
    enum bale_api_way way;
    struct bale_stream stream;
    const uint8_t *in;
    size_t length;
    size_t rounded; /* bytes from the begin on whose elements are rounded: whole extents, or all */
    size_t at;      /* bytes of in that were given to entries */
    uint8_t *out;   /* room for capacity bytes, of which used are written */
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
    struct bale_reason why;

    return bale_api_setup(params, &setup, &why) == BALE_OK ? bound(&setup, length) : 0;
}

/* Appends bytes to the output. They must stay until bale_api_run_moves. */
static int append_bytes(struct job *job, const uint8_t *bytes, size_t length)
{
    if (length > job->capacity - job->used)
        return bale_api_fail(job->context, BALE_E_TOOBIG,
                             "The compressed bytes do not fit %zu bytes.", job->capacity);
    bale_api_move(job->context, job->out + job->used, bytes, length, job->memory.out);
    job->used += length;
    return BALE_OK;
}

static void set_memory(struct job *job, struct bale_ring_entry *entry)
{
    struct bale_item *item = &entry->item;

    item->raw = (uint8_t *)job->in + job->at; /* an encoder only reads it */
    if (job->way == BALE_API_ON_DEVICE) {
        item->memory_kind = BALE_MEMORY_DEVICE;
        item->device = job->memory.in_device;
    } else if (job->way == BALE_API_STAGED) {
        bale_api_move(job->context, entry->raw, item->raw, item->frame.raw_length, job->memory.in);
        item->raw = entry->raw;
    }
}

/* Rounds the elements in an entry's memory. */
static void round_entry(const struct job *job, struct bale_ring_entry *entry)
{
    const struct bale_frame *frame = &entry->item.frame;

    bale_round_piece(&job->setup.setting.field, frame->offset, entry->raw, entry->raw,
                     frame->raw_length);
}

/* In a device's memory its engine rounds copies. */
static int round_item(struct job *job, struct bale_ring_entry *entry)
{
    int err;

    if (job->way == BALE_API_ON_DEVICE) {
        entry->item.rounds = true;
        return BALE_OK;
    }
    err = bale_api_run_moves(job->context);
    if (err == BALE_OK)
        round_entry(job, entry);
    return err;
}

static int fill_entry(struct job *job, struct bale_ring_entry *entry)
{
    size_t left = job->length - job->at;
    uint32_t length = left < job->setup.extent ? (uint32_t)left : job->setup.extent;
    struct bale_item *item = &entry->item;

    item->kind = BALE_ITEM_ENCODE;
    item->setting = job->setup.setting;
    item->frame = (struct bale_frame){
        .offset = job->at, .raw_length = length, .chunk_log2 = job->setup.chunk_log2};
    item->stored = entry->stored;
    item->capacity = job->context->entry_stored;
    set_memory(job, entry);
    job->at += length;
    return item->frame.offset < job->rounded ? round_item(job, entry) : BALE_OK;
}

/* After a device could not do an item in its own memory, all items are staged. */
static int redo_staged(struct job *job, struct bale_ring_entry *entry)
{
    struct bale_item *item = &entry->item;
    int err;

    job->way = BALE_API_STAGED;
    bale_api_move(job->context, entry->raw, item->raw, item->frame.raw_length, true);
    err = bale_api_run_moves(job->context);
    if (err < 0)
        return err;
    if (item->rounds)
        round_entry(job, entry);
    item->rounds = false;
    bale_api_redo(job->context, entry);
    return BALE_OK;
}

static int append_frame(void *argument, struct bale_ring_entry *entry)
{
    struct job *job = argument;
    struct bale_item *item = &entry->item;
    int err = item->status;

    if (bale_api_is_lost(job->context, err))
        return BALE_E_DEVICE;
    if (err < 0 && item->memory_kind == BALE_MEMORY_DEVICE) {
        err = redo_staged(job, entry);
        if (err < 0)
            return err;
        err = item->status;
    }
    if (err < 0)
        return bale_api_fail(job->context, err, "Compressing the bytes from %llu on failed: %s.",
                             (unsigned long long)item->frame.offset, bale_err_text(err));
    err = bale_stream_add(&job->stream, &item->frame);
    return err < 0 ? err : append_bytes(job, item->stored, item->stored_length);
}

/* Fills free entries, BALE_API_TOGETHER at most. */
static int fill_entries(struct job *job)
{
    struct bale_ring *ring = job->context->ring;
    struct bale_ring_entry *entry;
    int err = BALE_OK;

    for (unsigned i = 0; err == BALE_OK && i < BALE_API_TOGETHER && job->at < job->length; i++) {
        entry = bale_ring_next(ring);
        if (!entry)
            break;
        err = fill_entry(job, entry);
        if (err == BALE_OK)
            bale_ring_start(ring);
    }
    if (err == BALE_OK)
        err = bale_api_run_moves(job->context);
    bale_ring_submit(ring);
    return err;
}

static int compress_extents(struct job *job)
{
    int err = BALE_OK;

    do {
        if (err == BALE_OK)
            err = fill_entries(job);
        if (bale_ring_wait(job->context->ring))
            err = bale_api_take_entries(job->context, append_frame, job, err);
    } while (bale_ring_wait(job->context->ring) || (err == BALE_OK && job->at < job->length));
    return err;
}

static int write_stream(struct job *job)
{
    uint8_t head[BALE_STREAM_HEAD], end[BALE_STREAM_END];
    int err;

    bale_stream_begin(&job->stream, job->setup.extent, job->setup.setting, head);
    err = append_bytes(job, head, sizeof head);
    if (err == BALE_OK)
        err = bale_api_run_moves(job->context);
    if (err == BALE_OK)
        err = compress_extents(job);
    if (err < 0)
        return err;
    bale_stream_end_encode(&job->stream, job->length, end);
    err = append_bytes(job, end, sizeof end);
    return err < 0 ? err : bale_api_run_moves(job->context);
}

/* Takes the caller's memory, or allocates the most that can be needed. */
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

/* Shrinks memory that was allocated here to what is used, if possible. */
static void close_output(struct job *job, struct bale_buffer *out)
{
    if (!out->data) {
        void *fitting = realloc(job->out, job->used);
        out->data = fitting ? fitting : job->out;
        out->capacity = job->used;
    }
    out->length = job->used;
}

/* Engines round up to the end of the bytes: where elements could lie behind the array, the host does
 * it. Else the array has no end of its own then. */
static bool goes_on_behind(struct job *job)
{
    struct bale_field *field = &job->setup.setting.field;

    if (field->end + bale_field_element(field) > job->length)
        field->end = 0;
    return field->end > 0;
}

/* An open setting needs the bytes on the host: the CPU chooses the codec from them. */
static int open_ring(struct job *job)
{
    struct bale_context *context = job->context;
    uint32_t extent = job->setup.extent;
    size_t frames = job->length / extent + 1;
    uint32_t raw = frames > 1 ? extent : (uint32_t)job->length;
    size_t each = bale_frame_bound(context->gpu && raw > 0 ? raw : extent, job->setup.chunk_log2);

    job->way = job->rounded > 0 ? BALE_API_STAGED : BALE_API_DIRECT;
    if (!context->gpu)
        return bale_api_make_ring(context, bale_ring_entry_count(context->threads, each),
                                  job->rounded > 0 ? raw : 0, each);
    job->way = job->memory.in && !bale_setting_is_open(job->setup.setting) && !goes_on_behind(job)
                   ? BALE_API_ON_DEVICE
                   : BALE_API_STAGED;
    return bale_api_make_staged_ring(context, frames, raw, each);
}

int bale_compress(struct bale_context *context, const struct bale_params *params, const void *in,
                  size_t length, struct bale_buffer *out)
{
    struct job job = {.context = context, .in = in, .length = length};
    int err;

    out->length = 0;
    if (!in && length > 0)
        return bale_api_fail(context, BALE_E_INVALID, "The input is missing.");
    err = bale_api_setup(params, &job.setup, &context->message);
    if (err == BALE_OK)
        err = bale_api_begin(context, &job.setup, length > 0 ? in : NULL, out->data, &job.memory);
    if (err == BALE_OK)
        err = bale_api_look(context, job.in, length, job.memory.in, &job.setup, &job.rounded);
    if (err == BALE_OK)
        err = open_ring(&job);
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
