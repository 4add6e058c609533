/* The vectors of codecs gpulz and culzss. */
#include <stdio.h>

#include "format/frame.h"
#include "tests/vectors/craft.h"
#include "tests/vectors/craft_stored.h"
#include "tests/vectors/generate.h"

/* Few different numbers of eight bytes. */
static void fill_numbers(size_t from, size_t to)
{
    uint32_t state = 3;

    for (size_t i = from; i < to; i++) {
        state = state * 1664525u + 1013904223u;
        raw[i] = (uint8_t)(i % 8 == 0 ? (state >> 8) % 50 : i % 8 == 4 ? raw[i - 4] / 8 : 0);
    }
}

static void good_gpulz(void)
{
    fill_text(0, RAW_MAX);
    emit_good("good-gpulz-1", encode("gpulz:s=1", 70000, 16), 70000,
              "bytes, two chunks, the largest window");
    emit_good("good-gpulz-level-1", encode("gpulz:s=1,w=32,c=2048", 20000, 12), 20000,
              "bytes, the smallest window and pieces");
    fill_numbers(0, RAW_MAX);
    emit_good("good-gpulz-2", encode("gpulz:s=2,w=128,c=2048", 20001, 13), 20001,
              "symbols of two bytes, and one byte behind them");
    emit_good("good-gpulz-4", encode("gpulz:s=4,c=65536", 69999, 16), 69999,
              "symbols of four bytes, and three behind them");
    emit_good("good-gpulz-8", encode("gpulz:s=8,w=255,c=8192", 20007, 14), 20007,
              "symbols of eight bytes, and seven behind them");
    emit_good("good-gpulz-adaptive", encode("gpulz:w=200", 20000, 14), 20000,
              "the size of symbols follows from the bytes");
    fill_random(4096, 8192);
    emit_good("good-gpulz-mixed", encode("gpulz:s=4", 12000, 12), 12000,
              "the second chunk is stored raw");
}

static void good_culzss(void)
{
    fill_text(0, RAW_MAX);
    emit_good("good-culzss-1", encode("culzss:v=1", 70000, 16), 70000,
              "version 1, two chunks, the last piece shorter");
    emit_good("good-culzss-2", encode("culzss:v=2", 70000, 16), 70000,
              "version 2, two chunks, the last piece shorter");
    memset(raw, 'x', 20000);
    raw[0] = 'y';
    emit_good("good-culzss-longest", encode("culzss:v=2", 20000, 14), 20000,
              "pointers of the greatest length");
    fill_numbers(0, RAW_MAX);
    fill_random(4096, 8192);
    emit_good("good-culzss-mixed", encode("culzss:v=1", 12000, 12), 12000,
              "the second chunk is stored raw");
}

/* A codec whose parameter makes symbols bytes. */
struct codec {
    const char *name;
    uint8_t id;
    uint16_t parameter;
    uint8_t window;
};

/* Literals "abc", a pointer of 9 symbols, literal "d": the example of both specifications. */
static struct craft_bytes plain(void)
{
    static const uint8_t stored[] = {4, 0, 0x08, 'a', 'b', 'c', 2, 6, 'd'};
    struct craft_bytes b = {.length = 0};

    craft_add(&b, stored, sizeof stored);
    return b;
}

/* For the 13 bytes "abcabcabcabcd". */
static size_t make_frame(struct codec c, const struct craft_bytes *b, uint32_t raw_length)
{
    size_t length = craft_frame(c.id, b->data, b->length, raw, raw_length, frame);

    bale_put16(frame + FRAME_AT_PARAMETER, c.parameter);
    craft_seal_head(frame, 1);
    return length;
}

/* name: "good" or "bad", the codec, and what it is. */
static const char *named(char name[64], const char *good, struct codec c, const char *what)
{
    snprintf(name, 64, "%s-%s-%s", good, c.name, what);
    return name;
}

