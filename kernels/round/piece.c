#include "kernels/round/piece.h"

#include <stdbool.h>
#include <string.h>

#include "format/err.h"
#include "kernels/round/npy.h"
#include "kernels/round/round.h"

/* Whether the bytes are one element again and again, as those of a field at rest, and no lines. */
static bool is_constant(const uint8_t *bytes, size_t length)
{
    enum { ELEMENT_MOST = 8, LEAST = 8 * ELEMENT_MOST };

    return length >= LEAST && !memchr(bytes, '\n', ELEMENT_MOST) &&
           memcmp(bytes, bytes + ELEMENT_MOST, length - ELEMENT_MOST) == 0;
}

/* Whether the bytes are UTF-8 without control characters; the last character may be cut. */
static bool is_text(const uint8_t *bytes, size_t length)
{
    size_t i = 0;

    if (is_constant(bytes, length))
        return false;
    while (i < length) {
        const uint8_t c = bytes[i++];
        size_t more = c < 0x80 ? 0 : c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        if (c < 0x20 ? c != '\t' && c != '\n' && c != '\r' && c != '\f'
                     : c == 0x7f || (c >= 0x80 && c < 0xc2) || c > 0xf4)
            return false;
        for (; more > 0 && i < length; more--)
            if (bytes[i++] >> 6 != 2)
                return false;
    }
    return length > 0;
}

#define HDF5 "\x89HDF\r\n\x1a\n"

/* Formats whose files have these bytes at a place. Those of the second table have a header before
 * arrays that a setting may name by their offset. */
struct kind {
    const char *name, *magic;
    size_t at, length;
};
static const struct kind others[] = {{"HDF5", HDF5, 0, 8},
                                     {"HDF5", HDF5, 512, 8},
                                     {"HDF5", HDF5, 1024, 8},
                                     {"HDF5", HDF5, 2048, 8},
                                     {"NetCDF", "CDF\x01", 0, 4},
                                     {"NetCDF", "CDF\x02", 0, 4},
                                     {"NetCDF", "CDF\x05", 0, 4},
                                     {"GRIB", "GRIB", 0, 4},
                                     {"SQLite", "SQLite format 3", 0, 16},
                                     {"Parquet", "PAR1", 0, 4},
                                     {"Parquet", "PARE", 0, 4},
                                     {"Feather", "FEA1", 0, 4},
                                     {"Arrow", "ARROW1", 0, 6},
                                     {"PNG", "\x89PNG\r\n\x1a\n", 0, 8},
                                     {"JPEG", "\xff\xd8\xff", 0, 3},
                                     {"PDF", "%PDF-", 0, 5},
                                     {"zip", "PK\x03\x04", 0, 4},
                                     {"zip", "PK\x05\x06", 0, 4},
                                     {"gzip", "\x1f\x8b\x08", 0, 3},
                                     {"bzip2", "BZh", 0, 3},
                                     {"7z", "7z\xbc\xaf\x27\x1c", 0, 6},
                                     {"lz4", "\x04\x22\x4d\x18", 0, 4},
                                     {"zstd", "\x28\xb5\x2f\xfd", 0, 4},
                                     {"xz", "\xfd\x37zXZ\0", 0, 6},
                                     {"tar", "ustar", 257, 5},
                                     {"ELF",
                                      "\x7f"
                                      "ELF",
                                      0, 4}};
static const struct kind headers[] = {
    {"NumPy", "\x93NUMPY", 0, 6}, {"MATLAB", "MATLAB ", 0, 7},
    {"FITS", "SIMPLE  =", 0, 9},  {"VTK", "# vtk DataFile", 0, 14},
    {"XML", "<?xml", 0, 5},       {"XML", "<VTKFile", 0, 8},
    {"NRRD", "NRRD000", 0, 7},    {"FITS", "XTENSION=", 0, 9},
    {"PLY", "ply\n", 0, 4},       {"PLY", "ply\r", 0, 4},
    {"TIFF", "II*", 0, 4},        {"TIFF", "MM\0*", 0, 4},
    {"TIFF", "II+", 0, 4},        {"TIFF", "MM\0+", 0, 4},
    {"RIFF", "RIFF", 0, 4},       {"RIFF", "RIFX", 0, 4},
    {"RIFF", "RF64", 0, 4}};

static const char *find_kind(const struct kind *kinds, size_t count, const uint8_t *begin,
                             size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (length >= kinds[i].at + kinds[i].length &&
            memcmp(begin + kinds[i].at, kinds[i].magic, kinds[i].length) == 0)
            return kinds[i].name;
    return NULL;
}

/* Whether the bytes begin with a record of Fortran's unformatted files: its length before it and
 * behind it, in the byte order of the elements. As one of them such a length is next to nothing. */
