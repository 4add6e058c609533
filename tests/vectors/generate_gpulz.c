/* The vectors of codec gpulz. */
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

/* Literals "abc", a pointer of 9 symbols, literal "d": kernels/gpulz/spec.md, S = 1, W = 32. */
static struct craft_bytes gpulz_plain(void)
{
    static const uint8_t stored[] = {4, 0, 0x08, 'a', 'b', 'c', 2, 6, 'd'};
    struct craft_bytes b = {.length = 0};

    craft_add(&b, stored, sizeof stored);
    return b;
}

/* For the 13 bytes "abcabcabcabcd". */
static size_t gpulz_frame(const struct craft_bytes *b, uint32_t raw_length)
{
    size_t length = craft_frame(BALE_CODEC_GPULZ, b->data, b->length, raw, raw_length, frame);

    bale_put16(frame + CRAFT_PARAMETER, 0x20);
    craft_seal_head(frame, 1);
    return length;
}

static void emit_gpulz(const char *name, size_t at, uint8_t value, const char *what)
{
    struct craft_bytes b = gpulz_plain();

    b.data[at] = value;
    emit_bad(name, gpulz_frame(&b, 13), what);
}

static void emit_gpulz_parameter(const char *name, uint16_t parameter, const char *what)
{
    struct craft_bytes b = gpulz_plain();
    size_t length = gpulz_frame(&b, 13);

    bale_put16(frame + CRAFT_PARAMETER, parameter);
    craft_seal_head(frame, 1);
    emit_bad(name, length, what);
}

static void gpulz_by_hand(void)
{
    struct craft_bytes b = gpulz_plain();

    memcpy(raw, "abcabcabcabcdd", sizeof "abcabcabcabcdd");
    emit_good("good-gpulz-overlap", gpulz_frame(&b, 13), 13, "a pointer that reaches into itself");
    emit_gpulz_parameter("bad-gpulz-adaptive", 0x2020, "adaptive symbols in a frame");
    emit_gpulz_parameter("bad-gpulz-window-small", 0x1f, "a window of 31");
    emit_gpulz_parameter("bad-gpulz-piece", 0x620, "pieces of 128 KiB");
    emit_bad("bad-gpulz-short", gpulz_frame(&b, 14), "decodes to a byte less than the raw length");
    emit_bad("bad-gpulz-long", gpulz_frame(&b, 12), "decodes to a byte more than the raw length");
    emit_gpulz("bad-gpulz-spare", 2, 0x28, "a spare bit of the flags");
    emit_gpulz("bad-gpulz-tokens-less", 0, 3, "a token less than there are");
    emit_gpulz("bad-gpulz-tokens-more", 0, 5, "a token more than there are");
    emit_gpulz("bad-gpulz-tokens-most", 1, 255, "more tokens than the stream has bytes");
    emit_gpulz("bad-gpulz-first", 2, 0x01, "the first token is a pointer");
    emit_gpulz("bad-gpulz-distance", 6, 3, "a distance beyond the piece's start");
    emit_gpulz("bad-gpulz-window", 6, 32, "a distance beyond the window");
    emit_gpulz("bad-gpulz-length", 7, 8, "a length beyond the piece's end");
    craft_add_number(&b, 0, 1);
    emit_bad("bad-gpulz-trailing", gpulz_frame(&b, 13), "a byte behind the payloads");
    b.length -= 2;
    emit_bad("bad-gpulz-truncated", gpulz_frame(&b, 13), "the last literal is missing");
}

void gpulz(void)
{
    good_gpulz();
    gpulz_by_hand();
}
