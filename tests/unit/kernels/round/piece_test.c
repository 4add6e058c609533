/* Which bytes of a file rounding changes, piece by piece; and files that it leaves alone. */
#include "kernels/round/piece.h"
#include "kernels/round/round.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

enum { LENGTH = 20000 };

static struct bale_field field_of(enum bale_field_type type, uint64_t offset, bool big_endian)
{
    const double step = 0.5;
    struct bale_field field = {.type = (uint8_t)type, .offset = offset, .big_endian = big_endian};

    memcpy(&field.step, &step, sizeof step);
    return field;
}

/* Element by element, from the rule. */
static void expect(const struct bale_field *field, uint64_t offset, uint8_t *bytes, size_t length)
{
    const size_t width = field->type == BALE_FIELD_F64 ? 8 : 4;
    struct bale_rounding rounding;

    bale_rounding_make(&rounding, width == 8 ? BALE_ROUND_F64 : BALE_ROUND_F32, field->big_endian,
                       field->step);
    for (uint64_t at = field->offset; at + width <= offset + length; at += width)
        if (at >= offset && (field->end == 0 || at + width <= field->end) &&
            at / 4096 == (at + width - 1) / 4096)
            bale_round(&rounding, bytes + (at - offset), bytes + (at - offset), 1);
}

static void test_pieces(void)
{
    static uint8_t raw[LENGTH], want[LENGTH], got[LENGTH];
    uint64_t state = 4;

    for (unsigned n = 0; n < 400; n++) {
        struct bale_field field =
            field_of(n % 2 ? BALE_FIELD_F32 : BALE_FIELD_F64,
                     n % 3 ? data_next(&state) % 9000 : data_next(&state) % 64 * 8, n % 5 == 0);
        const uint64_t offset = n % 7 ? data_next(&state) % 9000 : data_next(&state) % 8 * 4096;
        const size_t length = n % 4 ? data_next(&state) % LENGTH : data_next(&state) % 20;
        if (n % 6 == 0)
            field.end = field.offset + data_next(&state) % 2500 * 8;
        for (size_t i = 0; i < LENGTH; i += 4) {
            const float x = (float)(data_next(&state) % 4096) / 64;
            memcpy(raw + i, &x, 4);
        }
        memcpy(want, raw, LENGTH);
        memcpy(got, raw, LENGTH);
        expect(&field, offset, want, length);
        bale_round_piece(&field, offset, got, got, length);
        CHECK_EQ_MEM(got, want, LENGTH);
        memset(got, 0xa5, LENGTH);
        memset(want + length, 0xa5, LENGTH - length);
        bale_round_piece(&field, offset, got, raw, length);
        CHECK_EQ_MEM(got, want, LENGTH);
    }
}

/* A file rounded piece by piece, where pieces begin at multiples of 4096, is the file rounded. */
static void test_split(void)
{
    static uint8_t once[LENGTH], parts[LENGTH];
    const struct bale_field field = field_of(BALE_FIELD_F32, 7, false);
    uint64_t state = 8;

    data_random(&state, once, LENGTH);
    memcpy(parts, once, LENGTH);
    bale_round_piece(&field, 0, once, once, LENGTH);
    for (size_t at = 0; at < LENGTH; at += 4096)
        bale_round_piece(&field, at, parts + at, parts + at,
                         LENGTH - at < 4096 ? LENGTH - at : 4096);
    CHECK_EQ_MEM(parts, once, LENGTH);
}

static const char *resolve(const struct bale_field *said, const uint8_t *begin, size_t length)
{
    struct bale_field field;
    const char *what = bale_round_resolve(said, begin, length, &field);

    CHECK(what ? field.type == BALE_FIELD_NONE : bale_field_equal(&field, said));
    return what;
}

