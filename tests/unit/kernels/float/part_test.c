/* The extent part where rows are interpolated (kernels/float/spec.md): every rule of it. */
#include <string.h>

#include "format/err.h"
#include "kernels/float/float.h"
#include "tests/check.h"

static struct float_layout part_layout(void)
{
    return (struct float_layout){.size_log2 = 2,
                                 .is_float = true,
                                 .exponent = 130,
                                 .orders = {2, 1},
                                 .strides = {1, 300},
                                 .interpolated = true,
                                 .details = {1, 2}};
}

static void check_refused(const uint8_t *part, uint32_t length)
{
    struct float_layout read;

    CHECK_EQ(float_part_read((struct bale_extent_part){part, length}, &read), BALE_E_CORRUPT);
}

/* Any orders and details, with and without a row and a plane. */
static void check_part(uint8_t orders, uint8_t details, bool row, bool plane)
{
    const uint8_t part[FLOAT_PART_MAX] = {6, 0, 130, 0, row,   0,      0,
                                          0, 0, 0,   0, plane, orders, details};
    const bool good = row && !plane && (orders & 7) <= 4 && (orders >> 3 & 7) <= 2 &&
                      orders >> 6 == 0 && (details & 3) <= 2 && details >> 2 <= 2;
    uint8_t again[FLOAT_PART_MAX];
    struct float_layout read;

    if (!good) {
        check_refused(part, FLOAT_PART_MAX);
        return;
    }
    REQUIRE(float_part_read((struct bale_extent_part){part, FLOAT_PART_MAX}, &read) == BALE_OK);
    CHECK(read.interpolated);
    CHECK_EQ(read.details[0], details & 3);
    CHECK_EQ(read.details[1], details >> 2);
    CHECK_EQ_U(float_part_write(&read, again), FLOAT_PART_MAX);
    CHECK_EQ_MEM(again, part, FLOAT_PART_MAX);
}

static void test_parts(void)
{
    for (unsigned orders = 0; orders < 256; orders++)
        for (unsigned details = 0; details < 256; details++)
            for (unsigned bits = 0; bits < 4; bits++)
                check_part((uint8_t)orders, (uint8_t)details, bits & 1, bits >> 1);
}

static void test_lengths_of_parts(void)
{
    struct float_layout layout = part_layout(), read;
    uint8_t part[FLOAT_PART_MAX + 1] = {0};

    CHECK_EQ_U(float_part_write(&layout, part), FLOAT_PART_MAX);
    CHECK_EQ(float_part_read((struct bale_extent_part){part, FLOAT_PART_MAX}, &read), BALE_OK);
    check_refused(part, FLOAT_PART - 1);
    check_refused(part, FLOAT_PART_MAX + 1);
    CHECK_EQ(float_part_read((struct bale_extent_part){part, FLOAT_PART}, &read), BALE_OK);
    CHECK(!read.interpolated && read.details[0] == 0 && read.details[1] == 0);
    layout.strides[1] = FLOAT_STRIDE_MAX;
    float_part_write(&layout, part);
    CHECK_EQ(float_part_read((struct bale_extent_part){part, FLOAT_PART_MAX}, &read), BALE_OK);
    layout.strides[1]++;
    float_part_write(&layout, part);
    check_refused(part, FLOAT_PART_MAX);
    layout = part_layout(), layout.interpolated = false;
    CHECK_EQ_U(float_part_write(&layout, part), FLOAT_PART);
}

int main(void)
{
    test_parts();
    test_lengths_of_parts();
    return check_result();
}
