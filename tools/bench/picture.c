#include "tools/bench/picture.h"

#include <math.h>

#include "format/codecs.h"

enum { WIDTH = 1120, HEIGHT = 620 };

#define STYLE                                                                                      \
    "text{fill:#222}.tick{font-size:13px;fill:#444}.axis{font-size:14px}"                          \
    ".name{font-size:16px;font-weight:bold}.label{font-size:13px;font-weight:bold;"                \
    "paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"                       \
    ".grid{stroke:#e4e4e4}.frame{fill:none;stroke:#999}"

/* Colours that colour-blind readers can tell apart (Okabe and Ito), dark enough for text. */
static const char *const hues[] = {"#0072b2", "#c04a00", "#00795a", "#a3447c",
                                   "#8a6d00", "#3d8bbf", "#5b3fa8", "#4d7c0f"};

const char *bale_bench_hue(uint8_t codec)
{
    if (codec == BALE_CODEC_STORE || codec == BALE_CODEC_ZERO)
        return "#777777";
    if (codec == BALE_CODEC_AUTO)
        return "#000000";
    return hues[bale_codec_order(codec) % (sizeof hues / sizeof hues[0])];
}

void bale_bench_put(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else
            fputc(*text, out);
}

void bale_picture_begin(const char *more, int left, const char *title, FILE *out)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\">\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    fprintf(out,
            "<style>" STYLE "%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            more);
    fprintf(out, "<text x=\"%d\" y=\"36\" font-size=\"20\" font-weight=\"bold\">", left);
    bale_bench_put(out, title);
    fputs("</text>\n", out);
}

void bale_picture_speeds(int x, int y, const char *name, FILE *out)
{
    fprintf(out,
            "<text class=\"axis\" transform=\"translate(%d %d) rotate(-90)\" "
            "text-anchor=\"middle\">%s</text>\n",
            x, y, name);
}

double bale_speed_axis_y(const struct bale_speed_axis *axis, double speed)
{
    double part = log(speed / axis->slow) / log(axis->fast / axis->slow);

    return axis->bottom - (axis->bottom - axis->top) * part;
}

void bale_speed_axis_fit(struct bale_speed_axis *axis, double least, double most)
{
    axis->slow = most > 0 ? least / 1.5 : 1;
    axis->fast = most > 0 ? most * 1.5 : 10;
}

void bale_speed_axis_draw(const struct bale_speed_axis *axis, double left, double width,
                          double unit, FILE *out)
{
    static const double marks[] = {1, 2, 5};

    for (int i = 0; i < 30; i++) { /* from 1 kB/s on: ten powers of ten */
        int power = 3 + i / 3;
        double speed = pow(10, power) * marks[i % 3];
        double y = bale_speed_axis_y(axis, speed);
        if (speed < axis->slow || speed > axis->fast)
            continue;
        fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fh%.0f\"/>\n", left, y, width);
        if (unit > 0)
            fprintf(out,
                    "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.10g</text>\n",
                    left - 8, y + 4, speed / unit);
    }
}

void bale_speed_axis_frame(const struct bale_speed_axis *axis, double left, double width,
                           const char *name, const char *other, FILE *out)
{
    double middle = left + width / 2;

    fprintf(out, "<rect class=\"frame\" x=\"%.1f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>\n",
            left, axis->top, width, axis->bottom - axis->top);
    fprintf(out, "<text class=\"name\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
            middle, axis->top - 10, name);
    fprintf(out, "<text class=\"axis\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
            middle, axis->bottom + 40, other);
}
