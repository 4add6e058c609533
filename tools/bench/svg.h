/* The picture of a bench: ratio against speed. */
#ifndef BALE_TOOLS_BENCH_SVG_H
#define BALE_TOOLS_BENCH_SVG_H

#include <stdio.h>

#include "tools/bench/measure.h"

/* The style that both pictures of speeds share. */
#define BALE_BENCH_STYLE                                                                           \
    "text{fill:#222}.tick{font-size:13px;fill:#444}.axis{font-size:14px}"                          \
    ".name{font-size:16px;font-weight:bold}.label{font-size:13px;font-weight:bold;"                \
    "paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"                       \
    ".grid{stroke:#e4e4e4}.frame{fill:none;stroke:#999}"
/* store is the reference and grey, auto is black; each other codec has a colour, in the order of
 * ids. */
const char *bale_bench_hue(uint8_t codec);
void bale_bench_put(FILE *out, const char *text);

/* Draws the picture: title says what was compressed, subtitle how. The caller checks out for
 * errors. */
void bale_bench_svg(const struct bale_bench_report *report, const char *title, const char *subtitle,
                    FILE *out);

#endif
