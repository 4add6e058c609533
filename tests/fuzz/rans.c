/* The entropy coder alone: a table of hostile bytes, then words. Input: the symbols of the alphabet
 * less one and the symbols that are coded (u16 each), bits of the probabilities (u8), raw bits of
 * the last step (u8), the table, and the words up to the end. */
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "kernels/rans/rans.h"
#include "tests/fuzz/target.h"

enum {
    HEAD = 6,
    CODED_MAX = 3000,
    CODED_ROOM = CODED_MAX + BALE_RANS_ROOM,
    WORDS_MAX = 2 * CODED_MAX + BALE_RANS_STATES + 2 * BALE_RANS_STEP,
};

/* What an input says. */
struct input {
    struct bale_rans_alphabet alphabet;
    uint32_t coded;
    uint8_t raw_bits[BALE_RANS_LANES];
    struct bale_rans_frequencies read;
    bale_rans_slot slots[BALE_RANS_SLOTS + BALE_RANS_SLOTS_ROOM];
    size_t words; /* bytes */
};

/* What is decoded of it. */
struct output {
    uint16_t symbols[CODED_ROOM];
    uint32_t raw[BALE_RANS_LANES];
    uint16_t carry[BALE_RANS_LANES];
};

static bool read_head(const uint8_t *data, size_t size, struct input *input)
{
    int64_t table;

    if (size < HEAD)
        return false;
    input->alphabet.symbols = (uint16_t)(1 + bale_get16(data) % BALE_RANS_SYMBOLS);
    input->alphabet.bits = (uint8_t)(10 + data[4] % (input->alphabet.symbols > 256 ? 2 : 3));
    input->coded = bale_get16(data + 2) % CODED_MAX;
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++)
        input->raw_bits[lane] = (uint8_t)((data[5] + lane) % (BALE_RANS_RAW + 1));
    table = bale_rans_table_read(input->alphabet, data + HEAD, size - HEAD, &input->read);
    FUZZ_HOLDS(table == BALE_E_CORRUPT || (table > 0 && (size_t)table <= size - HEAD));
    if (table < 0 || input->read.used == 0)
        return false;
    FUZZ_HOLDS(input->read.cum[0] == 0 &&
               input->read.cum[input->read.used] == 1u << input->alphabet.bits);
    bale_rans_slots(&input->read, input->alphabet.bits, NULL, input->slots);
    input->words = (size - HEAD - (size_t)table) / 2 * 2;
    return input->words <= WORDS_MAX;
}

/* Decodes with the steps, or one by one if they are NULL; these take symbols above 255 as well. */
static bool decode(const struct input *input, const struct bale_rans_steps *steps,
                   const uint8_t *words, struct output *output)
{
    struct bale_rans_stream stream, none = {0};
    static uint8_t bytes[CODED_ROOM];

    memset(output, 0, sizeof *output);
    if (!bale_rans_decode_begin(&stream, words, input->words))
        return false;
    if (steps) {
        const struct bale_rans_bytes jobs[2] = {{&stream, bytes, NULL, input->coded},
                                                {&none, NULL, NULL, 0}};
        if (!steps->decode_bytes(jobs, input->slots, input->alphabet.bits))
            return false;
        for (uint32_t i = 0; i < input->coded; i++)
            output->symbols[i] = bytes[i];
    } else {
        for (uint32_t i = 0; i < input->coded; i += BALE_RANS_LANES) {
            uint32_t left = input->coded - i;
            uint32_t mask = left < BALE_RANS_LANES ? (1u << left) - 1 : UINT32_MAX;
            if (!bale_rans_decode(&stream, input->slots, input->alphabet.bits, mask,
                                  output->symbols + i))
                return false;
        }
    }
    return bale_rans_decode_raw(&stream, output->raw, input->raw_bits) &&
           bale_rans_decode_end(&stream, output->carry);
}

