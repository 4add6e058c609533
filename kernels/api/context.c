#include "kernels/api/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"

#define THREADS_MAX 4096
#define STRUCT_MAX 4096 /* no structure of the interface grows beyond */
#define TEXT(x) #x
#define NUMBER_TEXT(x) TEXT(x)

_Static_assert((int)BALE_API_OK == BALE_OK && (int)BALE_API_NO_MEMORY == BALE_E_NOMEM &&
                   (int)BALE_API_CORRUPT == BALE_E_CORRUPT &&
                   (int)BALE_API_UNSUPPORTED == BALE_E_UNSUPPORTED &&
                   (int)BALE_API_INVALID == BALE_E_INVALID &&
                   (int)BALE_API_TOO_BIG == BALE_E_TOOBIG,
               "codes are handed on as they are");

unsigned bale_version(void)
{
    return 10000 * BALE_VERSION_MAJOR + 100 * BALE_VERSION_MINOR + BALE_VERSION_PATCH;
}

const char *bale_version_text(void)
{
    return NUMBER_TEXT(BALE_VERSION_MAJOR) "." NUMBER_TEXT(BALE_VERSION_MINOR) "." NUMBER_TEXT(
        BALE_VERSION_PATCH);
}

const char *bale_error_text(int code)
{
    return bale_err_text(code);
}

int bale_api_fail(struct bale_context *context, int err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(context->message, sizeof context->message, format, args);
    va_end(args);
    return err;
}

/* Copies a structure whose first member is its size into known bytes of our own: what the caller's
 * lacks is zero, and what we lack has to be. */
static int take_struct(const void *theirs, void *ours, size_t known)
{
    const uint8_t *bytes = theirs;
    size_t size;

    memset(ours, 0, known);
    if (!theirs)
        return BALE_OK;
    memcpy(&size, theirs, sizeof size);
    if (size < sizeof size || size > STRUCT_MAX)
        return BALE_E_INVALID;
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return BALE_E_UNSUPPORTED;
    memcpy(ours, theirs, size < known ? size : known);
    return BALE_OK;
}

int bale_context_create(const struct bale_context_params *params, struct bale_context **out)
{
    struct bale_context_params ours;
    struct bale_context *context;
    int err = take_struct(params, &ours, sizeof ours);

    if (err < 0)
        return err;
    if (!out || ours.threads > THREADS_MAX)
        return BALE_E_INVALID;
    context = calloc(1, sizeof *context);
    if (!context)
        return BALE_E_NOMEM;
    context->threads = ours.threads > 0 ? ours.threads : bale_cpus();
    err = bale_engine_cpu_create(context->threads, &context->engine);
    if (err < 0) {
        free(context);
        return err;
    }
    *out = context;
    return BALE_OK;
}

void bale_context_destroy(struct bale_context *context)
{
    if (!context)
        return;
    bale_lanes_destroy(context->lanes);
    bale_engine_destroy(context->engine);
    free(context);
}

const char *bale_context_message(const struct bale_context *context)
{
    return context->message;
}

void bale_buffer_free(struct bale_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct bale_buffer){0};
}

int bale_api_setup(const struct bale_params *params, struct bale_api_setup *setup, char *why)
{
    struct bale_params ours;
    int err = take_struct(params, &ours, sizeof ours);

    if (err < 0) {
        snprintf(why, BALE_MESSAGE, "%s",
                 err == BALE_E_INVALID ? "The params' size is not sizeof(struct bale_params)."
                                       : "The params are of a newer version of the library.");
        return err;
    }
    setup->extent = ours.extent > 0 ? ours.extent : BALE_EXTENT_DEFAULT;
    if (ours.chunk == 0)
        ours.chunk = UINT32_C(1) << BALE_CHUNK_LOG2_DEFAULT;
    if (!bale_extent_is_valid(setup->extent)) {
        snprintf(why, BALE_MESSAGE, "An extent is a multiple of 4096, 16 KiB to 64 MiB, not %u.",
                 setup->extent);
        return BALE_E_INVALID;
    }
    if (!bale_chunk_is_valid(ours.chunk)) {
        snprintf(why, BALE_MESSAGE, "A chunk is a power of two, 4 KiB to 64 MiB, not %u.",
                 ours.chunk);
        return BALE_E_INVALID;
    }
    setup->chunk_log2 = (uint8_t)__builtin_ctz(ours.chunk);
    return bale_setting_parse(ours.codec ? ours.codec : "auto", &setup->setting, why, BALE_MESSAGE);
}

int bale_api_lanes(struct bale_context *context, unsigned count, size_t stored)
{
    int err;

    if (context->lanes && context->lane_count == count && context->lane_stored >= stored)
        return BALE_OK;
    bale_lanes_destroy(context->lanes);
    context->lanes = NULL;
    err = bale_lanes_create(context->engine, count, 0, stored, &context->lanes);
    if (err < 0)
        return bale_api_fail(context, err, "There is no memory for the frames in work.");
    context->lane_count = count;
    context->lane_stored = stored;
    return BALE_OK;
}
