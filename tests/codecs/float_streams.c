/* Streams of float, made by hand: good ones, and each that breaks a rule (kernels/float/spec.md). */
#include "tests/codecs/streams.h"

#include "tests/codecs/bytes.h"

enum { PART = 13, PART_INTERPOLATED, RAW_MAX = 400 };

struct stream {
    uint8_t part[PART_INTERPOLATED + 1];
    uint32_t part_length;
    struct codec_bytes b;
    uint8_t raw[RAW_MAX + 1];
    uint32_t raw_length;
};

/* spec.md's first example: i16 from byte 1 on, 1000, 1003, 1006, ... with second differences. */
static struct stream ramp(void)
{
    static const uint8_t part[PART] = {0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    static const uint8_t stored[] = {
        0xaa, 0xbb,       /* what is no whole element */
        0xcb, 0x00,       /* headers: width 11, deltas of 3 bits; 0 */
        0xfe, 0xfe, 0xfe, /* deltas of 7, but for the first group */
        0x00, 0x02, 0x02, 0x00, 0x01, 0x00, 0x01, 0x01, 0x01, 0x01, 0x01, /* 2000, 6, 0, ... */
        0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0, 0, 0,
        0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0, 0, 0,
    };
    struct stream s = {.part_length = PART, .raw_length = 142};

    memcpy(s.part, part, PART);
    bytes_add(&s.b, stored, sizeof stored);
    s.raw[0] = 0xaa;
    for (unsigned i = 0; i < 70; i++)
        bytes_put_element(1000 + 3 * i, 2, false, s.raw + 1 + (size_t)2 * i);
    s.raw[141] = 0xbb;
    return s;
}

/* The second: f32 with a fixed point at E = 128, and one element of each zone. */
static struct stream zones(void)
{
    static const uint8_t part[PART] = {0x06, 0, 0x80};
    static const uint32_t patterns[8] = {0x40000000, 0x3fc00001, 0xbf800002, 0x40800000,
                                         0,          0x80000000, 0x2f000005, 0xaf000006};
    static const uint8_t head[] = {
        0xda, 0x0e, 0x0e, 0x0e, /* 26 bits, and 19 of the zeros */
        0xa4, 0xc4, 0,    0,    0, 0, 0, 0, 0, 0,    0,    0,    0,
        0,    0,    0,    0,    0, 0, 0, 0, 0, 0x02, 0x06, 0x01, 0x08,
    };
    static const uint8_t zeros[3 * 19];
    static const uint8_t bits[] = {0x15, 0, 0, 0xbc, 0x06, 0, 0, 0x2f}; /* 1, 1, 30 and 30 */
    struct stream s = {.part_length = PART, .raw_length = 128};

    memcpy(s.part, part, PART);
    for (unsigned i = 0; i < 8; i++)
        bytes_put_element(patterns[i], 4, false, s.raw + (size_t)4 * i);
    bytes_add(&s.b, head, sizeof head);
    bytes_add(&s.b, zeros, sizeof zeros);
    bytes_add(&s.b, bits, sizeof bits);
    return s;
}

/* f32 that are tenths: 1.5, 2, -0.25, 0, a NaN, 0.1, -0.1 and zeros. */
static struct stream tenths(void)
{
    static const uint8_t part[PART] = {0x06, 0, 0x01, 0x80};
    static const uint32_t patterns[7] = {0x3fc00000, 0x40000000, 0xbe800000, 0,
                                         0x7fc00001, 0x3dcccccd, 0xbdcccccd};
    static const uint8_t stored[] = {
        0xc6, 0x00, 0xfe, 0xfe,                         /* 6 bits, and none of the zeros */
        0x40, 0x21, 0x01, 0x07, 0x01, 0x06,             /* 15, 20, 20, 0, 0, 1, -1, 0 */
        2,    0,    0,    0,    0,    0,    0x80, 0xbe, /* exceptions */
        4,    0,    0,    0,    1,    0,    0xc0, 0x7f,
    };
    struct stream s = {.part_length = PART, .raw_length = 256};