static bool is_record(const uint8_t *begin, size_t length, bool big_endian)
{
    uint32_t before;

    if (length < 2 * sizeof before)
        return false;
    memcpy(&before, begin, sizeof before);
    if (big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
        before = __builtin_bswap32(before);
    if (before == 0 || before > length - 2 * sizeof before)
        return false;
    return memcmp(begin, begin + sizeof before + before, sizeof before) == 0;
}

/* The name of a format that is no plain array, or NULL. */
static const char *other_format(const struct bale_field *said, const uint8_t *begin, size_t length)
{
    const bool described = said->offset > 0; /* where the array begins */
    const char *name = find_kind(others, sizeof others / sizeof *others, begin, length);

    if (!name && !described)
        name = find_kind(headers, sizeof headers / sizeof *headers, begin, length);
    if (!name && !described && is_record(begin, length, said->big_endian))
        name = "Fortran's records";
    return name ? name : is_text(begin, length) ? "text" : NULL;
}

const char *bale_round_resolve(const struct bale_field *said, const uint8_t *begin, size_t length,
                               struct bale_field *field)
{
    const char *other = NULL;

    *field = *said;
    if (said->type == BALE_FIELD_NPY)
        other = bale_npy_read(begin, length, field) ? NULL : "no NumPy array of f32 or f64";
    else
        other = other_format(said, begin, length);
    if (other)
        *field = (struct bale_field){0};
    return other;
}

uint64_t bale_round_place(uint64_t offset)
{
    uint64_t at = BALE_ROUND_BEGIN;

    while (at < offset && at <= UINT64_MAX / 2)
        at *= 2;
    return at < offset ? UINT64_MAX : at;
}

uint64_t bale_round_place_across(uint64_t offset)
{
    const uint64_t most = BALE_ROUND_SIGNATURE - 1;
    const uint64_t at = bale_round_place(offset > most ? offset - most : 0);

    return at < offset ? at : UINT64_MAX;
}

const char *bale_round_resolve_piece(const struct bale_field *said, uint64_t offset,
                                     const uint8_t *piece, size_t length)
{
    if (said->type == BALE_FIELD_NPY || length < BALE_ROUND_SIGNATURE)
        return NULL;
    for (uint64_t at = bale_round_place(offset); at - offset <= length - BALE_ROUND_SIGNATURE;
         at = bale_round_place(at + 1))
        if (memcmp(piece + (at - offset), HDF5, BALE_ROUND_SIGNATURE) == 0)
            return "HDF5 behind a user block";
    return NULL;
}

/* Bytes of the piece before the array's end. */
static size_t before_end(const struct bale_field *field, uint64_t offset, size_t length)
{
    const uint64_t before = field->end > offset ? field->end - offset : 0;

    return field->end > 0 && before < length ? (size_t)before : length;
}

void bale_round_piece(const struct bale_field *field, uint64_t offset, uint8_t *out,
                      const uint8_t *in, size_t length)
{
    const size_t width = field->type == BALE_FIELD_F64 ? 8 : 4;
    const bool crosses =
        field->offset % width != 0; /* elements lie across multiples of BALE_ROUND_PAGE */
    struct bale_rounding rounding;
    size_t left;

    if ((field->type != BALE_FIELD_F32 && field->type != BALE_FIELD_F64) ||
        bale_rounding_make(&rounding,
                           field->type == BALE_FIELD_F64 ? BALE_ROUND_F64 : BALE_ROUND_F32,
                           field->big_endian, field->step) < 0) {
        memmove(out, in, length);
        return;
    }
    left = before_end(field, offset, length);
    memmove(out + left, in + left, length - left);
    for (size_t n; left > 0; left -= n, offset += n, in += n, out += n) {
        const uint64_t before =
            field->offset > offset ? field->offset - offset : (field->offset - offset) % width;
        const size_t page = BALE_ROUND_PAGE - (size_t)(offset % BALE_ROUND_PAGE);
        size_t skip, whole;
        n = crosses && page < left ? page : left;
        skip = before < n ? (size_t)before : n;
        whole = (n - skip) / width;
        memmove(out, in, skip);
        bale_round(&rounding, out + skip, in + skip, whole);
        skip += whole * width;
        memmove(out + skip, in + skip, n - skip);
    }
}

/* Bytes at the piece's begin that are the end of a signature, or the middle of one. */
static size_t signature_at_begin(uint64_t offset, const uint8_t *in, size_t length)
{
    const uint64_t at = bale_round_place_across(offset);
    size_t n;

    if (at == UINT64_MAX)
        return 0;
    n = (size_t)(at + BALE_ROUND_SIGNATURE - offset);
    n = n < length ? n : length;
    return memcmp(in, HDF5 + (offset - at), n) == 0 ? n : 0;
}

/* Bytes at the piece's end that are the begin of a signature. */
static size_t signature_at_end(uint64_t offset, const uint8_t *in, size_t length)
{
    const uint64_t end = offset + length, at = bale_round_place_across(end);

    if (at < offset || at == UINT64_MAX)
        return 0;
    return memcmp(in + (at - offset), HDF5, (size_t)(end - at)) == 0 ? (size_t)(end - at) : 0;
}

void bale_round_written(const struct bale_field *field, uint64_t offset, uint8_t *out,
                        const uint8_t *in, size_t length)
{
    const size_t before = signature_at_begin(offset, in, length);
    const size_t behind = signature_at_end(offset, in, length);
    const size_t left = length - before - behind;

    memcpy(out, in, before);
    bale_round_piece(field, offset + before, out + before, in + before, left);
    memcpy(out + before + left, in + before + left, behind);
}
