#include "kernels/api/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/frame/setting.h"

#define THREADS_MAX 4096
#define ORDINAL_MAX 1024
#define PAGE 4096
#define STRUCT_MAX 4096 /* bytes; no structure of the interface is larger */
#define TEXT(x) #x
#define NUMBER_TEXT(x) TEXT(x)

_Static_assert((int)BALE_API_OK == BALE_OK && (int)BALE_API_NO_MEMORY == BALE_E_NOMEM &&
                   (int)BALE_API_CORRUPT == BALE_E_CORRUPT &&
                   (int)BALE_API_UNSUPPORTED == BALE_E_UNSUPPORTED &&
                   (int)BALE_API_INVALID == BALE_E_INVALID &&
                   (int)BALE_API_TOO_BIG == BALE_E_TOOBIG && (int)BALE_API_DEVICE == BALE_E_DEVICE,
               "the library's codes are the bale_errs");

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
    vsnprintf(context->message.text, sizeof context->message.text, format, args);
    va_end(args);
    return err;
}

/* Copies a structure, whose first member is its size, into known bytes. Members that the
 * caller's lacks become zero; members that are unknown here must be zero. */
static int read_struct(const void *theirs, void *ours, size_t known)
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

/* ---- Life ---- */

/* Why the last bale_context_create of the thread failed. */
static _Thread_local struct bale_reason no_context;

static int refuse_context(int err, const char *what, const char *why)
{
    bale_reason_set(&no_context, "%.60s%s%.180s.", what, why[0] ? ": " : "", why);
    return err;
}

/* A library does not print. */
static void log_nothing(int level, const char *text)
{
    (void)level;
    (void)text;
}

static int read_params(const struct bale_context_params *params, struct bale_context_params *ours,
                       enum bale_engine_choice *choice)
{
    int err = read_struct(params, ours, sizeof *ours);
    const char *name = ours->engine ? ours->engine : "cpu";

    if (err < 0)
        return refuse_context(err,
                              err == BALE_E_INVALID
                                  ? "The params' size is not sizeof(struct bale_context_params)"
                                  : "The params are of a newer version of the library",
                              "");
    if (ours->threads > THREADS_MAX)
        return refuse_context(BALE_E_INVALID, "There are 4096 threads at most", "");
    if (ours->gpu > ORDINAL_MAX)
        return refuse_context(BALE_E_INVALID, "There is no such GPU: gpu is 1 for device 0", "");
    if (strcmp(name, "cpu") == 0)
        *choice = BALE_ENGINE_CPU;
    else if (strcmp(name, "gpu") == 0)
        *choice = BALE_ENGINE_GPU;
    else if (strcmp(name, "auto") == 0)
        *choice = BALE_ENGINE_AUTO;
    else
        return refuse_context(BALE_E_INVALID, "An engine is cpu, gpu or auto, not", name);
    return BALE_OK;
}

static int create_dispatcher(struct bale_context *context, const struct bale_context_params *params)
{
    struct bale_dispatch_options options = {
        .threads = context->threads,
        .choice = context->choice,
        .untrusted_input = !context->trusted,
        .gpu =
            {
                .memory = params->gpu_memory,
                .verify = true,
                .shared = true,
                .release_ms = UINT32_MAX,
                .log = log_nothing,
            },
    };

    if (params->gpu > 0) {
        options.gpu.devices[0] = (int)params->gpu - 1;
        options.gpu.device_count = 1;
    }
    return bale_dispatch_create(&options, &context->engine);
}

/* Opens the GPU, its staging and copy threads. Without a GPU the dispatcher is a CPU engine. */
static int open_gpu(struct bale_context *context, size_t staging)
{
    struct bale_reason why;
    int err;

    bale_dispatch_open(context->engine);
    err = bale_dispatch_wait(context->engine, BALE_DISPATCH_PATIENCE_MS, &why);
    if (err < 0)
        return context->choice == BALE_ENGINE_AUTO
                   ? BALE_OK
                   : refuse_context(BALE_E_DEVICE, "No GPU can be used", why.text);
    err = bale_staging_create(context->engine, staging > 0 ? staging : BALE_STAGING_DEFAULT,
                              &context->staging);
    if (err == BALE_OK)
        err = bale_copies_create(context->threads, &context->copies);
    if (err < 0)
        return refuse_context(err, "There is no memory for staging", "");
    context->gpu = bale_dispatch_gpu(context->engine, &context->device);
    return BALE_OK;
}