    memcpy(s.part, part, PART);
    for (unsigned i = 0; i < 7; i++)
        bytes_put_element(patterns[i], 4, false, s.raw + (size_t)4 * i);
    bytes_add(&s.b, stored, sizeof stored);
    return s;
}

/* i16 in planes of 3 rows of 3, with an order along each axis. */
static struct stream planes(void)
{
    static const uint8_t part[PART] = {0x01, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 1 | 2 << 3 | 1 << 6};
    static const uint8_t stored[] = {
        0x86, 0xfd, 0xfc, 0x08, 0x1d, 0x08, 0x06, 0x40, 0x0f, 0x56, 0x0a,
        0x66, 0x10, 0x02, 0x52, 0x40, 0x0c, 0xa9, 0x20, 0x06, 0x54, 0x10,
        0x83, 0x2a, 0x08, 0xc1, 0x95, 0x04, 0x60, 0x0a, 0x02, 0x00,
    };
    struct stream s = {.part_length = PART, .raw_length = 120};

    memcpy(s.part, part, PART);
    bytes_add(&s.b, stored, sizeof stored);
    for (unsigned i = 0; i < 60; i++)
        bytes_put_element(i % 3 * 5 + (i / 3 % 3) * (i / 3 % 3) * 7 + i / 9 * 40 + (i % 7 == 0), 2,
                          false, s.raw + (size_t)2 * i);
    return s;
}

/* The third: i32, each with a length of its own, in a short block. */
static struct stream singles(void)
{
    enum { ELEMENTS = 62, LOW_BITS = 98 };
    static const uint8_t part[PART] = {0x82};
    static const int32_t elements[8] = {100000, -40000, 20000, 10000, 5000, 2500, 1, 0};
    static const uint8_t head[] = {
        0x12, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xea, /* 18 bits; classes 0 to 7 */
        0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,       /* again and again */
        0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0,
    };
    static const struct {
        uint32_t low, bits;
    } numbers[8] = {{200000 - (1 << 17), 17},
                    {79999 - (1 << 16), 16},
                    {40000 - (1 << 15), 15},
                    {20000 - (1 << 14), 14},
                    {10000 - (1 << 13), 13},
                    {5000 - (1 << 12), 12},
                    {2, 12},
                    {0, 0}};
    struct stream s = {.part_length = PART, .raw_length = 4 * ELEMENTS};
    uint32_t at = 0;

    memcpy(s.part, part, PART);
    bytes_add(&s.b, head, sizeof head);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        bytes_put_element((uint32_t)elements[i % 8], 4, false, s.raw + (size_t)4 * i);
        for (uint32_t k = 0; k < numbers[i % 8].bits; k++, at++)
            s.b.data[sizeof head + at / 8] |= (uint8_t)((numbers[i % 8].low >> k & 1) << at % 8);
    }
    s.b.length += LOW_BITS;
    return s;
}

/* The fifth: i32 in interpolated rows of 4, the last one shorter. */
static struct stream interpolated(void)
{
    enum { ELEMENTS = 30 };
    static const uint8_t part[PART_INTERPOLATED] = {0x02, 0, 0, 0, 4, 0,          0,
                                                    0,    0, 0, 0, 0, 2 | 1 << 3, 1 << 2};
    static const uint8_t stored[] = {
        0x8a, 0x06, 0x03,                                           /* 10 bits, and 7, 9, 10 */
        0x00, 0xd2, 0x2e, 0xff, 0x0c, 0x00, 0x01,                   /* 100, 7, 14, 14, 5, ... */
        0x01, 0xb1, 0x09, 0x01, 0x00, 0x01, 0x01, 0x01,             /* -60, 0, 0, 1, -1, ... */
        0xf0, 0x00, 0xf0, 0xf2, 0x02, 0x00, 0x01, 0x00, 0x01,       /* 160, 12, 0, 0, -7, ... */
        0x04, 0x32, 0x20, 0x11, 0x01, 0x00, 0x31, 0x00, 0x00, 0x01, /* 300, 1, -1, 0, 37, 35 */
    };
    struct stream s = {.part_length = PART_INTERPOLATED, .raw_length = 4 * ELEMENTS};

