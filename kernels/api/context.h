/* What the files of the library libbalefs share. Its contract is kernels/api/balefs.h. */
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
    struct bale_engine *engine; /* the CPU's, or a dispatcher */
    unsigned threads;
    enum bale_engine_choice choice;
    bool trusted;

    /* Of a dispatcher whose GPU engine is open; else gpu is NULL. */
    const struct bale_gpu *gpu;
    struct bale_engine *device;
    struct bale_staging *staging;
    struct bale_copies *copies;
    bool touched; /* a device may still write to the staging: no more of it */
    struct bale_gpu_copy moves[BALE_API_MOVES]; /* that the devices are to make */
    size_t move_count;
    int move_err; /* of those made since bale_api_run_moves */

    /* The ring of the last call, for the next that needs no other. */
    struct bale_ring *ring;
    unsigned entry_count;
    size_t entry_raw;
    size_t entry_stored;
    void *heap; /* the entries' memory, where the staging is too small for them */
    struct bale_reason message;
};

/* bale_params as understood. */
struct bale_api_setup {
    struct bale_setting setting;
    uint32_t extent;
    uint8_t chunk_log2;
    void *stream;
};

/* Whose memory the raw bytes of an item are in. */
enum bale_api_way {
    BALE_API_DIRECT,    /* the caller's, on the host */
    BALE_API_STAGED,    /* the entry's; copied from or to the caller's */
    BALE_API_ON_DEVICE, /* the caller's, on a device */
};

/* The caller's memory of a call. */
struct bale_api_places {
    bool in, out; /* on a device */
    int in_device, out_device;
};

/* ---- context.c ---- */

/* Reads params (NULL: the defaults); why says what is wrong. */
int bale_api_setup(const struct bale_params *params, struct bale_api_setup *setup,
                   struct bale_reason *why);

/* A ring of count entries, whose items point to the caller's memory but for stored bytes each:
 * context->entries. */
int bale_api_lanes(struct bale_context *context, unsigned count, size_t stored);

/* A ring for so many frames of raw and stored bytes at most, in memory of which the GPU engine has as
 * much as can be had. */
int bale_api_staged_lanes(struct bale_context *context, size_t frames, size_t raw, size_t stored);

/* Sets the message; returns err. */
int bale_api_fail(struct bale_context *context, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- memory.c ---- */

/* Where the caller's memory is, after all that is now in the setup's stream. in and out may be NULL. */
int bale_api_begin(struct bale_context *context, const struct bale_api_setup *setup, const void *in,
                   const void *out, struct bale_api_places *places);

/* Notes a copy, of zeros if from is NULL; on_device: one of the two is. It is made by the end of
 * bale_api_run_moves at the latest. */
void bale_api_move(struct bale_context *context, void *to, const void *from, size_t length,
                   bool on_device);
int bale_api_run_moves(struct bale_context *context);

/* Frees the oldest entries that are done, of which there is one. take is called for each until it fails,
 * and for none if err is an error; the copies that it notes are made. Returns the first error. */
int bale_api_take_some(struct bale_context *context,
                       int (*take)(void *argument, struct bale_ring_entry *entry), void *argument,
                       int err);

/* Has an item done over the entry's memory that was not done on a device. fetch: its raw bytes are
 * copied from there before. */
int bale_api_redo(struct bale_context *context, struct bale_ring_entry *entry, bool fetch);

/* Whether a status says nothing of the bytes, but that a GPU engine has left them: with a message. */
bool bale_api_is_lost(struct bale_context *context, int status);

/* The bytes of a device in memory of the host's, which malloc gave. */
int bale_api_fetch(struct bale_context *context, const void *from, size_t length, uint8_t **to);

#endif
