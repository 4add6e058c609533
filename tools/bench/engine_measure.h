/* What the CPU engine and a GPU engine do on their own, by bytes in flight. */
#ifndef BALE_TOOLS_BENCH_ENGINE_MEASURE_H
#define BALE_TOOLS_BENCH_ENGINE_MEASURE_H

#include "format/reason.h"
#include "kernels/engine/gpu.h"
#include "tools/bench/flight.h"
#include "tools/bench/settings.h"

enum bale_side { BALE_SIDE_CPU, BALE_SIDE_GPU, BALE_SIDES };
enum { BALE_ENGINE_SIZES = 8, BALE_ENGINE_FAILURE = 4096 };

struct bale_engine_how {
    uint64_t sizes[BALE_ENGINE_SIZES]; /* bytes in flight, ascending; whole extents */
    unsigned size_count;
    unsigned threads;                  /* of the CPU engine */
    double seconds;                    /* of a measurement */
    struct bale_bench_settings codecs; /* that are asked for; none: all */
    struct bale_gpu_options gpu;
    const char *file; /* NULL: text of our own */
    /* Called before each measurement with what is measured. */
    void (*tick)(void *argument, const char *text);
    void *argument;
};

/* Engines, and memory that both of them use. */
struct bale_engine_bench {
    const struct bale_engine_how *how;
    const struct bale_gpu *gpu;
    struct bale_engine *engines[BALE_SIDES]; /* the GPU's: NULL, there is none */
    struct bale_reason why;                  /* why there is none */
    struct bale_gpu_stats device;            /* when it was opened */
    uint8_t *memory;
    size_t memory_size;
    uint8_t *raw, *stored, *back; /* in memory: what is encoded, frames, what was decoded */
    struct bale_item *items;      /* one an extent */
    struct bale_setting settled;  /* what the items' settings were made of */
    struct bale_scratch *scratch;
    size_t count;
    char failure[BALE_ENGINE_FAILURE]; /* what is to be said of it, once the bar is away */
};

/* A codec and direction. */
struct bale_engine_row {
    struct bale_setting setting;
    enum bale_item_kind kind;
    struct {
        bool taken; /* the engine does this */
        double ratio;
        struct bale_flight_rate rates[BALE_ENGINE_SIZES];
    } sides[BALE_SIDES];
};

/* Opens the engines, and fills the memory. how stays valid. That there is no GPU is no failure. False
 * after a message; close in any case. */
bool bale_engine_bench_open(const struct bale_engine_how *how, struct bale_engine_bench *bench);
void bale_engine_bench_close(struct bale_engine_bench *bench);

/* What is asked for; or every codec of the registry that has something to do, with its level if none is
 * asked for. */
void bale_engine_settings(const struct bale_engine_how *how, struct bale_bench_settings *settings);

/* Whether the side has an engine that does any item of the row. For a decode the items are frames, of
 * which those of codec zero are no GPU's. */
bool bale_engine_takes(const struct bale_engine_bench *bench, enum bale_side side);

/* Encodes all on the side, or else on the CPU, and decodes it on the CPU and on the side: what comes
 * back is what went in. taken and ratio are set in rows, which are an encode and a decode. The items
 * are then frames of the side's. False after a failure. */
bool bale_engine_check(struct bale_engine_bench *bench, enum bale_side side,
                       struct bale_engine_row rows[2]);

/* Makes the items ready for the row. After bale_engine_check. */
void bale_engine_prepare(struct bale_engine_bench *bench, const struct bale_engine_row *row);

/* For bale_flight_begin: the items as they are, with so many bytes in flight. */
struct bale_flight_how bale_engine_flight(const struct bale_engine_bench *bench,
                                          enum bale_side side, uint64_t bytes);

/* Notes a failure. Returns false. */
bool bale_engine_fail(struct bale_engine_bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* True for BALE_OK; otherwise notes what went wrong with a side's row. */
bool bale_engine_good(struct bale_engine_bench *bench, enum bale_side side,
                      const struct bale_engine_row *row, int err);

/* "encode", "decode"; "CPU", "GPU". */
const char *bale_engine_direction(enum bale_item_kind kind);
const char *bale_engine_side(enum bale_side side);

/* Measures both rows of a setting, on all engines. False after a failure. */
bool bale_engine_measure(struct bale_engine_bench *bench, struct bale_engine_row rows[2]);

/* The least bytes in flight from which on the GPU was faster in every measurement; 0: never. */
uint64_t bale_engine_crossover(const struct bale_engine_how *how,
                               const struct bale_engine_row *row);

#endif
