#include "tools/quality/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/quality/png.h"

enum { SIDE = 256, GAP = 24, TOP = 64, BARS = 120, WIDTH = 4 * GAP + 3 * SIDE };

struct bale_quality_slice {
    uint32_t width, height;
    double original[BALE_PNG_SIDE * BALE_PNG_SIDE], copy[BALE_PNG_SIDE * BALE_PNG_SIDE];
    uint8_t rgb[3 * BALE_PNG_SIDE * BALE_PNG_SIDE];
};

/* ---- The slice ---- */

/* A row of the slice from a row of the array, whose elements are spread over it. */
static bool read_row(const struct bale_quality_pair *pair, bool copy, uint64_t first,
                     uint32_t width, double *row)
{
    const uint64_t length = pair->field.dims[0];
    uint8_t bytes[8];

    for (uint32_t x = 0; x < width; x++) {
        if (!bale_quality_read(pair, copy, first + x * length / width, bytes,
                               bale_quality_width(&pair->field)))
            return false;
        row[x] = bale_quality_element(&pair->field, bytes);
    }
    return true;
}

bool bale_quality_slice_read(const struct bale_quality_pair *pair,
                             struct bale_quality_slice **slice)
{
    const uint64_t *dims = pair->field.dims;
    const uint64_t plane = dims[0] * dims[1], middle = dims[2] / 2 * plane;
    struct bale_quality_slice *s;

    *slice = NULL;
    if (dims[1] == 0 || middle + plane > pair->elements)
        return true;
    s = calloc(1, sizeof *s);
    if (!s) {
        bale_message("no memory");
        return false;
    }
    s->width = dims[0] < BALE_PNG_SIDE ? (uint32_t)dims[0] : BALE_PNG_SIDE;
    s->height = dims[1] < BALE_PNG_SIDE ? (uint32_t)dims[1] : BALE_PNG_SIDE;
    for (uint32_t y = 0; y < s->height; y++) {
        const uint64_t first = middle + y * dims[1] / s->height * dims[0];
        if (!read_row(pair, false, first, s->width, s->original + y * s->width) ||
            !read_row(pair, true, first, s->width, s->copy + y * s->width)) {
            bale_quality_slice_free(s);
            return false;
        }
    }
    *slice = s;
    return true;
}

void bale_quality_slice_free(struct bale_quality_slice *slice)
{
    free(slice);
}

/* ---- Colours ---- */

/* Between colours that lie at equal distances, share from 0 to 1. */
static void colour(const uint8_t (*stops)[3], size_t count, double share, uint8_t rgb[3])
{
    const double at = fmin(fmax(share, 0), 1) * (double)(count - 1);
    const size_t i = at < (double)(count - 1) ? (size_t)at : count - 2;

    for (int k = 0; k < 3; k++)
        rgb[k] = (uint8_t)lround(stops[i][k] + (at - (double)i) * (stops[i + 1][k] - stops[i][k]));
}

static const uint8_t values[][3] = {
    {68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
static const uint8_t errors[][3] = {{33, 102, 172}, {247, 247, 247}, {178, 24, 43}};
static const uint8_t none[3] = {128, 128, 128}; /* no number */

static void paint(struct bale_quality_slice *s, const struct bale_quality *q, const double *row,
                  bool error)
{
    const long double range = (long double)q->high - q->low;

    for (size_t i = 0; i < (size_t)s->width * s->height; i++) {
        const long double x = error ? bale_quality_error(s->original[i], s->copy[i]) : row[i];
        uint8_t *rgb = s->rgb + 3 * i;
        if (!isfinite(x))
            memcpy(rgb, none, sizeof none);
        else if (error)
            colour(errors, 3, (bale_quality_share(q, x) + 1) / 2, rgb);
        else
            colour(values, 5, range > 0 ? (double)((x - q->low) / range) : 0, rgb);
    }
}

/* ---- The picture ---- */

static void draw_image(struct bale_quality_slice *s, const char *title, int column, FILE *out)
{
    const int x = GAP + column * (SIDE + GAP);

    fprintf(out, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, TOP - 8, title);
    fprintf(
        out,
        "<image x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" style=\"image-rendering:pixelated\" "
        "preserveAspectRatio=\"xMidYMin\" href=\"",
        x, TOP, SIDE, SIDE);
    bale_png_write(s->rgb, s->width, s->height, out);
    fputs("\"/>\n", out);
}

static void draw_slices(const struct bale_quality *q, const struct bale_quality_slice *slice,
                        FILE *out)
{
    struct bale_quality_slice *s = malloc(sizeof *s);

    if (!s)
        return;
    *s = *slice;
    paint(s, q, s->original, false);
    draw_image(s, "original", 0, out);
    paint(s, q, s->copy, false);
    draw_image(s, "copy", 1, out);
    paint(s, q, NULL, true);
    draw_image(s, "error", 2, out);
    free(s);
}

static void draw_histogram(const struct bale_quality *q, int top, FILE *out)
{
    const double width = (double)(WIDTH - 2 * GAP) / BALE_QUALITY_BINS;
    uint64_t most = 1;

    for (int i = 0; i < BALE_QUALITY_BINS; i++)
        most = q->histogram[i] > most ? q->histogram[i] : most;
    for (int i = 0; i < BALE_QUALITY_BINS; i++) {
        const double height = BARS * (double)q->histogram[i] / (double)most;
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#3b528b\">"
                "<title>%" PRIu64 "</title></rect>\n",
                GAP + i * width + 1, top + BARS - height, width - 2, height, q->histogram[i]);
    }
    fprintf(out,
            "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#444\"/>\n"
            "<text x=\"%d\" y=\"%d\">%.3Lg</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">how often errors occur</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.3Lg</text>\n",
            GAP, top + BARS, WIDTH - GAP, top + BARS, GAP, top + BARS + 18, 0 - q->reach, WIDTH / 2,
            top + BARS + 18, WIDTH - GAP, top + BARS + 18, q->reach);
}

void bale_quality_picture(const struct bale_quality_pair *pair, const struct bale_quality *quality,
                          const struct bale_quality_slice *slice, FILE *out)
{
    const int top = slice ? TOP + SIDE + GAP : TOP, height = top + BARS + 18 + GAP;
    const long double nrmse = bale_quality_nrmse(quality);

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            WIDTH, height, WIDTH, height, WIDTH, height);
    fprintf(out,
            "<text x=\"%d\" y=\"28\" font-size=\"15\">%" PRIu64 " elements, largest error %.4Lg",
            GAP, pair->elements, quality->worst);
    if (pair->bound > 0)
        fprintf(out, ", bound %.4g %s", pair->bound, quality->beyond ? "not kept" : "kept");
    if (nrmse > 0)
        fprintf(out, ", PSNR %.1Lf dB", -20 * log10l(nrmse));
    fputs("</text>\n", out);
    if (slice)
        draw_slices(quality, slice, out);
    draw_histogram(quality, top, out);
    fputs("</svg>\n", out);
}
