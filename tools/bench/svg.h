/* The picture of a bench: ratio against speed. */
#ifndef BALE_TOOLS_BENCH_SVG_H
#define BALE_TOOLS_BENCH_SVG_H

#include <stdio.h>

#include "tools/bench/measure.h"

/* Draws the picture: title says what was compressed, subtitle how. The caller checks out for
 * errors. */
void bale_bench_svg(const struct bale_bench_report *report, const char *title, const char *subtitle,
                    FILE *out);

#endif