static void emit_made(struct codec c, const char *name, const struct craft_bytes *b,
                      uint32_t raw_length, const char *what)
{
    char text[64];

    emit_bad(named(text, "bad", c, name), make_frame(c, b, raw_length), what);
}

static void emit_byte(struct codec c, const char *name, size_t at, uint8_t value, const char *what)
{
    struct craft_bytes b = plain();

    b.data[at] = value;
    emit_made(c, name, &b, 13, what);
}

static void emit_parameter(struct codec c, const char *name, uint16_t parameter, const char *what)
{
    struct craft_bytes b = plain();

    c.parameter = parameter;
    emit_made(c, name, &b, 13, what);
}

static void good_by_hand(struct codec c)
{
    struct craft_bytes b = plain();
    char name[64];

    memcpy(raw, "abcabcabcabcdd", sizeof "abcabcabcabcdd");
    emit_good(named(name, "good", c, "overlap"), make_frame(c, &b, 13), 13,
              "a pointer that reaches into itself");
}

static void bad_by_hand(struct codec c)
{
    struct craft_bytes b = plain();

    emit_made(c, "short", &b, 14, "decodes to a byte less than the raw length");
    emit_made(c, "long", &b, 12, "decodes to a byte more than the raw length");
    emit_byte(c, "spare", 2, 0x28, "a spare bit of the flags");
    emit_byte(c, "tokens-less", 0, 3, "a token less than there are");
    emit_byte(c, "tokens-more", 0, 5, "a token more than there are");
    emit_byte(c, "tokens-most", 1, 255, "more tokens than the stream has bytes");
    emit_byte(c, "first", 2, 0x01, "the first token is a pointer");
    emit_byte(c, "distance", 6, 3, "a distance beyond the piece's start");
    emit_byte(c, "window", 6, c.window, "a distance beyond the window");
    emit_byte(c, "length", 7, 8, "a length beyond the piece's end");
    craft_add_number(&b, 0, 1);
    emit_made(c, "trailing", &b, 13, "a byte behind the payloads");
    b.length -= 2;
    emit_made(c, "truncated", &b, 13, "the last literal is missing");
}

/* The last pointer that the window allows, and the first that it does not although its piece has
 * the bytes: one literal more than the window, then a pointer. */
static void reach(struct codec c)
{
    uint32_t literals = c.window + 1u, length = literals + 100;
    struct craft_bytes b = {.length = 0};
    char name[64];

    for (uint32_t i = 0; i < literals; i++)
        raw[i] = (uint8_t)(i + 1);
    memcpy(raw + literals, raw + 1, 100);
    craft_add_number(&b, literals, 2);
    for (uint32_t at = 0; at <= literals; at += 8)
        craft_add_number(&b, literals - at < 8 ? 1u << literals % 8 : 0, 1);
    craft_add(&b, raw, literals);
    craft_add_number(&b, c.window - 1u, 1);
    craft_add_number(&b, 100 - 3, 1);
    emit_good(named(name, "good", c, "reach"), make_frame(c, &b, length), length,
              "a pointer as far back as the window");
    b.data[b.length - 2]++;
    emit_made(c, "reach", &b, length, "a pointer one further back than the window");
}

void gpulz(void)
{
    struct codec c = {"gpulz", BALE_CODEC_GPULZ, 0x20, 32};

    good_gpulz();
    good_by_hand(c);
    emit_parameter(c, "adaptive", 0x2020, "adaptive symbols in a frame");
    emit_parameter(c, "window-small", 0x1f, "a window of 31");
    emit_parameter(c, "piece", 0x620, "pieces of 128 KiB");
    bad_by_hand(c);
}

void culzss(void)
{
    struct codec c = {"culzss", BALE_CODEC_CULZSS, 1, 128};

    good_culzss();
    good_by_hand(c);
    emit_parameter(c, "version-0", 0, "version 0");
    emit_parameter(c, "version-3", 3, "version 3");
    emit_parameter(c, "version-257", 257, "version 257");
    bad_by_hand(c);
    reach(c);
}