int bale_context_create(const struct bale_context_params *params, struct bale_context **out)
{
    struct bale_context_params ours;
    struct bale_context *context;
    enum bale_engine_choice choice = BALE_ENGINE_CPU;
    int err = read_params(params, &ours, &choice);

    if (err < 0)
        return err;
    if (!out)
        return refuse_context(BALE_E_INVALID, "There is no place for the context", "");
    context = calloc(1, sizeof *context);
    if (!context)
        return refuse_context(BALE_E_NOMEM, "There is no memory for a context", "");
    context->choice = choice;
    context->trusted = ours.trusted != 0;
    context->threads = ours.threads > 0 ? ours.threads : bale_cpus();
    err = choice == BALE_ENGINE_CPU ? bale_engine_cpu_create(context->threads, &context->engine)
                                    : create_dispatcher(context, &ours);
    if (err < 0)
        refuse_context(err, "The threads cannot be started", "");
    else if (choice != BALE_ENGINE_CPU)
        err = open_gpu(context, ours.staging);
    if (err < 0) {
        bale_context_destroy(context);
        return err;
    }
    *out = context;
    return BALE_OK;
}

static void drop_ring(struct bale_context *context)
{
    bale_ring_destroy(context->ring);
    context->ring = NULL;
    free(context->heap);
    context->heap = NULL;
}

void bale_context_destroy(struct bale_context *context)
{
    bool touched;

    if (!context)
        return;
    drop_ring(context);
    touched = context->touched || (context->staging && bale_staging_is_touched(context->staging));
    bale_engine_destroy(context->engine);
    bale_staging_destroy(context->staging, touched);
    bale_copies_destroy(context->copies);
    free(context);
}

const char *bale_context_message(const struct bale_context *context)
{
    return context ? context->message.text : no_context.text;
}

void bale_buffer_free(struct bale_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct bale_buffer){0};
}

int bale_api_setup(const struct bale_params *params, struct bale_api_setup *setup,
                   struct bale_reason *why)
{
    struct bale_params ours;
    int err = read_struct(params, &ours, sizeof ours);

    if (err < 0) {
        bale_reason_set(why, "%s",
                        err == BALE_E_INVALID
                            ? "The params' size is not sizeof(struct bale_params)."
                            : "The params are of a newer version of the library.");
        return err;
    }
    setup->extent = ours.extent > 0 ? ours.extent : BALE_EXTENT_DEFAULT;
    if (ours.chunk == 0)
        ours.chunk = UINT32_C(1) << BALE_CHUNK_LOG2_DEFAULT;
    if (!bale_extent_is_valid(setup->extent)) {
        bale_reason_set(why, "An extent is a multiple of 4096, 16 KiB to 64 MiB, not %u.",
                        setup->extent);
        return BALE_E_INVALID;
    }
    if (!bale_chunk_is_valid(ours.chunk)) {
        bale_reason_set(why, "A chunk is a power of two, 4 KiB to 64 MiB, not %u.", ours.chunk);
        return BALE_E_INVALID;
    }
    setup->chunk_log2 = (uint8_t)__builtin_ctz(ours.chunk);
    setup->stream = ours.stream;
    err = bale_setting_parse_relative(ours.codec ? ours.codec : "auto", &setup->setting,
                                      &setup->relative, why);
    if (err == BALE_OK && !bale_codec_takes_chunks(setup->setting.codec, setup->chunk_log2)) {
        bale_reason_set(why, "A chunk of %s is %u at most, not %u.",
                        bale_codec_name(setup->setting.codec),
                        1u << bale_codec_chunk_most(setup->setting.codec), ours.chunk);
        return BALE_E_INVALID;
    }
    if (err == BALE_OK && ours.extent == 0 && bale_codec_has_field(setup->setting.codec))
        setup->extent = BALE_EXTENT_WITH_PART;
    return err;
}

int bale_api_make_ring(struct bale_context *context, unsigned count, size_t raw, size_t stored)
{
    int err;

    if (context->ring && context->entry_count == count && context->entry_raw == raw &&
        context->entry_stored >= stored)
        return BALE_OK;
    drop_ring(context);
    err = bale_ring_create(context->engine, count, raw, stored, &context->ring);
    if (err < 0)
        return bale_api_fail(context, err, "There is no memory for the frames in work.");
    context->entry_count = count;
    context->entry_raw = raw;
    context->entry_stored = stored;
    return BALE_OK;
}

int bale_api_make_staged_ring(struct bale_context *context, size_t frames, size_t raw,
                              size_t stored)
{
    size_t most = bale_staging_size(context->staging) / bale_ring_room(1, raw, stored);
    unsigned count = (unsigned)(frames < most ? frames : most);
    void *memory = NULL;
    int err = BALE_E_NOMEM;

    drop_ring(context);
    if (count > 0) {
        bale_staging_pin(context->staging, bale_ring_room(count, raw, stored));
        memory = bale_staging_take(context->staging, bale_ring_room(count, raw, stored));
    } else {
        count = 1;
        if (posix_memalign(&context->heap, PAGE, bale_ring_room(1, raw, stored)) == 0)
            memory = context->heap;
    }
    if (memory)
        err = bale_ring_create_in(context->engine, count, raw, stored, memory, &context->ring);
    if (err < 0)
        return bale_api_fail(context, err, "There is no memory for the frames in work.");
    context->entry_count = count;
    context->entry_raw = raw;
    context->entry_stored = stored;
    return BALE_OK;
}
