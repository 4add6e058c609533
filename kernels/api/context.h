/* What the files of the library libbalefs share. Its contract is kernels/include/balefs.h. */
#ifndef BALE_KERNELS_API_CONTEXT_H
#define BALE_KERNELS_API_CONTEXT_H

#include "kernels/codec.h"
#include "kernels/include/balefs.h"
#include "kernels/lanes.h"

#define BALE_MESSAGE 256

struct bale_context {
    struct bale_engine *engine;
    unsigned threads;
    /* The ring of the last call, for the next that needs no other. */
    struct bale_lanes *lanes;
    unsigned lane_count;
    size_t lane_stored;
    char message[BALE_MESSAGE];
};

/* bale_params as understood. */
struct bale_api_setup {
    struct bale_setting setting;
    uint32_t extent;
    uint8_t chunk_log2;
};

/* Reads params (NULL: the defaults); why (BALE_MESSAGE bytes) says what is wrong. */
int bale_api_setup(const struct bale_params *params, struct bale_api_setup *setup, char *why);

/* A ring of count lanes with stored bytes or more each: context->lanes. */
int bale_api_lanes(struct bale_context *context, unsigned count, size_t stored);

/* Sets the message; returns err. */
int bale_api_fail(struct bale_context *context, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
