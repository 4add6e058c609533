#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/codecs.h"
#include "tools/common/size.h"
#include "tools/inspect/extent_map.h"

/* All lengths in pixels. */
#define LEFT 92 /* space before the cells, for offsets */
#define TOP 92
#define WIDTH 960
#define LINE 26 /* of the legend */
#define RAMP_STEP 34
#define RAMP_STEPS 5 /* ratios of 1, 2, 4, 8, and 16 or more */
#define TITLE_MOST 88

/* ---- Colours ---- */

/* Dark colours mark what takes space: a ratio of 1 is dark, one of 16 or more is pale. Readers who
 * cannot see red or green can tell the hues apart. */
struct colours {
    uint8_t dark[3], pale[3];
};

static const struct colours *colours_of(uint8_t codec)
{
    static const struct colours store = {{0x47, 0x4f, 0x5c}, {0xd3, 0xd7, 0xde}};
    static const struct colours zero = {{0x06, 0x6e, 0x5e}, {0xb4, 0xe3, 0xd8}};
    static const struct colours others[] = {
        {{0x0a, 0x47, 0x87}, {0xc3, 0xdc, 0xf5}}, {{0x9e, 0x38, 0x00}, {0xfd, 0xdc, 0xb8}},
        {{0x5f, 0x2a, 0x86}, {0xe5, 0xd3, 0xf2}}, {{0x8a, 0x1c, 0x4a}, {0xf6, 0xd0, 0xde}},
        {{0x55, 0x62, 0x00}, {0xe4, 0xea, 0xb8}}, {{0x6b, 0x42, 0x1c}, {0xea, 0xd6, 0xc0}},
    };

    if (codec == BALE_CODEC_STORE)
        return &store;
    if (codec == BALE_CODEC_ZERO)
        return &zero;
    return &others[bale_codec_order(codec) % (sizeof others / sizeof others[0])];
}

/* "#rrggbb" */
static const char *colour(unsigned codec, double ratio, char text[static 8])
{
    const struct colours *colours = colours_of((uint8_t)codec);
    double paleness = log2(ratio) / (RAMP_STEPS - 1);
    unsigned rgb[3];

    paleness = paleness < 0 ? 0 : paleness > 1 ? 1 : paleness;
    for (int i = 0; i < 3; i++)
        rgb[i] =
            (unsigned)lround(colours->dark[i] + paleness * (colours->pale[i] - colours->dark[i])) &
            0xff;
    snprintf(text, 8, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
    return text;
}

/* ---- Text ---- */

/* Escapes text for XML. Bytes that are not valid UTF-8, or not allowed in XML, become "?". */
static void put_escaped(const char *text, FILE *out)
{
    while (*text) {
        unsigned char c = (unsigned char)*text;
        size_t length = c < 0x80                ? 1
                        : c >= 0xc2 && c < 0xe0 ? 2
                        : c >= 0xe0 && c < 0xf0 ? 3
                        : c >= 0xf0 && c < 0xf5 ? 4
                                                : 0;
        size_t have = 1;
        while (have < length && ((unsigned char)text[have] & 0xc0) == 0x80)
            have++;
        bool good = length > 0 && have == length;
        if (c == '&' || c == '<' || c == '>')
            fputs(c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;", out);
        else if (c == 0x7f || c < 0x20 || !good || (c == 0xed && (unsigned char)text[1] >= 0xa0) ||
                 (c == 0xef && (unsigned char)text[1] == 0xbf && (unsigned char)text[2] >= 0xbe))
            fputc('?', out);
        else
            fwrite(text, 1, length, out);
        text += good ? length : 1;
    }
}

/* Prints the title: the path, or the end of a long one. */
static void put_title(const char *path, FILE *out)
{
    size_t length = strlen(path);

    if (length > TITLE_MOST) {
        path += length - TITLE_MOST;
        while (((unsigned char)*path & 0xc0) == 0x80)
            path++;
        fputs("\xe2\x80\xa6", out);
    }
    put_escaped(path, out);
}

static void put_text(FILE *out, int x, int y, const char *class, const char *text)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, class);
    put_escaped(text, out);
    fputs("</text>\n", out);
}

/* "128 KiB" rather than "128.0 KiB". */
static const char *round_size(uint64_t size, char text[static BALE_TEXT])
{
    bale_size_text(size, text);
    char *zero = strstr(text, ".0 ");
    if (zero)
        memmove(zero, zero + 2, strlen(zero + 2) + 1);
    return text;
}

