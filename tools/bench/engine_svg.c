/* Two panels, encode and decode, with the same logarithmic axes: bytes in flight, and GB/s. The
 * CPU's lines are dashed and its points hollow; the GPU's are solid and filled. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/frame/setting.h"
#include "tools/bench/engine_report.h"
#include "tools/bench/picture.h"
#include "tools/bench/report.h"

enum {
    TOP = 124,
    BOTTOM = 548,
    LEFT = 76,
    PANEL = 390,
    GAP = 150, /* room for the labels */
    RADIUS = 5,
    LINE = 15,
    LABELS = 128,
};

struct label {
    double y; /* first the end of the line, later the text's position */
    char text[BALE_SETTING_TEXT + 8];
    const char *hue;
};

struct engine_panel {
    const struct bale_engine_report *report;
    FILE *out;
    double left;
    struct bale_speed_axis rates;
    enum bale_item_kind kind;
    struct label labels[LABELS];
    size_t label_count;
};

static const struct bale_engine_how *how_of(const struct engine_panel *p)
{
    return p->report->bench->how;
}

static double x_of(const struct engine_panel *p, unsigned size)
{
    const struct bale_engine_how *how = how_of(p);
    double low = log2((double)how->sizes[0]);
    double span = log2((double)how->sizes[how->size_count - 1]) - low;
    double part = span > 0 ? (log2((double)how->sizes[size]) - low) / span : 0.5;

    return p->left + PANEL * (0.04 + 0.92 * part);
}

static double y_of(const struct engine_panel *p, double rate)
{
    return bale_speed_axis_y(&p->rates, rate);
}

/* Both panels have the same axes, so that they can be compared. */
static void choose_axes(struct engine_panel *p)
{
    const struct bale_engine_report *report = p->report;
    double slow = INFINITY, fast = 0;

    for (size_t i = 0; i < report->count; i++)
        for (int side = 0; side < BALE_SIDES; side++)
            for (unsigned s = 0; s < how_of(p)->size_count; s++) {
                double rate = report->rows[i].sides[side].rates[s].rate;
                if (rate > 0) {
                    slow = fmin(slow, rate);
                    fast = fmax(fast, rate);
                }
            }
    bale_speed_axis_fit(&p->rates, slow, fast);
}

static void draw_sizes(const struct engine_panel *p)
{
    char text[BALE_TEXT];

    for (unsigned s = 0; s < how_of(p)->size_count; s++)
        fprintf(p->out,
                "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n<text class=\"tick\" x=\"%.1f\" "
                "y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                x_of(p, s), TOP, BOTTOM, x_of(p, s), BOTTOM + 18,
                bale_bench_size(how_of(p)->sizes[s], text));
}

/* A rate that could not be measured has no point. */
static void draw_line(struct engine_panel *p, const struct bale_engine_row *row,
                      enum bale_side side)
{
    const struct bale_flight_rate *rates = row->sides[side].rates;
    const char *hue = bale_bench_hue(row->setting.codec);
    char setting[BALE_SETTING_TEXT];
    double y = NAN;

    fprintf(p->out, "<path class=\"line%s\" stroke=\"%s\" d=\"",
            side == BALE_SIDE_CPU ? " cpu" : "", hue);
    for (unsigned s = 0; s < how_of(p)->size_count; s++)
        if (rates[s].rate > 0) {
            fprintf(p->out, "%s%.1f %.1f", isnan(y) ? "M" : "L", x_of(p, s),
                    y_of(p, rates[s].rate));
            y = y_of(p, rates[s].rate);
        }
    fputs("\"/>\n", p->out);
    for (unsigned s = 0; s < how_of(p)->size_count; s++)
        if (rates[s].rate > 0)
            fprintf(p->out,
                    "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\" stroke=\"%s\" "
                    "stroke-width=\"2\"/>\n",
                    x_of(p, s), y_of(p, rates[s].rate), RADIUS - 1,
                    side == BALE_SIDE_CPU ? "#fff" : hue, hue);
    if (isnan(y) || p->label_count == LABELS)
        return;
    struct label *label = &p->labels[p->label_count++];
    bale_setting_print(row->setting, setting, sizeof setting);
    *label = (struct label){.y = y, .hue = hue};
    snprintf(label->text, sizeof label->text, "%s %s", setting, bale_engine_side(side));
}

static int by_height(const void *a, const void *b)
{
    const struct label *x = a, *y = b;

    return (x->y > y->y) - (x->y < y->y);
}

/* Draws the labels at the ends of the lines, moved apart so that they do not overlap. */
static void draw_labels(struct engine_panel *p)
{
    double floor = TOP, ceiling = BOTTOM;

    qsort(p->labels, p->label_count, sizeof p->labels[0], by_height);
    for (size_t i = 0; i < p->label_count; i++, floor += LINE)
        p->labels[i].y = floor = fmax(floor, p->labels[i].y);
    for (size_t i = p->label_count; i > 0; i--, ceiling -= LINE)
        p->labels[i - 1].y = ceiling = fmin(ceiling, p->labels[i - 1].y);
    for (size_t i = 0; i < p->label_count; i++)
        fprintf(p->out, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" style=\"fill:%s\">%s</text>\n",
                p->left + PANEL + 6, p->labels[i].y + 4, p->labels[i].hue, p->labels[i].text);
}

static void draw_panel(const struct bale_engine_report *report, enum bale_item_kind kind, FILE *out)
{
    struct engine_panel p = {
        .report = report, .out = out, .rates = {.top = TOP, .bottom = BOTTOM}, .kind = kind};

    p.left = kind == BALE_ITEM_ENCODE ? LEFT : LEFT + PANEL + GAP;
    choose_axes(&p);
    bale_speed_axis_draw(&p.rates, p.left, PANEL, 1e9, out);
    draw_sizes(&p);
    bale_speed_axis_frame(&p.rates, p.left, PANEL, kind == BALE_ITEM_ENCODE ? "encode" : "decode",
                          "bytes in flight", out);
    for (size_t i = 0; i < report->count; i++)
        for (enum bale_side side = 0; side < BALE_SIDES; side++)
            if (report->rows[i].kind == kind && report->rows[i].sides[side].taken)
                draw_line(&p, &report->rows[i], side);
    draw_labels(&p);
}

static void draw_head(const struct bale_engine_report *report, FILE *out)
{
    const struct bale_engine_how *how = report->bench->how;
    char gpu[2 * BALE_REASON_SIZE], size[BALE_TEXT];

    bale_picture_begin(".line{fill:none;stroke-width:2}.cpu{stroke-dasharray:5 4}", LEFT,
                       report->data, out);
    fprintf(out,
            "<text class=\"tick\" x=\"%d\" y=\"60\">CPU: %u thread%s; extents of %s, "
            "%g s each</text>\n<text class=\"tick\" x=\"%d\" y=\"80\">GPU: ",
            LEFT, how->threads, how->threads == 1 ? "" : "s",
            bale_bench_size(BALE_EXTENT_DEFAULT, size), how->seconds, LEFT);
    bale_engine_gpu_text(report->bench, gpu, sizeof gpu);
    bale_bench_put(out, gpu);
    fputs("</text>\n", out);
    bale_picture_speeds(22, (TOP + BOTTOM) / 2, "GB/s of raw data", out);
}

void bale_engine_svg(const struct bale_engine_report *report, FILE *out)
{
    draw_head(report, out);
    draw_panel(report, BALE_ITEM_ENCODE, out);
    draw_panel(report, BALE_ITEM_DECODE, out);
    fputs("</svg>\n", out);
}
