/* What both pictures of speeds share: style, colours, text, and the axis of speeds. */
#ifndef BALE_TOOLS_BENCH_AXIS_H
#define BALE_TOOLS_BENCH_AXIS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define BALE_BENCH_STYLE                                                                           \
    "text{fill:#222}.tick{font-size:13px;fill:#444}.axis{font-size:14px}"                          \
    ".name{font-size:16px;font-weight:bold}.label{font-size:13px;font-weight:bold;"                \
    "paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"                       \
    ".grid{stroke:#e4e4e4}.frame{fill:none;stroke:#999}"

/* store is the reference and grey, auto is black; each other codec has a colour, in the order of
 * ids. */
const char *bale_bench_hue(uint8_t codec);

/* Prints text as XML. */
void bale_bench_put(FILE *out, const char *text);

/* The logarithmic axis of a panel's speeds, in bytes a second. */
struct bale_speed_axis {
    double top, bottom; /* of the panel, in the picture */
    double slow, fast;  /* the speeds there */
};

double bale_speed_axis_y(const struct bale_speed_axis *axis, double speed);

/* Makes the axis reach from below the least speed to above the greatest. */
void bale_speed_axis_fit(struct bale_speed_axis *axis, double least, double most);

/* Draws a line for each mark over the panel from left on and, if unit is above 0, at its left the
 * speed in units. */
void bale_speed_axis_draw(const struct bale_speed_axis *axis, double left, double width,
                          double unit, FILE *out);

#endif