    memcpy(s.part, part, sizeof part);
    bytes_add(&s.b, stored, sizeof stored);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        const unsigned x = i % 4, y = i / 4;
        bytes_put_element(100 + y * y * y * 10 / 4 + 7 * x * x + 3 * x * y + (x * y % 5 == 1), 4,
                          false, s.raw + (size_t)4 * i);
    }
    return s;
}

/* Interpolated rows of 8 whose elements are so far apart that predictions are modulo 2^16. */
static struct stream far_apart(void)
{
    enum { ELEMENTS = 60 };
    static const uint8_t part[PART_INTERPOLATED] = {0x01, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2 << 3};
    static const int16_t elements[ELEMENTS] = {
        32767,  -32768, 30000,  -30000, 12345,  -23456, -1,     0,     32729,  32752,
        31640,  -31146, 4270,   -28943, 15,     -25,    32750,  32767, -32252, -32286,
        -3828,  31056,  -18,    -1,     32734,  -32767, -30597, 32118, -11894, 25512,
        2,      -26,    -32768, 32767,  -29000, 31000,  -20000, 20000, 0,      -1,
        32741,  -32748, -27359, 29848,  -28056, 14496,  -9,     -25,   32755,  -32766,
        -25712, 28718,  29367,  8980,   -13,    2,      32712,  32748, -24079, 27540,
    };
    static const uint8_t stored[] = {
        0xd0, 0xee, 0xee, 0xee, 0x6a, 0x3b, 0x2b, 0x2b, 0x3b, 0x37, 0x1f, 0x03, 0x23, 0x2f, 0x23,
        0x0f, 0x23, 0x3f, 0x1f, 0x2f, 0x87, 0x52, 0x1e, 0x66, 0xd3, 0xe1, 0x00, 0x00, 0x00, 0xdb,
        0x49, 0x00, 0x00, 0x00, 0x6d, 0x00, 0x00, 0x00, 0xa9, 0x64, 0x6a, 0x3c, 0xe5, 0x95, 0x00,
        0x00, 0x00, 0xba, 0x69, 0x28, 0x28, 0x34, 0x38, 0x28, 0x10, 0x0c, 0x0c, 0x30, 0x30, 0x14,
        0x3c, 0x10, 0x30, 0xc9, 0x38, 0x6c, 0x5a, 0xb9, 0x93, 0x00, 0x00, 0x00, 0x49, 0xdb, 0x92,
        0x6d, 0x49, 0x24, 0x00, 0x00, 0x00, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x0f, 0x00, 0x00, 0x00,
    };
    struct stream s = {.part_length = PART_INTERPOLATED, .raw_length = 2 * ELEMENTS};

    memcpy(s.part, part, sizeof part);
    bytes_add(&s.b, stored, sizeof stored);
    for (unsigned i = 0; i < ELEMENTS; i++)
        bytes_put_element((uint16_t)elements[i], 2, false, s.raw + (size_t)2 * i);
    return s;
}

static void show(codec_stream_visit *visit, void *arg, bool good, const char *name,
                 const char *what, const struct stream *s)
{
    const struct codec_stream stream = {.name = name,
                                        .what = what,
                                        .good = good,
                                        .part = s->part,
                                        .part_length = s->part_length,
                                        .stored = s->b.data,
                                        .length = s->b.length,
                                        .raw = s->raw,
                                        .raw_length = s->raw_length};

    visit(arg, &stream);
}

/* A byte of a good stream's part becomes another. */
struct part_harm {
    uint8_t at, value;
    const char *name, *what;
};

/* Shows the stream that make returns with a byte of its part harmed, for each of the harms. */
static void show_harms(codec_stream_visit *visit, void *arg, struct stream (*make)(void),
                       const struct part_harm *harms, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct stream s = make();
        s.part[harms[i].at] = harms[i].value;
        show(visit, arg, false, harms[i].name, harms[i].what, &s);
    }
}

