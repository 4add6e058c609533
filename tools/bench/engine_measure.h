/* Measures the CPU engine and a GPU engine on their own, by bytes in flight. */
#ifndef BALE_TOOLS_BENCH_ENGINE_MEASURE_H
#define BALE_TOOLS_BENCH_ENGINE_MEASURE_H

#include "format/reason.h"
#include "kernels/engine/gpu.h"
#include "tools/bench/flight.h"
#include "tools/bench/settings.h"

enum bale_side { BALE_SIDE_CPU, BALE_SIDE_GPU, BALE_SIDES };
enum { BALE_ENGINE_SIZES = 8, BALE_ENGINE_FAILURE = 4096 };

struct bale_engine_how {
    uint64_t
        sizes[BALE_ENGINE_SIZES]; /* bytes in flight, ascending; multiples of the extent size */
    unsigned size_count;
    unsigned threads;                  /* of the CPU engine */
    double seconds;                    /* how long a measurement takes */
    struct bale_bench_settings codecs; /* that the user asked for; none: all codecs */
    struct bale_gpu_options gpu;
    const char *file; /* NULL: generated text */
    /* Called before each measurement, on the caller's thread, with a text that says what is
     * measured. */
    void (*tick)(void *argument, const char *text);
    void *argument;
};

/* The engines, and the memory that both use. */
struct bale_engine_bench {
    const struct bale_engine_how *how;
    const struct bale_gpu *gpu;
    struct bale_engine *engines[BALE_SIDES]; /* that of the GPU is NULL if there is none */
    struct bale_reason why;                  /* why there is none */
    struct bale_gpu_stats device;            /* its state after opening */
    uint8_t *memory;
    size_t memory_size;
    uint8_t *raw, *stored, *back; /* in memory: the input, the frames, and what was decoded */
    struct bale_item *items;      /* one for each extent */
    struct bale_setting settled;  /* the setting that the items' settings were made from */
    struct bale_scratch *scratch;
    size_t count;
    char failure[BALE_ENGINE_FAILURE]; /* a message that is printed when the progress bar is gone */
};

/* A codec and a direction, with the results of both sides. */
struct bale_engine_row {
    struct bale_setting setting;
    enum bale_item_kind kind;
    struct {
        bool taken; /* the engine takes such items */
        double ratio;
        struct bale_flight_rate rates[BALE_ENGINE_SIZES];
    } sides[BALE_SIDES];
};

/* Opens the engines and fills the memory. how must stay valid. A missing GPU is not a failure.
 * False after a message; call close in any case. */
bool bale_engine_bench_open(const struct bale_engine_how *how, struct bale_engine_bench *bench);
void bale_engine_bench_close(struct bale_engine_bench *bench);

/* The settings that the user asked for; by default every codec of the registry that has something
 * to do, with its default level. */
void bale_engine_settings(const struct bale_engine_how *how, struct bale_bench_settings *settings);

/* True if the side has an engine that takes any item of the row. When the row decodes, the items
 * are frames, and frames of codec zero are never a GPU's. */
bool bale_engine_takes(const struct bale_engine_bench *bench, enum bale_side side);

/* Encodes everything on the side (on the CPU if the side cannot), decodes it on the CPU and on the
 * side, and compares the result with the input. rows[0] is the encode and rows[1] the decode; sets
 * taken and ratio in them. Afterwards the items contain the side's frames. False after a failure.
 */
bool bale_engine_check(struct bale_engine_bench *bench, enum bale_side side,
                       struct bale_engine_row rows[2]);

/* Prepares the items for the row. Call it after bale_engine_check. */
void bale_engine_prepare(struct bale_engine_bench *bench, const struct bale_engine_row *row);

/* The parameters for bale_flight_begin: the current items, with so many bytes in flight. */
struct bale_flight_how bale_engine_flight(const struct bale_engine_bench *bench,
                                          enum bale_side side, uint64_t bytes);

/* Stores the text in bench->failure. Returns false. */
bool bale_engine_fail(struct bale_engine_bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* True for BALE_OK; otherwise stores in bench->failure what went wrong with the row of the side. */
bool bale_engine_good(struct bale_engine_bench *bench, enum bale_side side,
                      const struct bale_engine_row *row, int err);

/* "encode", "decode"; "CPU", "GPU". */
const char *bale_engine_direction(enum bale_item_kind kind);
const char *bale_engine_side(enum bale_side side);

/* Measures both rows of a setting on all engines. False after a failure. */
bool bale_engine_measure(struct bale_engine_bench *bench, struct bale_engine_row rows[2]);

/* The least number of bytes in flight from which on the GPU was faster in every measurement; 0:
 * never. */
uint64_t bale_engine_crossover(const struct bale_engine_how *how,
                               const struct bale_engine_row *row);

#endif
