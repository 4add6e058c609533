/* What a program that fills the GPU and the engine lose when they work at the same time. */
#ifndef BALE_TOOLS_BENCH_ENGINE_BESIDE_H
#define BALE_TOOLS_BENCH_ENGINE_BESIDE_H

#include "tools/bench/engine_report.h"

enum { BALE_BESIDE_ROWS = 4 }; /* two kinds of programs, two directions */

struct bale_beside_rate {
    double alone, together; /* the engine's: bytes a second */
};

struct bale_beside_row {
    const char *program; /* what it fills: "compute", "memory" */
    char unit[16];       /* of its rates */
    struct bale_beside_rate program_rate;
    enum bale_item_kind kind;
    struct bale_beside_rate engine_rate;
};

struct bale_beside {
    struct bale_setting setting; /* what the engine did */
    struct bale_beside_row rows[BALE_BESIDE_ROWS];
};

/* How many ticks bale_beside_measure() makes. */
enum { BALE_BESIDE_TICKS = 2 + 2 + BALE_BESIDE_ROWS };

/* The last codec that the GPU engine does both ways, with the most bytes in flight, beside the
 * program bale_gpu_filler from the plug-in's directory on the first of the devices, which is named. False
 * after a failure. */
bool bale_beside_measure(struct bale_engine_bench *bench, struct bale_beside *beside);

/* On standard output. Of the report the rows are not needed. */
void bale_beside_print(const struct bale_engine_report *report, const struct bale_beside *beside);
/* False, after a message, if that failed. */
bool bale_beside_print_json(const struct bale_engine_report *report,
                            const struct bale_beside *beside);

#endif
