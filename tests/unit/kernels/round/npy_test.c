/* Headers of NumPy's format, as NumPy writes them and as it does not. */
#include "kernels/round/npy.h"
#include "kernels/round/piece.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

/* A file of that version whose header has that text. Returns the header's length. */
static size_t make(uint8_t *file, int version, const char *text)
{
    size_t at = version == 1 ? 10 : 12, length = strlen(text);

    memset(file, 7, BALE_ROUND_BEGIN);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (uint8_t)version;
    file[7] = 0;
    file[8] = (uint8_t)length;
    file[9] = (uint8_t)(length >> 8);
    if (version > 1)
        file[10] = file[11] = 0;
    memcpy(file + at, text, length);
    return at + length;
}

/* bytes: of the array; UINT64_MAX: more than a file can have. */
static void reads(const char *text, uint64_t bytes, struct bale_field want)
{
    uint8_t file[BALE_ROUND_BEGIN];

    for (int version = 1; version <= 3; version++) {
        struct bale_field said = {.type = BALE_FIELD_NPY, .step = 9, .pipeline = 1}, found;
        size_t length = make(file, version, text);

        want.offset = length;
        want.end = bytes == UINT64_MAX ? 0 : length + bytes;
        want.step = 9;
        want.pipeline = 1;
        CHECK(bale_round_resolve(&said, file, sizeof file, &found) == NULL);
        CHECK(bale_field_equal(&found, &want));
        CHECK(bale_npy_read(file, length, &said));
        for (size_t less = 0; less < length; less++) {
            struct bale_field same = want;
            CHECK(!bale_npy_read(file, less, &same));
            CHECK(bale_field_equal(&same, &want));
        }
    }
}

static void refuses(const char *text)
{
    const struct bale_field said = {.type = BALE_FIELD_NPY, .step = 9};
    struct bale_field found;
    uint8_t file[BALE_ROUND_BEGIN];

    make(file, 1, text);
    CHECK_EQ_STR(bale_round_resolve(&said, file, sizeof file, &found),
                 "no NumPy array of f32 or f64");
    CHECK(found.type == BALE_FIELD_NONE);
}

static void test_headers(void)
{
    reads("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5, 7), }   \n", 420,
          (struct bale_field){.type = BALE_FIELD_F32, .dims = {7, 5, 3}});
    reads("{'descr': '>f8', 'fortran_order': True, 'shape': (3, 5, 7), }\n", 840,
          (struct bale_field){.type = BALE_FIELD_F64, .big_endian = true, .dims = {3, 5, 7}});
    reads("{'shape': (100,), 'fortran_order': False, 'descr': '>f4'}", 400,
          (struct bale_field){.type = BALE_FIELD_F32, .big_endian = true, .dims = {100}});
    reads("{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", 8,
          (struct bale_field){.type = BALE_FIELD_F64});
    reads("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 4, 5, 6), }\n", 5760,
          (struct bale_field){.type = BALE_FIELD_F64, .dims = {6, 5, 24}});
    reads("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 0), }\n", 0,
          (struct bale_field){.type = BALE_FIELD_F64});
    reads("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n",
          UINT64_MAX, (struct bale_field){.type = BALE_FIELD_F32});
}

static void test_refused(void)
{
    uint8_t file[BALE_ROUND_BEGIN];
    const struct bale_field said = {.type = BALE_FIELD_NPY, .step = 9};
    struct bale_field found;
    uint64_t state = 3;

    refuses("{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }\n");
    refuses("{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }\n");
    refuses("{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }\n");
    refuses("{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (3,), }\n");
    refuses("{'descr': '<f4', 'fortran_order': False, }\n");
    refuses("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n");
    refuses("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,), }\n");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (3 4), }\n");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }\n");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}\n");
    refuses("");
    refuses("{");
    make(file, 4, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n");
    CHECK(bale_round_resolve(&said, file, sizeof file, &found) != NULL);
    memset(file, 0, sizeof file);
    CHECK(bale_round_resolve(&said, file, sizeof file, &found) != NULL);
    CHECK(bale_round_resolve(&said, file, 0, &found) != NULL);
    for (unsigned n = 0; n < 20000; n++) { /* no access outside, whatever is there */
        size_t length =
            make(file, 1 + (int)(n % 3), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}");
        file[8 + data_next(&state) % (length - 8)] = (uint8_t)data_next(&state);
        uint8_t *copy = malloc(length);
        memcpy(copy, file, length);
        (void)bale_round_resolve(&said, copy, length, &found);
        free(copy);
    }
}

int main(void)
{
    test_headers();
    test_refused();
    return check_result();
}
