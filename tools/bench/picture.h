/* What both pictures of speeds share: size, style, colours, text, panels, and the axis of
 * speeds. */
#ifndef BALE_TOOLS_BENCH_PICTURE_H
#define BALE_TOOLS_BENCH_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Begins a picture: its style, which more adds to, and its title, left from there. */
void bale_picture_begin(const char *more, int left, const char *title, FILE *out);

/* Prints the name of both panels' axis of speeds, turned, at that place. */
void bale_picture_speeds(int x, int y, const char *name, FILE *out);

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

/* Draws the panel's frame, with its name above and the name of its other axis below. */
void bale_speed_axis_frame(const struct bale_speed_axis *axis, double left, double width,
                           const char *name, const char *other, FILE *out);

#endif
