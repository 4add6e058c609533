/* Fuzz targets: one for each reader of hostile bytes, all in one table (table.c). The fuzzer
 * (fuzzer.c, preset "fuzz") and the replayer (replay.c, any build) run the same functions. */
#ifndef BALE_TESTS_FUZZ_TARGET_H
#define BALE_TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/codecs.h"

#define FUZZ_INPUT_MAX 8192u

struct fuzz_target {
    const char *name;
    /* Reads any bytes; true if the reader took them for good. Aborts when what was read breaks a
     * promise. Puts checksums right first: a fuzzer does not guess them. */
    bool (*run)(const uint8_t *data, size_t size);
    /* Writes good input number n; returns its size, or 0 when there are no more. */
    size_t (*seed)(unsigned n, uint8_t out[static FUZZ_INPUT_MAX]);
};

/* Ends with an entry without a name. */
extern const struct fuzz_target fuzz_targets[];

bool fuzz_root(const uint8_t *data, size_t size);
size_t fuzz_root_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX]);
bool fuzz_frame(const uint8_t *data, size_t size);
size_t fuzz_frame_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX]);
bool fuzz_page(const uint8_t *data, size_t size);
size_t fuzz_page_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX]);
bool fuzz_stream(const uint8_t *data, size_t size);
size_t fuzz_stream_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX]);
bool fuzz_rans(const uint8_t *data, size_t size);
size_t fuzz_rans_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX]);

#define FUZZ_TARGET_OF(name, ...)                                                                  \
    bool fuzz_##name(const uint8_t *data, size_t size);                                            \
    size_t fuzz_##name##_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX]);
BALE_CODEC_LIST(BALE_CODEC_SKIP, FUZZ_TARGET_OF) /* codec.c */
#undef FUZZ_TARGET_OF

/* A promise; the fuzzer keeps the input that breaks one. */
#define FUZZ_HOLDS(cond)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