static void refuses(const char *want, const char *begin, size_t length, size_t at)
{
    const struct bale_field field = field_of(BALE_FIELD_F32, 0, false);
    uint8_t file[BALE_ROUND_BEGIN] = {0, 1, 2};
    const char *found;

    memcpy(file + at, begin, length);
    CHECK_EQ_STR(resolve(&field, file, sizeof file), want);
    found = resolve(&field, file, at + length - 1);
    CHECK(!found || strcmp(found, "text") == 0);
}

static void test_refused(void)
{
    const struct bale_field plain = field_of(BALE_FIELD_F32, 0, false);
    const struct bale_field behind = field_of(BALE_FIELD_F32, 128, false);
    const struct bale_field turned = field_of(BALE_FIELD_F32, 0, true);
    uint8_t file[BALE_ROUND_BEGIN];
    uint64_t state = 2;

    for (size_t at = 0; at <= 2048; at = at ? 2 * at : 512)
        refuses("HDF5", "\x89HDF\r\n\x1a\n", 8, at);
    refuses("NetCDF", "CDF\x02", 4, 0);
    refuses("zip", "PK\x03\x04", 4, 0);
    refuses("gzip", "\x1f\x8b\x08", 3, 0);
    refuses("tar", "ustar", 5, 257);
    refuses("ELF", "\177ELF", 4, 0);
    refuses("NumPy", "\x93NUMPY", 6, 0);
    refuses("FITS", "SIMPLE  =", 9, 0);
    refuses("VTK", "# vtk DataFile", 14, 0);
    refuses("SQLite", "SQLite format 3", 16, 0);
    refuses("PNG", "\x89PNG\r\n\x1a\n", 8, 0);
    refuses("TIFF", "MM\0*", 4, 0);
    refuses("TIFF", "II+\0", 4, 0);
    refuses("Fortran's records", "\4\0\0\0\1\2\3\4\4\0\0\0", 12, 0);
    CHECK_EQ_STR(resolve(&turned, (const uint8_t *)"\0\0\0\4\1\2\3\4\0\0\0\4", 12),
                 "Fortran's records");
    CHECK(resolve(&turned, (const uint8_t *)"\4\0\0\0\1\2\3\4\4\0\0\0", 12) == NULL);
    CHECK_EQ_STR(resolve(&plain, (const uint8_t *)"1.5 2.5\n3 \xe2\x82", 12), "text");
    CHECK(resolve(&behind, (const uint8_t *)"\x93NUMPY\1\0", 8) == NULL);
    CHECK(resolve(&behind, (const uint8_t *)"# vtk DataFile\1", 15) == NULL);
    CHECK_EQ_STR(resolve(&behind, (const uint8_t *)"PK\x03\x04", 4), "zip");
    CHECK(resolve(&plain, (const uint8_t *)"\0\0\x80?\0\0\0@", 8) == NULL);
    CHECK(resolve(&plain, file, 0) == NULL);
    for (size_t at = 0; at < sizeof file; at += 4)
        memcpy(file + at, "333?", 4); /* 0.7 */
    CHECK(resolve(&plain, file, sizeof file) == NULL);
    memcpy(file + 2000, "text", 4);
    CHECK_EQ_STR(resolve(&plain, file, sizeof file), "text");
    for (int n = 0; n < 100; n++) {
        data_field(&state, file, sizeof file);
        CHECK(resolve(&plain, file, sizeof file) == NULL);
    }
}

/* HDF5 behind a user block of 4096 bytes or more is found in the piece that has its signature as a
 * whole. */
