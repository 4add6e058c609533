/* The results of bench engine as a table, as JSON and as a picture. */
#ifndef BALE_TOOLS_BENCH_ENGINE_REPORT_H
#define BALE_TOOLS_BENCH_ENGINE_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "tools/bench/engine_measure.h"

struct bale_engine_report {
    const struct bale_engine_bench *bench;
    const struct bale_engine_row *rows;
    size_t count;
    char data[60]; /* the name of what was compressed */
};

/* "NVIDIA H100, 2.0 GiB of its memory, ...", or "none" and why. */
void bale_engine_gpu_text(const struct bale_engine_bench *bench, char *text, size_t size);

/* A new object with everything that does not depend on the rows. The caller releases it. */
json_t *bale_engine_json(const struct bale_engine_report *report);

/* Prints to standard output. */
void bale_engine_print(const struct bale_engine_report *report);
/* False, after a message, if that failed. */
bool bale_engine_print_json(const struct bale_engine_report *report);

/* Draws GB/s over bytes in flight, with a line for each engine, codec and direction. The caller
 * checks out for errors. */
void bale_engine_svg(const struct bale_engine_report *report, FILE *out);

#endif