static void bad_parts(codec_stream_visit *visit, void *arg)
{
    static const struct part_harm harms[] = {
        {0, 0x10, "size", "elements of one byte"},
        {0, 0x91, "singles-short", "singles of elements of two bytes"},
        {0, 0x21, "lead", "two bytes before elements of two"},
        {1, 16, "shift", "a shift of all bits"},
        {2, 5, "integer-exponent", "a fixed point of integers"},
        {4, 40, "row-unused", "a row length without an order"},
        {8, 40, "plane-unused", "a plane without an order"},
        {12, 5, "order-x", "an order of 5 along x"},
        {12, 2 | 1 << 3, "row-missing", "an order between rows without their length"},
        {12, 2 | 1 << 6, "plane-missing", "an order between planes without their length"},
    };
    static const struct part_harm of_floats[] = {
        {1, 21, "mantissa", "a fixed point with two bits of mantissa"},
        {3, 1, "exponent", "an exponent that f32 does not have"},
    };
    struct stream s;

    show_harms(visit, arg, ramp, harms, sizeof harms / sizeof harms[0]);
    show_harms(visit, arg, zones, of_floats, sizeof of_floats / sizeof of_floats[0]);
    s = zones();
    s.part[0] = 0x06 & 0x04, s.part[2] = 0, s.part[1] = 0;
    show(visit, arg, false, "float-size", "floats of one byte", &s);
    s = zones();
    s.part[2] = 0, s.part[1] = 24;
    show(visit, arg, false, "float-shift", "a shift of more than the mantissa", &s);
    s = ramp();
    s.part[12] = 2 | 5 << 3, s.part[4] = 8;
    show(visit, arg, false, "order-y", "an order of 5 between rows", &s);
    s.part[12] = 2 | 1 << 3, s.part[4] = 1, s.part[7] = 4;
    show(visit, arg, false, "row-long", "a row of more than 2^26 elements", &s);
    s = ramp();
    s.part_length--;
    show(visit, arg, false, "part-less", "a part of 12 bytes", &s);
    s.part_length += 2;
    show(visit, arg, false, "part-more", "interpolated rows without their length", &s);
    s.part_length = 0;
    show(visit, arg, false, "part-missing", "the part is missing", &s);
}

static void bad_interpolated(codec_stream_visit *visit, void *arg)
{
    enum { ROW = 4, PLANE = 8, ORDERS = 12, DETAILS };
    static const struct part_harm harms[] = {
        {PLANE, 12, "interpolated-plane", "a plane's length with interpolated rows"},
        {ORDERS, 2 | 3 << 3, "interpolated-order-y", "an order of 3 between interpolated rows"},
        {DETAILS, 3, "details-odd", "an order of 3 along x of odd rows"},
        {DETAILS, 3 << 2, "details-between", "an order of 3 along x of rows between others"},
        {DETAILS, 1 << 4, "details-more", "a bit behind the details"},
        {ROW + 3, 5, "interpolated-long", "interpolated rows of more than 2^26 elements"},
    };
    struct stream s = interpolated();

    show_harms(visit, arg, interpolated, harms, sizeof harms / sizeof harms[0]);
    s.part[ORDERS] |= 1 << 6, s.part[PLANE] = 12;
    show(visit, arg, false, "interpolated-planes", "an order between planes with them", &s);
    s = interpolated();
    s.part_length++;
    show(visit, arg, false, "part-long", "a part of 15 bytes", &s);
    s.part_length = PART - 1;
    show(visit, arg, false, "part-short", "12 bytes of the part of interpolated rows", &s);
}

static void bad_chunks(codec_stream_visit *visit, void *arg)
{
    enum { HEADERS = 2, DELTAS = 4 };
    struct stream s = ramp();

    s.b.data[HEADERS + 1] = 17;
    show(visit, arg, false, "width", "17 bits of elements that have 16", &s);
    s = ramp();
    s.b.data[HEADERS] = 0xc6;
    show(visit, arg, false, "delta", "a delta above the width", &s);
    s = ramp();
    s.b.data[HEADERS + 1] = 0x41, s.b.data[DELTAS + 3] = 2;
    show(visit, arg, false, "delta-missing", "a delta of a group that is not there", &s);
    s = ramp();
    s.b.data[HEADERS + 1] = 1;
    show(visit, arg, false, "planes-cut", "planes behind the end", &s);
    s = ramp();
    s.b.data[DELTAS] = 0xff;
    show(visit, arg, false, "bits-unused", "a byte behind the planes, without a fixed point", &s);
    s = ramp();
    s.b.length = HEADERS + 3;
    show(visit, arg, false, "deltas-cut", "deltas behind the end", &s);
    s.b.length = HEADERS + 1;
    show(visit, arg, false, "headers-cut", "headers behind the end", &s);
    s.b.length = 1;
    show(visit, arg, false, "ends-cut", "what is no whole element is behind the end", &s);
    s = zones();
    s.b.data[s.b.length - 1] |= 0x40;
    show(visit, arg, false, "spare", "a spare bit behind the raw bits", &s);
    s = zones();
    s.b.length--;
    show(visit, arg, false, "bits-cut", "raw bits behind the end", &s);
}

