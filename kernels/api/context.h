/* The inside of the library libbalefs, whose contract is kernels/api/balefs.h. One thread at a
 * time uses a context. */
#ifndef BALE_KERNELS_API_CONTEXT_H
#define BALE_KERNELS_API_CONTEXT_H

#include "format/codecs.h"
#include "format/reason.h"
#include "kernels/api/balefs.h"
#include "kernels/engine/copies.h"
#include "kernels/engine/dispatch.h"
#include "kernels/engine/ring.h"
#include "kernels/engine/staging.h"

enum { BALE_API_TOGETHER = 64 }; /* frames that are copied at a time */
enum { BALE_API_MOVES = 4 * BALE_API_TOGETHER };

struct bale_context {
    struct bale_engine *engine; /* the CPU engine, or a dispatcher */
    unsigned threads;
    enum bale_engine_choice choice;
    bool trusted;

    /* Set if a GPU engine is open; otherwise gpu is NULL. */
    const struct bale_gpu *gpu;
    struct bale_engine *device;
    struct bale_staging *staging;
    struct bale_copies *copies;
    bool touched; /* a device may still write to the staging: every later call fails */
    struct bale_gpu_copy moves[BALE_API_MOVES]; /* copies that a device has to make */
    size_t move_count;
    int move_err; /* the first error since bale_api_run_moves */

    /* The ring of the last call, kept for calls that need the same. */
    struct bale_ring *ring;
    unsigned entry_count;
    size_t entry_raw;
    size_t entry_stored;
    void *heap; /* the entries' memory, if the staging is too small for it */
    struct bale_reason message;
};

/* The contents of bale_params. */
struct bale_api_setup {
    struct bale_setting setting;
    double relative; /* as of bale_setting_parse_relative */
    uint32_t extent;
    uint8_t chunk_log2;
    void *stream;
};

/* Where the raw bytes of an item are. */
enum bale_api_way {
    BALE_API_DIRECT,    /* in the caller's memory on the host */
    BALE_API_STAGED,    /* in the entry's memory; copied from or to the caller's */
    BALE_API_ON_DEVICE, /* in the caller's memory on a device */
};

/* The caller's input and output memory. */
struct bale_api_memory {
    bool in, out; /* on a device */
    int in_device, out_device;
};

/* ---- context.c ---- */

/* Reads params (NULL: the defaults). Errors come with why. */
int bale_api_setup(const struct bale_params *params, struct bale_api_setup *setup,
                   struct bale_reason *why);

/* Makes context->ring, with count entries that have raw and stored bytes of memory each. raw is 0
 * where their items' raw bytes lie in the caller's memory. */
int bale_api_make_ring(struct bale_context *context, unsigned count, size_t raw, size_t stored);

/* Makes context->ring for so many frames of raw and stored bytes at most, in pinned memory as
 * far as there is any. */
int bale_api_make_staged_ring(struct bale_context *context, size_t frames, size_t raw,
                              size_t stored);

/* Sets the context's message. Returns err. */
int bale_api_fail(struct bale_context *context, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- memory.c ---- */

/* Begins a call: waits for the setup's stream, and finds out where the caller's memory is. in
 * and out may be NULL. */
int bale_api_begin(struct bale_context *context, const struct bale_api_setup *setup, const void *in,
                   const void *out, struct bale_api_memory *memory);

/* Adds a copy, or zeros if from is NULL. on_device: one of the two addresses is a device's. The
 * copy is done when bale_api_run_moves returns, or before. */
void bale_api_move(struct bale_context *context, void *to, const void *from, size_t length,
                   bool on_device);
int bale_api_run_moves(struct bale_context *context);

/* Calls take for the oldest entries that are done, until it fails, makes the copies that it
 * added, and frees the entries. At least one is done. If err is an error already, it only frees
 * them. Returns the first error. */
int bale_api_take_entries(struct bale_context *context,
                          int (*take)(void *argument, struct bale_ring_entry *entry),
                          void *argument, int err);

/* Does an item again in the entry's memory, after a device could not do it in its own. */
void bale_api_redo(struct bale_context *context, struct bale_ring_entry *entry);

/* Whether a status means that the GPU engine failed, not that the bytes are bad. If so, sets the
 * message, and touched. */
bool bale_api_is_lost(struct bale_context *context, int status);

/* Copies bytes of a device to host memory from malloc, which the caller frees. */
int bale_api_fetch(struct bale_context *context, const void *from, size_t length, uint8_t **to);

/* ---- look.c ---- */

/* With a lossy setting: sets *rounded to the bytes from the begin on whose elements are to be
 * rounded, whole extents or all of length, and completes the setting by what in says of its
 * elements. on_device: in is a device's memory. Other settings stay, and *rounded is 0. */
int bale_api_look(struct bale_context *context, const uint8_t *in, size_t length, bool on_device,
                  struct bale_api_setup *setup, size_t *rounded);

#endif
