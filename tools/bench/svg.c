/* Two panels, compress and decompress, with the same axes: ratio, and speed on a logarithmic scale.
 * A setting is a dumbbell: its hollow end shows one core, its filled end all cores. A diamond shows
 * the GPU, whose ratio may differ. */
#include "tools/bench/svg.h"

#include <math.h>
#include <string.h>

#include "kernels/frame/setting.h"
#include "tools/bench/picture.h"
#include "tools/bench/report.h"

enum {
    FOOT = 612, /* of the line about the GPU */
    TOP = 104,
    BOTTOM = 548,
    LEFT = 84,
    PANEL = 474,
    GAP = 48,
    RADIUS = 5,
    LETTER = 8, /* the largest width of a letter in a label */
    LINE = 14,
    LABELS = 128,
};

struct box {
    double x, y, width, height;
};

struct codec_panel {
    const struct bale_bench_report *report;
    FILE *out;
    double left;      /* of the plot */
    double low, high; /* ratios, at its edges */
    struct bale_speed_axis speeds;
    double step; /* between two marks of the ratio */
    bool decompress;
    struct box taken[3 * LABELS]; /* where no label may go */
    size_t count;
};

static double ratio_of(const struct bale_bench_report *report, size_t i)
{
    return (double)report->raw / (double)report->results[i].stored;
}

static double side_of(const struct codec_panel *p, const struct bale_bench_speed *speed)
{
    return p->decompress ? speed->decompress : speed->compress;
}

static double speed_of(const struct codec_panel *p, size_t i, bool all)
{
    return side_of(p, all ? &p->report->results[i].all : &p->report->results[i].one);
}

static bool has_gpu(const struct bale_bench_report *report, size_t i)
{
    return report->results[i].gpu.raw > 0;
}

static double gpu_ratio_of(const struct bale_bench_report *report, size_t i)
{
    return (double)report->results[i].gpu.raw / (double)report->results[i].gpu.stored;
}

static double x_of(const struct codec_panel *p, double ratio)
{
    return p->left + PANEL * (ratio - p->low) / (p->high - p->low);
}

static double y_of(const struct codec_panel *p, double speed)
{
    return bale_speed_axis_y(&p->speeds, speed);
}

static double nice_step(double span)
{
    double power = pow(10, floor(log10(span / 5)));
    double rest = span / 5 / power;

    return power * (rest > 5 ? 10 : rest > 2 ? 5 : rest > 1 ? 2 : 1);
}

static void widen(double *slow, double *fast, struct bale_bench_speed speed)
{
    *slow = fmin(*slow, fmin(speed.compress, speed.decompress));
    *fast = fmax(*fast, fmax(speed.compress, speed.decompress));
}

/* Both panels have the same axes, so that they can be compared. */
static void choose_axes(struct codec_panel *p)
{
    const struct bale_bench_report *report = p->report;
    double least = INFINITY, most = 0, slow = INFINITY, fast = 0;

    for (size_t i = 0; i < report->count; i++) {
        const struct bale_bench_result *r = &report->results[i];
        least = fmin(least, ratio_of(report, i));
        most = fmax(most, ratio_of(report, i));
        widen(&slow, &fast, r->one);
        widen(&slow, &fast, r->all);
        if (has_gpu(report, i)) {
            least = fmin(least, gpu_ratio_of(report, i));
            most = fmax(most, gpu_ratio_of(report, i));
            widen(&slow, &fast, r->gpu.speed);
        }
    }
    least = fmin(least, 1);
    most = fmax(most, least + 0.1);
    p->step = nice_step(most - least);
    p->low = least - 0.12 * (most - least);
    p->high = most + 0.2 * (most - least);
    bale_speed_axis_fit(&p->speeds, slow, fast);
}

