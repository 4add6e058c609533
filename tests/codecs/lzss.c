#include "tests/codecs/lzss.h"

#include "tests/codecs/bytes.h"

const uint8_t lzss_letters[14] = "abcabcabcabcdd";
const uint8_t lzss_letters_stored[9] = {4, 0, 0x08, 'a', 'b', 'c', 2, 6, 'd'};

/* Where the parts of lzss_letters_stored are. */
enum { AT_TOKENS = 0, AT_FLAGS = 2, AT_DISTANCE = 6, AT_LENGTH = 7 };

static struct codec_stream letters(const uint8_t *stored, uint16_t parameter)
{
    return (struct codec_stream){
        .parameter = parameter,
        .stored = stored,
        .length = sizeof lzss_letters_stored,
        .raw = lzss_letters,
        .raw_length = LZSS_LETTERS,
    };
}

void lzss_bad_parameter(const char *name, uint16_t parameter, const char *what,
                        codec_stream_visit *visit, void *arg)
{
    struct codec_stream stream = letters(lzss_letters_stored, parameter);

    stream.name = name;
    stream.what = what;
    visit(arg, &stream);
}

static void rules(uint16_t parameter, uint8_t window, codec_stream_visit *visit, void *arg)
{
    const struct {
        const char *name, *what;
        size_t at;
        uint8_t value;
    } rows[] = {
        {"spare", "a spare bit of the flags", AT_FLAGS, 0x28},
        {NULL, "the highest spare bit of the flags", AT_FLAGS, 0x88},
        {"tokens-less", "a token less than there are", AT_TOKENS, 3},
        {"tokens-more", "a token more than there are", AT_TOKENS, 5},
        {"tokens-most", "more tokens than the stream has bytes", AT_TOKENS + 1, 255},
        {NULL, "more tokens than the piece has bytes", AT_TOKENS + 1, 1},
        {"first", "the first token is a pointer", AT_FLAGS, 0x01},
        {NULL, "no token is a pointer", AT_FLAGS, 0x00},
        {NULL, "two tokens are pointers", AT_FLAGS, 0x18},
        {"distance", "a distance beyond the piece's start", AT_DISTANCE, 3},
        {"window", "a distance beyond the window", AT_DISTANCE, window},
        {NULL, "the greatest distance", AT_DISTANCE, 255},
        {"length", "a length beyond the piece's end", AT_LENGTH, 8},
        {NULL, "a byte beyond the piece's end", AT_LENGTH, 7},
        {NULL, "a byte less than the piece", AT_LENGTH, 5},
    };
    uint8_t stored[sizeof lzss_letters_stored];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct codec_stream stream = letters(stored, parameter);
        memcpy(stored, lzss_letters_stored, sizeof stored);
        stored[rows[i].at] = rows[i].value;
        stream.name = rows[i].name;
        stream.what = rows[i].what;
        visit(arg, &stream);
    }
}

/* One literal more than the window, then a pointer. */
static void reach(uint16_t parameter, uint8_t window, codec_stream_visit *visit, void *arg)
{
    enum { COPIED = 100, LEAST = 3 };
    uint32_t literals = window + 1u;
    struct codec_bytes b = {.length = 0};
    uint8_t raw[256 + COPIED + 1] = {0};
    struct codec_stream stream = {.name = "reach",
                                  .what = "a pointer as far back as the window",
                                  .good = true,
                                  .parameter = parameter,
                                  .stored = b.data,
                                  .raw = raw,
                                  .raw_length = literals + COPIED};

    for (uint32_t i = 0; i < literals; i++)
        raw[i] = (uint8_t)(i + 1);
    for (uint32_t i = 0; i < COPIED; i++) /* may overlap */
        raw[literals + i] = raw[1 + i];
    bytes_add_number(&b, literals, 2);
    for (uint32_t at = 0; at <= literals; at += 8)
        bytes_add_number(&b, literals - at < 8 ? 1u << literals % 8 : 0, 1);
    bytes_add(&b, raw, literals);
    bytes_add_number(&b, window - 1u, 1);
    bytes_add_number(&b, COPIED - LEAST, 1);
    stream.length = b.length;
    visit(arg, &stream);
    stream.good = false;
    stream.what = "a pointer one further back than the window";
    b.data[b.length - 2]++;
    visit(arg, &stream);
}

void lzss_streams(uint16_t parameter, uint8_t window, codec_stream_visit *visit, void *arg)
{
    struct codec_stream stream = letters(lzss_letters_stored, parameter);

    stream.name = "overlap";
    stream.what = "a pointer that reaches into itself";
    stream.good = true;
    visit(arg, &stream);
    rules(parameter, window, visit, arg);
    reach(parameter, window, visit, arg);
}
