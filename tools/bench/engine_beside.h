/* What a program that fills the GPU and the engine lose when they run at the same time. */
#ifndef BALE_TOOLS_BENCH_ENGINE_BESIDE_H
#define BALE_TOOLS_BENCH_ENGINE_BESIDE_H

#include "tools/bench/engine_report.h"

enum { BALE_BESIDE_ROWS = 4 }; /* two kinds of programs, two directions */

struct bale_beside_rate {
    double alone, together; /* of the engine: bytes a second */
};

struct bale_beside_row {
    const char *program; /* what the program keeps busy: "compute" or "memory" */
    char unit[16];       /* of its rates */
    struct bale_beside_rate program_rate;
    enum bale_item_kind kind;
    struct bale_beside_rate engine_rate;
};

struct bale_beside {
    struct bale_setting setting; /* the setting that the engine used */
    struct bale_beside_row rows[BALE_BESIDE_ROWS];
};

/* The number of ticks of bale_beside_measure(). */
enum { BALE_BESIDE_TICKS = 2 + 2 + BALE_BESIDE_ROWS };

/* Measures the last codec that the GPU engine has in both directions, with the most bytes in
 * flight, beside the program bale_gpu_filler, which lies in the plug-in's directory and runs on the
 * first of the named devices. False after a failure. */
bool bale_beside_measure(struct bale_engine_bench *bench, struct bale_beside *beside);

/* Prints to standard output. The report needs no rows. */
void bale_beside_print(const struct bale_engine_report *report, const struct bale_beside *beside);
/* False, after a message, if that failed. */
bool bale_beside_print_json(const struct bale_engine_report *report,
                            const struct bale_beside *beside);

#endif