static void draw_ratios(const struct codec_panel *p)
{
    int first = (int)ceil(p->low / p->step), last = (int)floor(p->high / p->step);

    for (int i = first; i <= last; i++) {
        double x = x_of(p, i * p->step);
        fprintf(p->out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", x, TOP, BOTTOM);
        fprintf(p->out,
                "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n", x,
                BOTTOM + 18, round(i * p->step * 1000) / 1000);
    }
}

static void occupy(struct codec_panel *p, struct box box)
{
    if (p->count < sizeof p->taken / sizeof p->taken[0])
        p->taken[p->count++] = box;
}

/* A line joins the levels of a codec, in the order in which they were measured. */
static void draw_levels(const struct codec_panel *p)
{
    for (size_t i = 1; i < p->report->count; i++) {
        const struct bale_bench_result *a = &p->report->results[i - 1];
        if (a->setting.codec != a[1].setting.codec)
            continue;
        fprintf(p->out, "<path class=\"levels\" stroke=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                bale_bench_hue(a->setting.codec), x_of(p, ratio_of(p->report, i - 1)),
                y_of(p, speed_of(p, i - 1, true)), x_of(p, ratio_of(p->report, i)),
                y_of(p, speed_of(p, i, true)));
    }
}

static void draw_point(struct codec_panel *p, size_t i)
{
    const char *colour = bale_bench_hue(p->report->results[i].setting.codec);
    double x = x_of(p, ratio_of(p->report, i));
    double one = y_of(p, speed_of(p, i, false)), all = y_of(p, speed_of(p, i, true));

    if (p->report->how->threads > 1) {
        fprintf(p->out, "<path class=\"bar\" stroke=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n", colour, x,
                one, all);
        fprintf(p->out,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"#fff\" stroke=\"%s\" "
                "stroke-width=\"2\"/>\n",
                x, one, RADIUS - 1, colour);
    }
    fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\"/>\n", x, all, RADIUS,
            colour);
    occupy(p, (struct box){x - RADIUS, all - RADIUS, 2 * RADIUS, 2 * RADIUS});
    occupy(p, (struct box){x - RADIUS, fmin(one, all) - RADIUS, 2 * RADIUS,
                           fabs(one - all) + 2 * RADIUS});
}

static void put_diamond(FILE *out, double x, double y, const char *colour)
{
    const double r = RADIUS + 1.5;

    fprintf(out,
            "<path class=\"gpu\" fill=\"%s\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fz\"/>\n",
            colour, x - r, y, x, y - r, x + r, y, x, y + r);
}

static void draw_gpu_point(struct codec_panel *p, size_t i)
{
    if (!has_gpu(p->report, i))
        return;
    double x = x_of(p, gpu_ratio_of(p->report, i)),
           y = y_of(p, side_of(p, &p->report->results[i].gpu.speed));
    put_diamond(p->out, x, y, bale_bench_hue(p->report->results[i].setting.codec));
    occupy(p, (struct box){x - RADIUS - 1, y - RADIUS - 1, 2 * RADIUS + 2, 2 * RADIUS + 2});
}

static bool is_free(const struct codec_panel *p, struct box box)
{
    if (box.x < p->left || box.x + box.width > p->left + PANEL || box.y < TOP ||
        box.y + box.height > BOTTOM)
        return false;
    for (size_t i = 0; i < p->count; i++) {
        const struct box *b = &p->taken[i];
        if (box.x < b->x + b->width && b->x < box.x + box.width && box.y < b->y + b->height &&
            b->y < box.y + box.height)
            return false;
    }
    return true;
}

/* Finds the nearest free position around the point: on rings, first right, left, above and below.
 */
static struct box find_place(const struct codec_panel *p, double x, double y, double width)
{
    static const double turns[] = {0, 4, 2, 6, 1, 3, 7, 5};
    struct box box = {0, 0, width, LINE};

    for (int ring = 0; ring < 12; ring++) {
        for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
            double angle = turns[i] * acos(-1) / 4, away = RADIUS + 3 + 12 * ring;
            box.x = x + cos(angle) * (away + width / 2) - width / 2;
            box.y = y - sin(angle) * (away + LINE / 2.0) - LINE / 2.0;
            if (is_free(p, box))
                return box;
        }
    }
    return (struct box){x + RADIUS + 3, y - LINE / 2.0, width, LINE};
}

static void draw_label(struct codec_panel *p, double x, double y, uint8_t codec, const char *text)
{
    const struct box box = find_place(p, x, y, (double)strlen(text) * LETTER);
    const double edge = fmin(fmax(x, box.x), box.x + box.width);
    const double middle = fmin(fmax(y, box.y), box.y + box.height);
    const double near = 2 * RADIUS + 2;

    occupy(p, box);
    /* hypot would need a newer C library than the rest of the program */
    if ((edge - x) * (edge - x) + (middle - y) * (middle - y) > near * near)
        fprintf(p->out, "<path class=\"leader\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x, y, edge,
                middle);
    fprintf(p->out,
            "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" "
            "style=\"fill:%s\">%s</text>\n",
            box.x + box.width / 2, box.y + LINE - 3, bale_bench_hue(codec), text);
}

