#include "kernels/frame/field.h"

#include <float.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "format/err.h"
#include "kernels/frame/number.h"

static const char *const types[BALE_FIELD_TYPES] = {
    [BALE_FIELD_F32] = "f32", [BALE_FIELD_F64] = "f64", [BALE_FIELD_I16] = "i16",
    [BALE_FIELD_I32] = "i32", [BALE_FIELD_I64] = "i64", [BALE_FIELD_NPY] = "npy",
};
static const char *const pipelines[BALE_PIPELINES] = {"auto", "huffman", "rle", "rle+huffman",
                                                      "gpulz+huffman"};

/* One key and its value, up to a comma or the end. */
struct word {
    const char *at;
    size_t length;
};

/* What the options say so far. */
struct parse {
    struct bale_field field;
    struct word dims, offset, pipeline, bound, range; /* at NULL: not given */
    bool relative;
};

const char *bale_field_explain(uint8_t codec)
{
    return bale_codec_is_lossy(codec)
               ? "f32, f64 or npy, then abs=E, or rel=E,range=LOW:HIGH (compress, import "
                 "--match and recompress --round find the range themselves); dims=XxYxZ, be, "
                 "offset=N, which npy has itself; pipeline=auto, huffman, rle, rle+huffman or "
                 "gpulz+huffman"
               : "f32, f64, i16, i32 or i64, then dims=XxYxZ, be, offset=N";
}

static struct word word_at(const char *text)
{
    return (struct word){text, strcspn(text, ",")};
}

static bool is(struct word word, const char *text)
{
    return strlen(text) == word.length && memcmp(word.at, text, word.length) == 0;
}

/* The index of the word in a list, or -1. */
static int find(struct word word, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (list[i] && is(word, list[i]))
            return i;
    return -1;
}

static bool type_fits(uint8_t codec, int type)
{
    if (type < 0)
        return false;
    return bale_codec_is_lossy(codec)
               ? type == BALE_FIELD_F32 || type == BALE_FIELD_F64 || type == BALE_FIELD_NPY
               : type != BALE_FIELD_NPY;
}

/* Takes "key=value" into *value if the word begins so. False: it is another word. */
static bool take(struct word word, const char *key, struct word *value, bool *twice)
{
    size_t length = strlen(key);

    if (word.length <= length || memcmp(word.at, key, length) != 0)
        return false;
    *twice = value->at != NULL;
    *value = (struct word){word.at + length, word.length - length};
    return true;
}

static int read_word(const char *name, uint8_t codec, struct word word, struct parse *p,
                     struct bale_reason *why)
{
    bool lossy = bale_codec_is_lossy(codec), twice = false;
    bool known = take(word, "dims=", &p->dims, &twice) ||
                 take(word, "offset=", &p->offset, &twice) ||
                 (lossy && (take(word, "pipeline=", &p->pipeline, &twice) ||
                            take(word, "range=", &p->range, &twice) ||
                            take(word, "abs=", &p->bound, &twice)));

    if (!known && lossy && take(word, "rel=", &p->bound, &twice)) {
        known = true;
        p->relative = true;
    }
    if (!known && is(word, "be")) {
        known = true;
        twice = p->field.big_endian;
        p->field.big_endian = true;
    }
    if (known && !twice)
        return BALE_OK;
    if (twice)
        bale_reason_set(why, "\"%.*s\" is given twice, or abs and rel both.",
                        (int)(word.length < 32 ? word.length : 32), word.at);
    else
        bale_reason_set(why, "\"%.*s\" is not an option of %s, which has %s.",
                        (int)(word.length < 32 ? word.length : 32), word.at, name,
                        bale_field_explain(codec));
    return BALE_E_INVALID;
}

/* Decimal digits alone. Returns their end, or NULL if there are none or too many. */
static const char *read_count(const char *text, uint64_t *count)
{
    const char *at = text;

    for (*count = 0; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*count, 10, count) ||
            __builtin_add_overflow(*count, (uint64_t)(*at - '0'), count))
            return NULL;
    return at > text ? at : NULL;
}

/* The fourth and the third dimension are one. */
static bool read_dims(struct word word, uint64_t dims[static BALE_FIELD_DIMS])
{
    const char *at = word.at, *end = word.at + word.length;

    for (int i = 0; i <= BALE_FIELD_DIMS; i++) {
        uint64_t count;

        at = read_count(at, &count);
        if (!at || count == 0)
            return false;
        if (i < BALE_FIELD_DIMS)
            dims[i] = count;
        else if (__builtin_mul_overflow(dims[BALE_FIELD_DIMS - 1], count,
                                        &dims[BALE_FIELD_DIMS - 1]))
            return false;
        if (at == end)
            return true;
        if (*at++ != 'x')
            return false;
    }
    return false;
}

/* What is too small for a binary64 stays above 0, so that the reason is not that it is 0. */
static double part_of_range(double relative, double low, double high)
{
    const double part = bale_number_product_down(relative, bale_number_difference_down(high, low));

    return part == 0 && relative > 0 && low < high ? DBL_TRUE_MIN : part;
}

/* A relative bound without a range is what it is of 0 to 1. */
static bool read_bound(const struct parse *p, double *bound)
{
    double low, high, up, unused;
    const char *end = bale_number_read(p->bound.at, bound, &up);

    if (!end || end != p->bound.at + p->bound.length)
        return false;
    if (*bound == 0 && up > 0)
        *bound = DBL_TRUE_MIN;
    if (!p->range.at)
        return true;
    end = bale_number_read(p->range.at, &unused, &low);
    if (!end || *end != ':')
        return false;
    end = bale_number_read(end + 1, &high, &unused);
    if (!end || end != p->range.at + p->range.length)
        return false;
    *bound = part_of_range(*bound, low, high);
    return true;
}

