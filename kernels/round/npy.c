#include "kernels/round/npy.h"

#include <string.h>

#include "format/bytes.h"
#include "format/limits.h"

static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

enum { AXES = 32 }; /* as many as NumPy has */

/* What is left of the header's text. */
struct text {
    const char *at, *end;
};

bool bale_npy_is(const uint8_t *begin, size_t length)
{
    return length >= sizeof magic && memcmp(begin, magic, sizeof magic) == 0;
}

static void skip_spaces(struct text *text)
{
    while (text->at < text->end && *text->at == ' ')
        text->at++;
}

/* Takes these characters, with spaces around them. */
static bool take(struct text *text, const char *word)
{
    size_t length = strlen(word);

    skip_spaces(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
        return false;
    text->at += length;
    skip_spaces(text);
    return true;
}

static bool read_type(struct text *text, struct bale_field *field)
{
    static const struct {
        const char *text;
        enum bale_field_type type;
        bool big_endian;
    } types[] = {{"'<f4'", BALE_FIELD_F32, false},
                 {"'>f4'", BALE_FIELD_F32, true},
                 {"'<f8'", BALE_FIELD_F64, false},
                 {"'>f8'", BALE_FIELD_F64, true}};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (take(text, types[i].text)) {
            field->type = (uint8_t)types[i].type;
            field->big_endian = types[i].big_endian;
            return true;
        }
    return false;
}

/* (), (N,) or (N, M, ...). */
static bool read_shape(struct text *text, uint64_t axes[static AXES], size_t *count)
{
    if (!take(text, "("))
        return false;
    for (*count = 0; !take(text, ")"); (*count)++) {
        const char *begin = text->at;
        uint64_t n = 0;

        if (*count == AXES)
            return false;
        for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++)
            if (__builtin_mul_overflow(n, 10, &n) ||
                __builtin_add_overflow(n, (uint64_t)(*text->at - '0'), &n))
                return false;
        if (text->at == begin)
            return false;
        axes[*count] = n;
        if (!take(text, ",") && (text->at == text->end || *text->at != ')'))
            return false;
    }
    return true;
}

/* The dictionary's keys come in any order, each once. */
static bool read_dictionary(struct text text, struct bale_field *field, uint64_t axes[static AXES],
                            size_t *count, bool *fortran)
{
    unsigned found = 0;

    if (!take(&text, "{"))
        return false;
    while (!take(&text, "}")) {
        unsigned key = take(&text, "'descr':")           ? 1
                       : take(&text, "'fortran_order':") ? 2
                       : take(&text, "'shape':")         ? 4
                                                         : 0;
        if (key == 0 || found & key)
            return false;
        found |= key;
        if (key == 1 && !read_type(&text, field))
            return false;
        if (key == 2 && !(*fortran = take(&text, "True")) && !take(&text, "False"))
            return false;
        if (key == 4 && !read_shape(&text, axes, count))
            return false;
        if (!take(&text, ",") && (text.at == text.end || *text.at != '}'))
            return false;
    }
    return found == 7;
}

/* Adjacent elements come first, and what is beyond the third axis is folded into it. No dims: the
 * array has no elements, or (then with no end, either) more than a file can have. */
static void set_dims(struct bale_field *field, const uint64_t axes[static AXES], size_t count,
                     bool fortran)
{
    uint64_t dims[BALE_FIELD_DIMS] = {0}, length = bale_field_element(field);

    field->end = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t n = axes[fortran ? i : count - 1 - i];
        if (n == 0)
            field->end = field->offset;
        if (n == 0 || __builtin_mul_overflow(length, n, &length) || length > BALE_SIZE_MAX)
            return;
        if (i < BALE_FIELD_DIMS)
            dims[i] = n;
        else
            dims[BALE_FIELD_DIMS - 1] *= n;
    }
    memcpy(field->dims, dims, sizeof dims);
    field->end = field->offset + length;
}

bool bale_npy_read(const uint8_t *begin, size_t length, struct bale_field *field)
{
    struct bale_field read = *field;
    uint64_t axes[AXES];
    size_t count = 0, at, text;
    bool fortran = false;

    if (!bale_npy_is(begin, length) || length < 12 || begin[6] < 1 || begin[6] > 3)
        return false;
    at = begin[6] == 1 ? 10 : 12;
    text = begin[6] == 1 ? bale_get16(begin + 8) : bale_get32(begin + 8);
    if (text > length - at)
        return false;
    memset(read.dims, 0, sizeof read.dims);
    if (!read_dictionary((struct text){(const char *)begin + at, (const char *)begin + at + text},
                         &read, axes, &count, &fortran))
        return false;
    read.offset = at + text;
    set_dims(&read, axes, count, fortran);
    *field = read;
    return true;
}