static void label_point(struct codec_panel *p, size_t i)
{
    const struct bale_setting setting = p->report->results[i].setting;
    char text[BALE_SETTING_TEXT];

    bale_setting_print(setting, text, sizeof text);
    draw_label(p, x_of(p, ratio_of(p->report, i)), y_of(p, speed_of(p, i, true)), setting.codec,
               text);
}

/* nvCOMP has no levels: all levels share one point, and one label is enough. */
static void label_gpu_point(struct codec_panel *p, size_t i)
{
    const struct bale_bench_result *result = &p->report->results[i];
    const bool nvcomp = bale_bench_is_nvcomp(result->setting);
    char text[BALE_SETTING_TEXT];

    if (!has_gpu(p->report, i))
        return;
    for (size_t k = 0; nvcomp && k < i; k++)
        if (has_gpu(p->report, k) && p->report->results[k].setting.codec == result->setting.codec)
            return;
    bale_setting_print(result->setting, text, sizeof text);
    draw_label(p, x_of(p, gpu_ratio_of(p->report, i)), y_of(p, side_of(p, &result->gpu.speed)),
               result->setting.codec, nvcomp ? bale_codec_name(result->setting.codec) : text);
}

static void draw_panel(const struct bale_bench_report *report, bool decompress, FILE *out)
{
    struct codec_panel p = {.report = report,
                            .out = out,
                            .speeds = {.top = TOP, .bottom = BOTTOM},
                            .decompress = decompress};

    p.left = decompress ? LEFT + PANEL + GAP : LEFT;
    choose_axes(&p);
    bale_speed_axis_draw(&p.speeds, p.left, PANEL, decompress ? 0 : 1e6, out);
    draw_ratios(&p);
    bale_speed_axis_frame(&p.speeds, p.left, PANEL, decompress ? "decompress" : "compress",
                          "ratio, raw size / stored size", out);
    draw_levels(&p);
    for (size_t i = 0; i < report->count; i++)
        draw_point(&p, i);
    for (size_t i = 0; i < report->count; i++)
        draw_gpu_point(&p, i);
    for (size_t i = 0; i < report->count; i++)
        label_point(&p, i);
    for (size_t i = 0; i < report->count; i++)
        label_gpu_point(&p, i);
}

static void draw_key(const struct bale_bench_report *report, FILE *out)
{
    int x = LEFT + 2 * PANEL + GAP;

    fprintf(out, "<circle cx=\"%d\" cy=\"34\" r=\"%d\" fill=\"#444\"/>\n", x - 78, RADIUS);
    fprintf(out, "<text class=\"tick\" x=\"%d\" y=\"38\">%u cores</text>\n", x - 66,
            report->how->threads);
    fprintf(out,
            "<circle cx=\"%d\" cy=\"56\" r=\"%d\" fill=\"#fff\" stroke=\"#444\" "
            "stroke-width=\"2\"/>\n",
            x - 78, RADIUS - 1);
    fprintf(out, "<text class=\"tick\" x=\"%d\" y=\"60\">one core</text>\n", x - 66);
}

static void draw_gpu_key(const struct bale_bench_report *report, FILE *out)
{
    char text[256];

    bale_bench_describe_gpu(report, text, sizeof text);
    put_diamond(out, LEFT + RADIUS, FOOT - 4, "#444");
    fprintf(out, "<text class=\"tick\" x=\"%d\" y=\"%d\">", LEFT + 4 * RADIUS, FOOT);
    bale_bench_put(out, text);
    fputs("</text>\n", out);
}

void bale_bench_svg(const struct bale_bench_report *report, const char *title, const char *subtitle,
                    FILE *out)
{
    bale_picture_begin(".bar{stroke-width:2;opacity:.45}"
                       ".levels{fill:none;stroke-width:1.5;stroke-dasharray:2 3;opacity:.8}"
                       ".leader{stroke:#999;stroke-width:.8}",
                       LEFT, title, out);
    fprintf(out, "<text class=\"tick\" x=\"%d\" y=\"60\">", LEFT);
    bale_bench_put(out, subtitle);
    fputs("</text>\n", out);
    bale_picture_speeds(26, (TOP + BOTTOM) / 2, "MB/s of raw data", out);
    if (report->how->threads > 1)
        draw_key(report, out);
    if (bale_bench_has_gpu(report))
        draw_gpu_key(report, out);
    draw_panel(report, false, out);
    draw_panel(report, true, out);
    fputs("</svg>\n", out);
}
