/* A bench in words and numbers, on standard output. */
#ifndef BALE_TOOLS_BENCH_REPORT_H
#define BALE_TOOLS_BENCH_REPORT_H

#include "tools/bench_measure.h"
#include "tools/options.h"

/* "128 KiB": sizes that were chosen are round. Returns text. */
const char *bale_bench_size(uint64_t size, char text[static BALE_TEXT]);
/* "17.3 MiB, extents of 128 KiB, ..." */
void bale_bench_describe(const struct bale_bench_report *report, char *text, size_t size);
void bale_bench_print(const struct bale_bench_report *report);
/* False, after a message, if that failed. */
bool bale_bench_print_json(const struct bale_bench_report *report);

#endif
