/* How fast and how small codecs are, in memory with the engine. */
#ifndef BALE_TOOLS_BENCH_MEASURE_H
#define BALE_TOOLS_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/codecs.h"

struct bale_bench_speed {
    double compress; /* bytes of raw data a second: the median of the runs */
    double decompress;
};

/* Of kernels alone, with data in a GPU's memory. */
struct bale_bench_gpu {
    struct bale_bench_speed speed;
    uint64_t
        raw; /* bytes that were measured, the data's first ones; 0: it does not take the setting */
    uint64_t stored; /* bytes of their frames, the last of which may be a part of one */
};

/* A line of the table, a point of the picture. */
struct bale_bench_result {
    struct bale_setting setting;
    uint64_t stored; /* bytes of all frames */
    struct bale_bench_speed one;
    struct bale_bench_speed all; /* with one thread the same */
    struct bale_bench_gpu gpu;
    uint64_t frames[UINT8_MAX + 1]; /* by codec id */
};

struct bale_bench_data;
struct bale_item;

struct bale_bench_how {
    uint32_t extent;
    uint8_t chunk_log2;
    unsigned threads; /* for all */
    unsigned runs;    /* at most; the slow end earlier */
    /* Called before each run, from the thread that measures; may be NULL. */
    void (*tick)(void *argument, const struct bale_setting *setting);
    void *argument;
};
/* Ticks of one measurement, if none ends early. */
unsigned bale_bench_ticks(const struct bale_bench_how *how);

/* Begins with nothing to measure with. how stays valid. BALE_OK or BALE_E_NOMEM. */
int bale_bench_create(const struct bale_bench_how *how, struct bale_bench_data **data);
void bale_bench_destroy(struct bale_bench_data *data); /* NULL is fine */
/* Adds a file's bytes; they stay the caller's and unchanged. Extents begin anew. */
int bale_bench_add(struct bale_bench_data *data, const void *bytes, size_t length);

/* The extents, as items with their bytes. */
size_t bale_bench_extents(const struct bale_bench_data *data);
const struct bale_item *bale_bench_extent(const struct bale_bench_data *data, size_t i);
const struct bale_bench_how *bale_bench_how(const struct bale_bench_data *data);

/* Measures one setting on the CPU; result->gpu stays as it is. BALE_OK; BALE_E_NOMEM; BALE_E_CORRUPT: what came back differs. */
int bale_bench_measure(struct bale_bench_data *data, struct bale_setting setting,
                       struct bale_bench_result *result);

/* What was measured, for those who show it. */
struct bale_bench_report {
    const struct bale_bench_how *how;
    const struct bale_bench_result *results;
    size_t count;
    uint64_t raw;    /* bytes */
    const char *gpu; /* the device's name; NULL: there is none */
};

#endif