static int refuse(struct bale_reason *why, const char *name, const char *what)
{
    bale_reason_set(why, "%s needs %s.", name, what);
    return BALE_E_INVALID;
}

double bale_field_bound(uint64_t step)
{
    return bale_number_of_bits(step) / 2;
}

static int set_bound(const char *name, double bound, struct bale_field *field,
                     struct bale_reason *why)
{
    if (!(bound > 0))
        return refuse(why, name, "a bound above 0, and of a range LOW:HIGH the lower one first");
    if (!(bound >= 0x1p-1022 && bound <= 0x1p1020))
        return refuse(why, name,
                      "a step, twice the bound, from 2^-1021 to 2^1021, so a bound from 2.3e-308 "
                      "to 1.1e307");
    field->step = bale_number_bits(2 * bound);
    return BALE_OK;
}

/* *open: it is a relative bound without a range. */
static int finish_bound(const char *name, const struct parse *p, struct bale_field *field,
                        bool *open, struct bale_reason *why)
{
    double bound;

    if (!p->bound.at)
        return refuse(why, name, "a bound: abs=E, or rel=E with range=LOW:HIGH");
    *open = p->relative && !p->range.at;
    if (!p->relative && p->range.at)
        return refuse(why, name, "rel=E and not abs=E with range=LOW:HIGH");
    if (!read_bound(p, &bound))
        return refuse(why, name,
                      "decimal numbers, as 1e-3 or -0.5 and without a plus: one for the bound, and "
                      "of a range two, LOW:HIGH");
    return set_bound(name, bound, field, why);
}

static int finish_field(const char *name, uint8_t codec, const struct parse *p,
                        struct bale_field *field, double *relative, struct bale_reason *why)
{
    int err, pipeline = p->pipeline.at ? find(p->pipeline, pipelines, BALE_PIPELINES) : 0;
    bool open = false;

    *field = p->field;
    if (p->dims.at && !read_dims(p->dims, field->dims))
        return refuse(why, name,
                      "dims as numbers of elements, X, XxY, XxYxZ or XxYxZxW, with the "
                      "dimension first whose elements are adjacent");
    if (p->offset.at && read_count(p->offset.at, &field->offset) != p->offset.at + p->offset.length)
        return refuse(why, name, "offset as a number of bytes");
    if (pipeline < 0)
        return refuse(why, name, "pipeline=auto, huffman, rle, rle+huffman or gpulz+huffman");
    field->pipeline = (uint8_t)pipeline;
    if (bale_codec_is_lossy(codec)) {
        err = finish_bound(name, p, field, &open, why);
        if (err < 0)
            return err;
    }
    if (field->type == BALE_FIELD_NPY && (p->dims.at || p->offset.at || field->big_endian))
        return refuse(why, name,
                      "no dims, be or offset with npy, because the file's header has "
                      "them");
    if (!bale_field_valid(codec, field))
        return refuse(why, name, "dims and an offset that a file can have");
    if (open && !relative)
        return refuse(why, name,
                      "range=LOW:HIGH with rel=E where no whole array is there to take the least "
                      "and the largest value from");
    if (open) {
        *relative = bale_field_bound(field->step);
        field->step = 0;
    }
    return BALE_OK;
}

int bale_field_set_range(const char *name, double relative, double low, double high,
                         struct bale_field *field, struct bale_reason *why)
{
    return set_bound(name, part_of_range(relative, low, high), field, why);
}

int bale_field_parse(const char *name, uint8_t codec, const char *options, struct bale_field *field,
                     double *relative, struct bale_reason *why)
{
    struct parse p = {0};
    struct word word;
    int type;

    if (relative)
        *relative = 0;
    if (!options && !bale_codec_is_lossy(codec)) {
        *field = p.field;
        return BALE_OK;
    }
    word = word_at(options ? options : "");
    type = find(word, types, BALE_FIELD_TYPES);
    if (!type_fits(codec, type)) {
        bale_reason_set(why, "%s begins with the type of the elements, and has %s.", name,
                        bale_field_explain(codec));
        return BALE_E_INVALID;
    }
    p.field.type = (uint8_t)type;
    while (word.at[word.length] == ',') {
        int err;

        word = word_at(word.at + word.length + 1);
        err = read_word(name, codec, word, &p, why);
        if (err < 0)
            return err;
    }
    return finish_field(name, codec, &p, field, relative, why);
}

void bale_field_print(uint8_t codec, const struct bale_field *field, char *text, size_t size)
{
    char number[BALE_NUMBER_TEXT], dims[3 * 21 + 8] = "", offset[32] = "";
    size_t length = 0;

    *text = '\0';
    if (field->type == BALE_FIELD_NONE || field->type >= BALE_FIELD_TYPES)
        return;
    for (int i = 0; i < BALE_FIELD_DIMS && field->dims[i] > 0; i++)
        length += (size_t)snprintf(dims + length, sizeof dims - length, "%s%" PRIu64,
                                   i == 0 ? ",dims=" : "x", field->dims[i]);
    if (field->offset > 0)
        snprintf(offset, sizeof offset, ",offset=%" PRIu64, field->offset);
    bale_number_print_down(bale_field_bound(field->step), number);
    snprintf(text, size, "%s%s%s%s%s%s%s%s", types[field->type],
             bale_codec_is_lossy(codec) ? ",abs=" : "", bale_codec_is_lossy(codec) ? number : "",
             dims, field->big_endian ? ",be" : "", offset, field->pipeline ? ",pipeline=" : "",
             field->pipeline < BALE_PIPELINES && field->pipeline ? pipelines[field->pipeline] : "");
}