/* Offsets are exact: "1280 MiB", not "1.2 GiB". */
static const char *exact_size(uint64_t size, char text[static BALE_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;

    while (size > 0 && size % 1024 == 0) {
        size /= 1024;
        unit++;
    }
    snprintf(text, BALE_TEXT, size ? "%" PRIu64 " %s" : "0", size, units[unit]);
    return text;
}

/* ---- Cells ---- */

static void put_strip(FILE *out, double x, double y, double width, double height, const char *fill)
{
    fprintf(out, "<rect x=\"%.4g\" y=\"%.4g\" width=\"%.4g\" height=\"%.4g\" fill=\"%s\"/>", x, y,
            width, height, fill);
}

/* The text that appears when the pointer is over a cell. */
static void put_hint(const struct bale_extent_map *map, uint64_t number, FILE *out)
{
    const struct bale_extent_cell *cell = &map->cells[number];
    char name[24], from[BALE_TEXT], logical[BALE_TEXT], stored[BALE_TEXT];
    bool any = false;

    fprintf(out, "<title>at %s,", exact_size(number * bale_extent_map_span(map), from));
    for (unsigned i = 0; i < BALE_CODECS; i++) {
        if (cell->logical[i] == 0)
            continue;
        fprintf(out, "%s %s: %s stored in %s", any ? "," : "", bale_codec_title(i, name),
                round_size(cell->logical[i], logical), round_size(cell->stored[i], stored));
        any = true;
    }
    fprintf(out, "%s</title>", any ? "" : cell->unwritten ? " reserved" : " a hole");
}

/* Draws one strip for each codec, as wide as its share of the cell's bytes; then the reserved part,
 * then holes. */
static void put_cell(const struct bale_extent_map *map, uint64_t number, FILE *out)
{
    const struct bale_extent_cell *cell = &map->cells[number];
    uint64_t begin = number * bale_extent_map_span(map);
    uint64_t length = map->size - begin < bale_extent_map_span(map) ? map->size - begin
                                                                    : bale_extent_map_span(map);
    uint64_t row = number / map->columns;
    double x = LEFT + (double)(number % map->columns * map->side);
    double y = TOP + (double)(row * map->side);
    double side = map->side - (map->side > 20 ? 2 : 1),
           scale = side / (double)bale_extent_map_span(map);
    uint64_t done = 0;
    char fill[8];

    fputs("<g>", out);
    put_hint(map, number, out);
    for (unsigned i = 0; i < BALE_CODECS; i++) {
        if (cell->logical[i] == 0)
            continue;
        double ratio = cell->stored[i] ? (double)cell->logical[i] / (double)cell->stored[i] : 16;
        put_strip(out, x + (double)done * scale, y, (double)cell->logical[i] * scale, side,
                  colour(i, ratio, fill));
        done += cell->logical[i];
    }
    if (cell->unwritten > 0) {
        put_strip(out, x + (double)done * scale, y, (double)cell->unwritten * scale, side,
                  "url(#reserved)");
        done += cell->unwritten;
    }
    if (done < length)
        put_strip(out, x + (double)done * scale, y, (double)(length - done) * scale, side,
                  "url(#hole)");
    fputs("</g>\n", out);
}

static void put_cells(const struct bale_extent_map *map, FILE *out)
{
    unsigned every = map->side > 20 ? 1 : 4;
    char text[BALE_TEXT];

    for (unsigned row = 0; row < map->rows; row += every)
        put_text(out, LEFT - 10, TOP + (int)(row * map->side + map->side / 2) + 4, "right small",
                 exact_size(row * map->columns * bale_extent_map_span(map), text));
    for (uint64_t i = 0; i < map->count; i++)
        put_cell(map, i, out);
}

/* ---- Legend ---- */

static void put_figures(FILE *out, int y, uint64_t extents, uint64_t logical, uint64_t stored)
{
    char text[BALE_TEXT];

    snprintf(text, sizeof text, "%" PRIu64, extents);
    put_text(out, 520, y, "right", text);
    put_text(out, 650, y, "right", bale_size_text(logical, text));
    put_text(out, 780, y, "right", bale_size_text(stored, text));
    put_text(out, 880, y, "right", bale_ratio_text(logical, stored, text));
}

static void put_codec(FILE *out, int y, unsigned codec, const struct bale_codec_totals *totals)
{
    char name[24], fill[8];

    put_text(out, LEFT, y, "name", bale_codec_title(codec, name));
    for (int i = 0; i < RAMP_STEPS; i++) {
        put_strip(out, LEFT + 90 + i * RAMP_STEP, y - 13, RAMP_STEP, 17,
                  colour(codec, (double)(1 << i), fill));
        fputc('\n', out);
    }
    put_figures(out, y, totals->extents, totals->logical, totals->stored);
}

static void put_pattern(FILE *out, int y, const char *name, uint64_t bytes, const char *fill)
{
    char text[BALE_TEXT];

    put_text(out, LEFT, y, "name", name);
    put_strip(out, LEFT + 90, y - 13, RAMP_STEPS * RAMP_STEP, 17, fill);
    fputc('\n', out);
    put_text(out, 650, y, "right", bale_size_text(bytes, text));
}

static void put_legend_head(FILE *out, int y)
{
    static const char *const ratios[RAMP_STEPS] = {"1\u00d7", "2\u00d7", "4\u00d7", "8\u00d7",
                                                   "16\u00d7+"};

    put_text(out, LEFT, y, "head", "codec");
    for (int i = 0; i < RAMP_STEPS; i++)
        put_text(out, LEFT + 90 + i * RAMP_STEP + RAMP_STEP / 2, y, "head middle", ratios[i]);
    put_text(out, 520, y, "head right", "extents");
    put_text(out, 650, y, "head right", "of the file");
    put_text(out, 780, y, "head right", "stored");
    put_text(out, 880, y, "head right", "ratio");
}

static void put_legend(const struct bale_extent_map *map, const struct bale_totals *totals, int y,
                       FILE *out)
{
    uint64_t extents = 0, holes = map->size - totals->space.data - map->unwritten;
    unsigned codecs = 0;

    put_legend_head(out, y);
    for (unsigned i = 0; i < BALE_CODECS; i++) {
        if (totals->codec[i].extents == 0)
            continue;
        put_codec(out, y += LINE, i, &totals->codec[i]);
        extents += totals->codec[i].extents;
        codecs++;
    }
    if (map->unwritten > 0)
        put_pattern(out, y += LINE, "reserved", map->unwritten, "url(#reserved)");
    if (holes > 0)
        put_pattern(out, y += LINE, "holes", holes, "url(#hole)");
    if (codecs > 1) {
        put_text(out, LEFT, y += LINE, "name", "in all");
        put_figures(out, y, extents, totals->space.data, totals->space.stored);
    }
}

/* ---- All of it ---- */

static const char defs[] =
    "<style>text{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:13px;fill:#2b3038}"
    ".title{font-size:18px;font-weight:bold}.small{font-size:11px;fill:#6a717c}"
    ".head{font-size:11px;fill:#6a717c}.name{font-weight:bold}.right{text-anchor:end}"
    ".middle{text-anchor:middle}</style>\n"
    "<defs><pattern id=\"hole\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"5\" height=\"5\" fill=\"#f6f7f9\"/>"
    "<rect width=\"1.2\" height=\"5\" fill=\"#b9bfc9\"/></pattern>\n"
    "<pattern id=\"reserved\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">"
    "<rect width=\"4\" height=\"4\" fill=\"#f6f7f9\"/>"
    "<circle cx=\"2\" cy=\"2\" r=\"0.9\" fill=\"#8a919d\"/></pattern></defs>\n";

static void put_head(const struct bale_extent_map *map, const char *path,
                     const struct bale_totals *totals, FILE *out)
{
    char size[BALE_TEXT], extent[BALE_TEXT], stored[BALE_TEXT], cell[BALE_TEXT], line[256];

    fprintf(out, "<text x=\"24\" y=\"36\" class=\"title\">");
    put_title(path, out);
    fputs("</text>\n", out);
    snprintf(line, sizeof line, "%s in %" PRIu64 " extent%s of %s, stored in %s",
             round_size(map->size, size), map->extents, map->extents == 1 ? "" : "s",
             round_size(map->extent, extent), round_size(totals->space.stored, stored));
    put_text(out, 24, 60, "", line);
    if (map->together > 1) {
        snprintf(line, sizeof line, "a cell: %" PRIu64 " extents, %s", map->together,
                 round_size(bale_extent_map_span(map), cell));
        put_text(out, WIDTH - 24 - 12, 60, "right small", line);
    }
}

static int legend_lines(const struct bale_extent_map *map, const struct bale_totals *totals)
{
    int lines = 2 + (map->unwritten > 0) + (map->size > totals->space.data + map->unwritten);

    for (unsigned i = 0; i < BALE_CODECS; i++)
        lines += totals->codec[i].extents > 0;
    return lines;
}

void bale_extent_map_write(const struct bale_extent_map *map, const char *path,
                           const struct bale_totals *totals, FILE *out)
{
    int legend = TOP + (int)(map->rows * map->side) + 34;
    int height = legend + legend_lines(map, totals) * LINE;

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
            "%d\">\n",
            WIDTH, height, WIDTH, height);
    fputs(defs, out);
    fprintf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", WIDTH, height);
    put_head(map, path, totals, out);
    put_cells(map, out);
    if (map->extents > 0)
        put_legend(map, totals, legend, out);
    else
        put_text(out, 24, TOP, "", "There is no data in it.");
    fputs("</svg>\n", out);
}