/* What was decoded is encoded to the same words: a stream has one way to be written. */
static void check_words(const struct input *input, const struct output *output,
                        const uint8_t *words)
{
    static uint8_t again[WORDS_MAX + BALE_RANS_ROOM];
    static bale_rans_symbol symbols[BALE_RANS_SYMBOLS];
    struct bale_rans_stream stream;
    uint32_t steps = (input->coded + BALE_RANS_LANES - 1) / BALE_RANS_LANES;

    for (uint32_t i = 0; i < input->read.used; i++)
        symbols[input->read.symbol[i]] =
            (input->read.cum[i + 1] - input->read.cum[i]) << 16 | input->read.cum[i];
    bale_rans_encode_begin(&stream, again, output->carry);
    bale_rans_encode_raw(&stream, output->raw, input->raw_bits);
    while (steps-- > 0) {
        uint16_t in[BALE_RANS_LANES];
        for (uint32_t lane = 0, i = steps * BALE_RANS_LANES; lane < BALE_RANS_LANES; lane++, i++)
            in[lane] = i < input->coded ? output->symbols[i] : UINT16_MAX;
        bale_rans_encode(&stream, symbols, input->alphabet.bits, in, UINT16_MAX);
    }
    bale_rans_encode_end(&stream);
    FUZZ_HOLDS((size_t)(stream.top - again) == input->words);
    FUZZ_HOLDS(memcmp(again, words, input->words) == 0);
}

bool fuzz_rans(const uint8_t *data, size_t size)
{
    static struct input input;
    static struct output output, other;
    const struct bale_rans_steps *steps;
    uint8_t *room, *words;
    bool good;

    if (!read_head(data, size, &input))
        return false;
    room = calloc(1, BALE_RANS_STEP + input.words + BALE_RANS_ROOM);
    FUZZ_HOLDS(room != NULL);
    words = room + BALE_RANS_STEP;
    memcpy(words, data + size - input.words, input.words);
    good = decode(&input, NULL, words, &output);
    for (size_t i = 0; input.alphabet.symbols <= 256 && (steps = bale_rans_steps_at(i)); i++) {
        FUZZ_HOLDS(decode(&input, steps, words, &other) == good);
        FUZZ_HOLDS(!good || memcmp(&other, &output, sizeof output) == 0);
    }
    if (good)
        check_words(&input, &output, words);
    free(room);
    return good;
}

size_t fuzz_rans_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX])
{
    static const uint16_t sizes[] = {1, 5, 62, 256, 300, 1024};
    uint32_t counts[BALE_RANS_SYMBOLS] = {0}, values[BALE_RANS_LANES];
    bale_rans_symbol symbols[BALE_RANS_SYMBOLS];
    static uint8_t words[WORDS_MAX + BALE_RANS_ROOM];
    struct bale_rans_stream stream;
    uint16_t in[BALE_RANS_LANES], carry[BALE_RANS_LANES] = {0};
    uint8_t bits[BALE_RANS_LANES];
    size_t length;

    if (n >= sizeof sizes / sizeof sizes[0])
        return 0;
    for (uint32_t s = 0; s < sizes[n]; s++)
        counts[s] = 1 + s % 7 * s;
    bale_put16(out, (uint16_t)(sizes[n] - 1));
    bale_put16(out + 2, 10 * BALE_RANS_LANES);
    out[4] = 1; /* 11 bits */
    out[5] = (uint8_t)n;
    length = HEAD + bale_rans_table_write((struct bale_rans_alphabet){sizes[n], 11}, counts,
                                          symbols, out + HEAD);
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++) {
        carry[lane] = (uint16_t)(lane * 1000);
        bits[lane] = (uint8_t)((n + lane) % (BALE_RANS_RAW + 1));
        values[lane] = bits[lane] > 0 ? 1u << (bits[lane] - 1) : 0;
    }
    bale_rans_encode_begin(&stream, words, carry);
    bale_rans_encode_raw(&stream, values, bits);
    for (unsigned step = 0; step < 10; step++) {
        for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++)
            in[lane] = (uint16_t)((lane * 37 + step * step) % sizes[n]);
        bale_rans_encode(&stream, symbols, 11, in, UINT16_MAX);
    }
    bale_rans_encode_end(&stream);
    if (((size_t)(stream.top - words) + length) > FUZZ_INPUT_MAX)
        return 0;
    memcpy(out + length, words, (size_t)(stream.top - words));
    return length + (size_t)(stream.top - words);
}