static void test_user_blocks(void)
{
    const struct bale_field plain = field_of(BALE_FIELD_F32, 0, false);
    const struct bale_field npy = field_of(BALE_FIELD_NPY, 0, false);
    const char what[] = "HDF5 behind a user block";
    static uint8_t file[70000];

    for (size_t block = 4096; block <= 65536; block *= 2) {
        memset(file, 0, sizeof file);
        memcpy(file + block, "\x89HDF\r\n\x1a\n", 8);
        CHECK_EQ_STR(bale_round_resolve_piece(&plain, 0, file, sizeof file), what);
        CHECK_EQ_STR(bale_round_resolve_piece(&plain, 0, file, block + 8), what);
        CHECK(!bale_round_resolve_piece(&plain, 0, file, block + 7));
        CHECK_EQ_STR(bale_round_resolve_piece(&plain, block, file + block, 8), what);
        CHECK(!bale_round_resolve_piece(&plain, block + 1, file + block + 1, 4096));
        CHECK(!bale_round_resolve_piece(&plain, block + 512, file + block,
                                        512)); /* no power of two */
        CHECK(!bale_round_resolve_piece(&npy, 0, file, sizeof file));
    }
}

/* What is written in two parts is rounded as in one, but for the elements of a signature that is split
 * between them; what only looks like a part of one is rounded where it is a whole one, too. */
static void test_written(void)
{
    enum { BLOCK = 8192 };
    static const struct bale_field fields[] = {{.type = BALE_FIELD_F32},
                                               {.type = BALE_FIELD_F32, .offset = 3},
                                               {.type = BALE_FIELD_F64},
                                               {.type = BALE_FIELD_F64, .offset = 4}};
    static uint8_t raw[3 * BLOCK], once[3 * BLOCK], parts[3 * BLOCK];
    const double step = 1;
    uint64_t state = 4;

    for (int n = 0; n < 4 * 2 * 9; n++) {
        struct bale_field field = fields[n % 4];
        const size_t split = (size_t)(BLOCK + n / 8);
        memcpy(&field.step, &step, sizeof step);
        data_field(&state, raw, sizeof raw);
        if (n / 4 % 2)
            memcpy(raw + BLOCK, "\x89HDF\r\n\x1a\n", 8);
        bale_round_piece(&field, 0, once, raw, split);
        bale_round_piece(&field, split, once + split, raw + split, sizeof raw - split);
        bale_round_written(&field, 0, parts, raw, split);
        bale_round_written(&field, split, parts + split, raw + split, sizeof raw - split);
        if (n / 4 % 2 && split > BLOCK && split < BLOCK + 8) {
            CHECK_EQ_MEM(parts + BLOCK, raw + BLOCK, 8);
            CHECK_EQ_MEM(parts + BLOCK + 16, once + BLOCK + 16, sizeof raw - BLOCK - 16);
            CHECK_EQ_MEM(parts, once, BLOCK);
        } else {
            CHECK_EQ_MEM(parts, once, sizeof raw);
        }
    }
}

static void test_places(void)
{
    CHECK_EQ_U(bale_round_place(0), 4096);
    CHECK_EQ_U(bale_round_place(4096), 4096);
    CHECK_EQ_U(bale_round_place(4097), 8192);
    CHECK_EQ_U(bale_round_place((uint64_t)1 << 63), (uint64_t)1 << 63);
    CHECK_EQ_U(bale_round_place(((uint64_t)1 << 63) + 1), UINT64_MAX);
    CHECK_EQ_U(bale_round_place(UINT64_MAX), UINT64_MAX);
}

/* Without a step, or of another type, nothing is rounded. */
static void test_lossless(void)
{
    struct bale_field field = field_of(BALE_FIELD_I32, 0, false);
    uint8_t bytes[64], same[64];
    uint64_t state = 6;

    data_random(&state, bytes, sizeof bytes);
    memcpy(same, bytes, sizeof bytes);
    bale_round_piece(&field, 0, bytes, bytes, sizeof bytes);
    field = field_of(BALE_FIELD_F32, 0, false);
    field.step = 0;
    bale_round_piece(&field, 0, bytes, bytes, sizeof bytes);
    CHECK_EQ_MEM(bytes, same, sizeof bytes);
}

int main(void)
{
    test_pieces();
    test_split();
    test_refused();
    test_user_blocks();
    test_written();
    test_places();
    test_lossless();
    return check_result();
}
