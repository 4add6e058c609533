/* Prints the results of a bench as a table and as JSON. */
#ifndef BALE_TOOLS_BENCH_REPORT_H
#define BALE_TOOLS_BENCH_REPORT_H

#include "tools/bench/measure.h"
#include "tools/common/size.h"

/* "128 KiB": for sizes that are round. Returns text. */
const char *bale_bench_size(uint64_t size, char text[static BALE_TEXT]);
/* The larger one of width and the length of the setting's text. */
int bale_bench_width(int width, struct bale_setting setting);
/* "17.3 MiB, extents of 128 KiB, ..." */
void bale_bench_describe(const struct bale_bench_report *report, char *text, size_t size);
/* True if there are results of a GPU. */
bool bale_bench_has_gpu(const struct bale_bench_report *report);
/* True if the setting's codec on a GPU is nvCOMP's; the others are ours. */
bool bale_bench_is_nvcomp(struct bale_setting setting);
/* Explains the GPU's results: "GPU kernels: NVIDIA H100, the first 128.0 MiB in its memory, ..." */
void bale_bench_describe_gpu(const struct bale_bench_report *report, char *text, size_t size);
void bale_bench_print(const struct bale_bench_report *report);
/* False, after a message, if that failed. */
bool bale_bench_print_json(const struct bale_bench_report *report);

#endif
