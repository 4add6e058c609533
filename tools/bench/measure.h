/* Measures the speed and ratio of codecs on the CPU engine, in memory. */
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

/* Results of the kernels alone, with the data in a GPU's memory. */
struct bale_bench_gpu {
    struct bale_bench_speed speed; /* with a lossy codec, elements are rounded first */
    double rounding; /* bytes of raw data a second, of that alone; 0: nothing is rounded */
    uint64_t raw;    /* bytes measured, from the start; 0: the GPU lacks the setting */
    uint64_t stored; /* bytes of their frames; the last frame may be counted in part */
};

/* A line of the table, and a point of the picture. */
struct bale_bench_result {
    struct bale_setting setting;
    uint64_t stored; /* bytes of all frames */
    struct bale_bench_speed one;
    struct bale_bench_speed all; /* the same as one if there is one thread */
    struct bale_bench_gpu gpu;
    uint64_t frames[UINT8_MAX + 1]; /* by codec id */
};

struct bale_bench_data;
struct bale_item;

struct bale_bench_how {
    uint32_t extent;
    uint8_t chunk_log2;
    unsigned threads; /* of the engine with all cores */
    unsigned runs;    /* the most; a slow setting gets fewer */
    /* Called before each run, on the thread that measures; may be NULL. */
    void (*tick)(void *argument, const struct bale_setting *setting);
    void *argument;
};
/* The number of ticks of one measurement, if no setting gets fewer runs. */
unsigned bale_bench_ticks(const struct bale_bench_how *how);

/* Creates a bench without data. how must stay valid. BALE_OK or BALE_E_NOMEM. */
int bale_bench_create(const struct bale_bench_how *how, struct bale_bench_data **data);
void bale_bench_destroy(struct bale_bench_data *data); /* NULL is allowed */
/* Adds the bytes of a file, which stay the caller's and must not change. Each file starts with a
 * new extent. */
int bale_bench_add(struct bale_bench_data *data, const void *bytes, size_t length);

/* The extents, as items that point to their bytes. */
size_t bale_bench_extents(const struct bale_bench_data *data);
const struct bale_item *bale_bench_extent(const struct bale_bench_data *data, size_t i);
const struct bale_bench_how *bale_bench_how(const struct bale_bench_data *data);

/* Measures one setting on the CPU, with a lossy codec on rounded elements, and keeps result->gpu.
 * BALE_OK; BALE_E_NOMEM; BALE_E_CORRUPT: the
 * decoded bytes differ from the input. */
int bale_bench_measure(struct bale_bench_data *data, struct bale_setting setting,
                       struct bale_bench_result *result);

/* The results, for the code that prints them. */
struct bale_bench_report {
    const struct bale_bench_how *how;
    const struct bale_bench_result *results;
    size_t count;
    uint64_t raw; /* bytes */
    uint64_t total,
        files;       /* of which files they were taken: how much these have, how many there are */
    const char *gpu; /* the name of the device, or NULL */
};

#endif