static void bad_decimals(codec_stream_visit *visit, void *arg)
{
    enum { EXCEPTIONS = 10, EACH = 8 };
    static const struct part_harm harms[] = {
        {0, 0x05, "decimal-half", "decimals of two bytes"},
        {0, 0x02, "decimal-integer", "decimals of integers"},
        {1, 1, "decimal-shift", "decimals with a shift"},
        {2, 11, "decimal-digits", "11 digits of f32"},
    };
    struct stream s;

    show_harms(visit, arg, tenths, harms, sizeof harms / sizeof harms[0]);
    s = tenths();
    s.b.data[EXCEPTIONS + EACH] = 2;
    show(visit, arg, false, "exception-twice", "an element that is an exception twice", &s);
    s = tenths();
    s.b.data[EXCEPTIONS + EACH] = 64;
    show(visit, arg, false, "exception-behind", "an exception behind the last element", &s);
    s = tenths();
    s.b.length--;
    show(visit, arg, false, "exception-cut", "an exception without its last byte", &s);
}

static void bad_singles(codec_stream_visit *visit, void *arg)
{
    enum { CLASSES = 1, LAST = 7, EACH = 8 };
    struct stream s = singles();

    for (unsigned i = 0; i < 3; i++) {
        static const char *const names[] = {"class-low", "class-middle", "class-high"};
        s = singles();
        s.b.data[CLASSES + EACH * i + LAST] &= 0x7f;
        show(visit, arg, false, names[i], "a class of an element that is not there", &s);
    }
    s = singles();
    s.b.data[0] = 33;
    show(visit, arg, false, "singles-width", "33 bits of singles that have 32", &s);
    s = singles();
    s.b.data[CLASSES] ^= 1; /* an element of class 0 becomes one of class 1: a bit less */
    s.b.data[CLASSES + 1] ^= 1, s.b.data[CLASSES + 2] ^= 1, s.b.data[CLASSES + 3] ^= 1;
    show(visit, arg, false, "singles-behind", "a byte behind the low bits", &s);
    s = singles();
    s.b.data[0]++;
    show(visit, arg, false, "singles-cut", "low bits behind the end", &s);
    s = singles();
    s.b.length = CLASSES + 3 * EACH - 1;
    show(visit, arg, false, "classes-cut", "classes behind the end", &s);
    s = singles();
    s.part[0] = 0x02;
    show(visit, arg, false, "singles-unsaid", "singles, where the part has none", &s);
}

void float_streams(codec_stream_visit *visit, void *arg)
{
    const struct stream first = ramp(), second = zones(), third = planes(), fourth = tenths(),
                        fifth = singles(), sixth = interpolated(), seventh = far_apart();

    show(visit, arg, true, "ramp-by-hand", "i16 from byte 1 on, second differences", &first);
    show(visit, arg, true, "zones-by-hand", "f32 with a fixed point, each zone", &second);
    show(visit, arg, true, "planes-by-hand", "i16 in planes, a short group", &third);
    show(visit, arg, true, "tenths-by-hand", "f32 that are tenths, two exceptions", &fourth);
    show(visit, arg, true, "singles-by-hand", "i32, each with a length of its own", &fifth);
    show(visit, arg, true, "interpolated-by-hand", "i32 in interpolated rows", &sixth);
    show(visit, arg, true, "far-apart-by-hand", "interpolated rows, modulo 2^16", &seventh);
    bad_parts(visit, arg);
    bad_interpolated(visit, arg);
    bad_chunks(visit, arg);
    bad_decimals(visit, arg);
    bad_singles(visit, arg);
}
