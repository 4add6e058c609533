/* The caller's memory, on the host and on devices, and copies between it and the entries'
 * memory. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "kernels/api/context.h"

static int query_memory(struct bale_context *context, const void *memory, bool *on_device,
                        int *device)
{
    enum bale_memory_kind kind;

    *on_device = false;
    if (!memory || !context->gpu)
        return BALE_OK;
    if (context->gpu->memory_kind(context->device, memory, &kind, device) < 0)
        return bale_api_fail(context, BALE_E_DEVICE, "The GPU does not say whose memory it is.");
    *on_device = kind == BALE_MEMORY_DEVICE;
    return BALE_OK;
}

int bale_api_begin(struct bale_context *context, const struct bale_api_setup *setup, const void *in,
                   const void *out, struct bale_api_memory *memory)
{
    int err;

    if (context->touched)
        return bale_api_fail(context, BALE_E_DEVICE,
                             "The GPU has not answered before: only another context goes on.");
    if (setup->stream && !context->gpu)
        return bale_api_fail(context, BALE_E_DEVICE,
                             "A stream needs a context with a GPU: this one has none.");
    if (setup->stream && context->gpu->wait(context->device, setup->stream) < 0)
        return bale_api_fail(context, BALE_E_DEVICE, "The stream cannot be waited for.");
    err = query_memory(context, in, &memory->in, &memory->in_device);
    if (err == BALE_OK)
        err = query_memory(context, out, &memory->out, &memory->out_device);
    /* Memory on a device stays with the GPU: copying it for the CPU gains nothing. */
    if (context->gpu && context->choice == BALE_ENGINE_AUTO)
        bale_dispatch_set_choice(context->engine,
                                 memory->in || memory->out ? BALE_ENGINE_GPU : BALE_ENGINE_AUTO);
    return err;
}

static void run_device_moves(struct bale_context *context)
{
    if (context->move_count > 0 &&
        context->gpu->copy(context->device, context->moves, context->move_count) < 0)
        context->move_err = BALE_E_DEVICE;
    context->move_count = 0;
}

void bale_api_move(struct bale_context *context, void *to, const void *from, size_t length,
                   bool on_device)
{
    if (length == 0)
        return;
    if (on_device) {
        if (context->move_count == BALE_API_MOVES)
            run_device_moves(context);
        context->moves[context->move_count++] = (struct bale_gpu_copy){to, from, length};
    } else if (!from) {
        memset(to, 0, length);
    } else if (context->copies) {
        bale_copies_add(context->copies, to, from, length);
    } else {
        memcpy(to, from, length);
    }
}

int bale_api_run_moves(struct bale_context *context)
{
    int err;

    if (context->copies)
        bale_copies_run(context->copies);
    run_device_moves(context);
    err = context->move_err;
    context->move_err = BALE_OK;
    return err < 0 ? bale_api_fail(context, err, "The GPU failed to copy.") : BALE_OK;
}

int bale_api_take_entries(struct bale_context *context,
                          int (*take)(void *argument, struct bale_ring_entry *entry),
                          void *argument, int err)
{
    struct bale_ring *ring = context->ring;
    struct bale_ring_entry *entry;
    unsigned count;
    int moved;

    for (count = 0; count < BALE_API_TOGETHER && (entry = bale_ring_done(ring, count)); count++)
        if (err == BALE_OK)
            err = take(argument, entry);
    moved = bale_api_run_moves(context);
    while (count-- > 0)
        bale_ring_release(ring);
    return err < 0 ? err : moved;
}

void bale_api_redo(struct bale_context *context, struct bale_ring_entry *entry)
{
    entry->item.memory_kind = BALE_MEMORY_HOST;
    entry->item.raw = entry->raw;
    bale_ring_redo(context->ring, entry);
}

bool bale_api_is_lost(struct bale_context *context, int status)
{
    switch (status) {
    case BALE_OK:
    case BALE_E_NOMEM:
    case BALE_E_CORRUPT:
    case BALE_E_UNSUPPORTED:
    case BALE_E_INVALID:
    case BALE_E_TOOBIG:
        return false;
    default:
        context->touched = true;
        bale_api_fail(context, BALE_E_DEVICE, "The GPU does not answer: %s.",
                      bale_err_text(status));
        return true;
    }
}

/* Through pinned memory, which is faster. */
int bale_api_fetch(struct bale_context *context, const void *from, size_t length, uint8_t **to)
{
    size_t most = bale_staging_size(context->staging);
    size_t step = length < most ? length : most;
    uint8_t *pinned = bale_staging_take(context->staging, step);
    uint8_t *bytes = malloc(length);
    int err = BALE_OK;

    bale_staging_pin(context->staging, step);
    if (!bytes)
        return bale_api_fail(context, BALE_E_NOMEM, "There is no memory for %zu bytes.", length);
    for (size_t at = 0; err == BALE_OK && at < length; at += step) {
        size_t part = length - at < step ? length - at : step;
        bale_api_move(context, pinned, (const uint8_t *)from + at, part, true);
        err = bale_api_run_moves(context);
        bale_api_move(context, bytes + at, pinned, part, false);
    }
    bale_copies_run(context->copies);
    if (err < 0)
        free(bytes);
    else
        *to = bytes;
    return err;
}
