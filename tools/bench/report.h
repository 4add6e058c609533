/* A bench in words and numbers, on standard output. */
#ifndef BALE_TOOLS_BENCH_REPORT_H
#define BALE_TOOLS_BENCH_REPORT_H

#include "tools/bench/measure.h"
#include "tools/common/size.h"

/* "128 KiB": sizes that were chosen are round. Returns text. */
const char *bale_bench_size(uint64_t size, char text[static BALE_TEXT]);
/* The width, or that of the setting's text if it is more. */
int bale_bench_width(int width, struct bale_setting setting);
/* "17.3 MiB, extents of 128 KiB, ..." */
void bale_bench_describe(const struct bale_bench_report *report, char *text, size_t size);
/* Whether there are figures of a GPU. */
bool bale_bench_has_gpu(const struct bale_bench_report *report);
/* On a GPU; the others are ours. */
bool bale_bench_is_nvcomp(struct bale_setting setting);
/* What a reader of them has to know: "Fake GPU's kernels, with the data in its memory, ..." */
void bale_bench_describe_gpu(const struct bale_bench_report *report, char *text, size_t size);
void bale_bench_print(const struct bale_bench_report *report);
/* False, after a message, if that failed. */
bool bale_bench_print_json(const struct bale_bench_report *report);

#endif
