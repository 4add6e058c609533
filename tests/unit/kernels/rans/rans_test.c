/* The entropy coder against a plain one made from its specification, on every kind of steps that
 * this processor can do: tables from counts, tables of hostile bytes, symbols and raw bits. */
#include "format/bytes.h"
#include "format/err.h"
#include "kernels/rans/rans.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

#include <stdlib.h>

enum { BYTES = 5000, WORDS = 4 * BYTES + 4096, TABLES = 4 };

static uint64_t state = 1;

static uint32_t below(uint32_t limit)
{
    return (uint32_t)(data_next(&state) % limit);
}

/* ---- Tables ---- */

static const struct bale_rans_alphabet alphabets[] = {
    {256, 11}, {27, 10}, {61, 10}, {62, 10}, {1, 10}, {8, 12}, {256, 12}, {1024, 10}, {1024, 11},
};
enum { ALPHABETS = sizeof alphabets / sizeof alphabets[0] };

/* Counts of many shapes: few and many symbols, flat and steep. */
static void random_counts(struct bale_rans_alphabet alphabet, uint32_t *counts)
{
    uint32_t occur = 1 + below(alphabet.symbols), shape = below(4);

    memset(counts, 0, alphabet.symbols * sizeof *counts);
    for (uint32_t i = 0; i < occur; i++) {
        uint32_t s = below(alphabet.symbols);
        counts[s] = 1 + (shape == 0   ? 0
                         : shape == 1 ? below(5)
                         : shape == 2 ? below(900)
                                      : below(1u << below(10)));
    }
}

/* What the slots say of the symbols is what the encoder has. */
static void check_slots(struct bale_rans_alphabet alphabet, const bale_rans_symbol *symbols,
                        const bale_rans_slot *slots)
{
    uint32_t slot = 0, low = (1u << alphabet.bits) - 1;
    bool good = true;

    for (uint32_t s = 0; s < alphabet.symbols; s++) {
        good = good && (symbols[s] == 0 || (symbols[s] & 0xffff) == slot);
        for (uint32_t k = 0; k < symbols[s] >> 16; k++, slot++)
            good = good && slots[slot] >> 2 * alphabet.bits == s &&
                   (slots[slot] >> alphabet.bits & low) == k &&
                   (slots[slot] & low) + 1 == symbols[s] >> 16;
    }
    CHECK(good);
    CHECK_EQ_U(slot, 1u << alphabet.bits);
}

/* Reads a table, and its slots if it is good. */
static int64_t read_slots(struct bale_rans_alphabet alphabet, const uint8_t *in, size_t length,
                          bale_rans_slot *slots, uint32_t *used)
{
    static struct bale_rans_frequencies read;
    int64_t bytes = bale_rans_table_read(alphabet, in, length, &read);

    if (bytes > 0)
        bale_rans_slots(&read, alphabet.bits, NULL, slots);
    *used = read.used;
    return bytes;
}

static void check_table(struct bale_rans_alphabet alphabet, const uint32_t *counts)
{
    static bale_rans_symbol symbols[BALE_RANS_SYMBOLS];
    static bale_rans_slot slots[BALE_RANS_SLOTS + BALE_RANS_SLOTS_ROOM];
    uint8_t out[BALE_RANS_TABLE_BYTES];
    size_t length = bale_rans_table_write(alphabet, counts, symbols, out);
    uint8_t *exact = malloc(length);
    uint32_t used;

    REQUIRE(exact);
    memcpy(exact, out, length);
    CHECK_EQ(read_slots(alphabet, exact, length, slots, &used), (int64_t)length);
    check_slots(alphabet, symbols, slots);
    for (uint32_t s = 0; s < alphabet.symbols; s++)
        CHECK(!counts[s] == !symbols[s]);
    for (size_t cut = 0; cut < length; cut++)
        CHECK_EQ(read_slots(alphabet, exact, cut, slots, &used), BALE_E_CORRUPT);
    free(exact);
}

static void test_tables(void)
{
    uint32_t counts[BALE_RANS_SYMBOLS];

    for (size_t a = 0; a < ALPHABETS; a++)
        for (int round = 0; round < 60; round++) {
            random_counts(alphabets[a], counts);
            check_table(alphabets[a], counts);
        }
}

/* A table without symbols; the one of the example in spec.md. */
static void test_known_tables(void)
{
    static const uint8_t levels[] = {0x03, 0x01, 0x0b, 0x2c, 0x00};
    static const struct bale_rans_alphabet alphabet = {8, 10};
    uint32_t counts[8] = {0}, used = 9;
    bale_rans_symbol symbols[8];
    bale_rans_slot slots[(1 << 10) + BALE_RANS_SLOTS_ROOM];
    uint8_t out[BALE_RANS_TABLE_BYTES];

    CHECK_EQ_U(bale_rans_table_write(alphabet, counts, symbols, out), 1);
    CHECK_EQ(read_slots(alphabet, out, 1, slots, &used), 1);
    CHECK_EQ_U(used, 0);
    CHECK_EQ(read_slots(alphabet, levels, sizeof levels, slots, &used), sizeof levels);
    CHECK_EQ_U(used, 3);
    /* Symbols 0, 1 and 3 of weights 6, 8 and 0: Q = floor(1021 2^32 / 14). */
    CHECK_EQ_U(slots[0], 0u << 20 | 0 << 10 | (438 - 1));
    CHECK_EQ_U(slots[438], 1u << 20 | 0 << 10 | (584 - 1));
    CHECK_EQ_U(slots[1022], 3u << 20 | 0 << 10 | (2 - 1));
}

/* Whatever the bytes, the slots are those of frequencies that add up, or there is an error. */
static void test_hostile_tables(void)
{
    static bale_rans_slot slots[BALE_RANS_SLOTS + BALE_RANS_SLOTS_ROOM];
    uint32_t good = 0, used;
    uint8_t in[40];

    for (int round = 0; round < 200000; round++) {
        struct bale_rans_alphabet alphabet = alphabets[below(ALPHABETS)];
        size_t length = 1 + below(sizeof in);
        uint32_t at = 0, last = 0;
        int64_t read;
        data_random(&state, in, length);
        in[0] = (uint8_t)(below(3) == 0 ? alphabet.bits : (below(2) ? 0x80 : 0) | (1 + below(6)));
        for (size_t i = 1; i < length && below(2); i++)
            in[i] &= 3;
        read = read_slots(alphabet, in, length, slots, &used);
        CHECK(read == BALE_E_CORRUPT || (read > 0 && read <= (int64_t)length && used > 0));
        if (read < 0)
            continue;
        good++;
        for (; at < 1u << alphabet.bits; at += (slots[at] & ((1u << alphabet.bits) - 1)) + 1)
            last = slots[at] >> 2 * alphabet.bits;
        CHECK_EQ_U(at, 1u << alphabet.bits);
        CHECK(last < alphabet.symbols);
    }
    CHECK(good > 1000);
}

/* ---- Streams ---- */

/* What is coded: bytes, then raw bits, then symbols of a large alphabet that some lanes have. */
struct plan {
    unsigned bits;
    bale_rans_symbol symbols[TABLES * 256];
    bale_rans_slot slots[TABLES * BALE_RANS_SLOTS + BALE_RANS_SLOTS_ROOM];
    uint8_t bytes[BYTES + BALE_RANS_ROOM];
    uint8_t table[BYTES + BALE_RANS_ROOM];
    uint16_t coded[BYTES + BALE_RANS_ROOM]; /* the table << 8, and the byte */
    bool tables;
    size_t count;
    struct bale_rans_alphabet large;
    bale_rans_symbol large_symbols[BALE_RANS_SYMBOLS];
    bale_rans_slot large_slots[BALE_RANS_SLOTS + BALE_RANS_SLOTS_ROOM];
    uint16_t codes[BALE_RANS_LANES]; /* ABSENT: the lane takes no part */
    uint8_t raw_bits[BALE_RANS_LANES];
    uint32_t raw[BALE_RANS_LANES];
    uint16_t carry[BALE_RANS_LANES];
};
enum { ABSENT = 0xffff };

static void make_bytes(struct plan *p, uint32_t kinds)
{
    struct bale_rans_alphabet alphabet = {256, (uint8_t)p->bits};
    uint8_t out[BALE_RANS_TABLE_BYTES];
    uint32_t used;

    for (unsigned t = 0; t < TABLES; t++) {
        uint32_t counts[256] = {0};
        for (uint32_t i = 0; i < kinds; i++)
            counts[(i * 7 + t) % 255] = 1 + below(1u << below(12));
        size_t length = bale_rans_table_write(alphabet, counts, p->symbols + (size_t)256 * t, out);
        REQUIRE(read_slots(alphabet, out, length, p->slots + ((size_t)t << p->bits), &used) > 0);
    }
    for (size_t i = 0; i < BYTES; i++) {
        p->table[i] = p->tables ? (uint8_t)below(TABLES) : 0;
        p->bytes[i] = (uint8_t)((below(kinds) * 7 + p->table[i]) % 255);
        p->coded[i] = (uint16_t)(p->table[i] << 8 | p->bytes[i]);
    }
}

/* As many symbols as an alphabet may have, or fewer. */
static void make_codes(struct plan *p)
{
    uint32_t counts[BALE_RANS_SYMBOLS], used;
    uint8_t out[BALE_RANS_TABLE_BYTES];
    size_t length;

    p->large = (struct bale_rans_alphabet){(uint16_t)(1 + below(BALE_RANS_SYMBOLS)), 11};
    random_counts(p->large, counts);
    length = bale_rans_table_write(p->large, counts, p->large_symbols, out);
    REQUIRE(read_slots(p->large, out, length, p->large_slots, &used) > 0);
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++)
        do
            p->codes[lane] = (uint16_t)below(p->large.symbols);
        while (counts[p->codes[lane]] == 0);
    p->codes[below(BALE_RANS_LANES)] = p->codes[below(BALE_RANS_LANES)] = ABSENT;
}

static void make_plan(struct plan *p, uint32_t kinds)
{
    p->bits = 10 + below(3);
    p->tables = below(2);
    p->count = below(BYTES);
    make_bytes(p, kinds);
    make_codes(p);
    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++) {
        p->raw_bits[lane] = (uint8_t)below(BALE_RANS_RAW + 1);
        p->raw[lane] = below(1u << p->raw_bits[lane]);
        p->carry[lane] = (uint16_t)below(65536);
    }
}

static size_t encode(const struct plan *p, const struct bale_rans_steps *steps, uint8_t *words)
{
    struct bale_rans_stream stream;

    bale_rans_encode_begin(&stream, words, p->carry);
    for (int round = 0; round < 3; round++) {
        bale_rans_encode(&stream, p->large_symbols, p->large.bits, p->codes, ABSENT);
        bale_rans_encode_raw(&stream, p->raw, p->raw_bits);
        steps->encode(&stream, p->symbols, p->bits, p->coded, p->count);
    }
    bale_rans_encode_end(&stream);
    return (size_t)(stream.top - words);
}

/* A pair of streams, the second one shorter, and what is decoded of them. */
struct decoded {
    struct bale_rans_stream stream[2];
    uint8_t bytes[2][BYTES + BALE_RANS_ROOM];
    uint16_t codes[BALE_RANS_LANES];
    uint32_t raw[BALE_RANS_LANES];
};

/* Decodes a round of the first stream, and the first bytes of the second. */
static bool decode_round(const struct plan *p, const struct bale_rans_steps *steps, int round,
                         struct decoded *d)
{
    const uint8_t *table = p->tables ? p->table : NULL;
    const struct bale_rans_bytes bytes[2] = {
        {&d->stream[0], d->bytes[0], table, p->count},
        {&d->stream[1], d->bytes[1], table, round == 0 ? p->count / 3 : 0}};
    uint32_t mask = 0;

    for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++)
        mask |= (uint32_t)(p->codes[lane] != ABSENT) << lane;
    return steps->decode_bytes(bytes, p->slots, p->bits) &&
           bale_rans_decode_raw(&d->stream[0], d->raw, p->raw_bits) &&
           bale_rans_decode(&d->stream[0], p->large_slots, p->large.bits, mask, d->codes);
}

/* True if it decodes, to whatever; checks that it is the plan if `good`. */
static bool decode(const struct plan *p, const struct bale_rans_steps *steps, const uint8_t *words,
                   size_t length, bool good)
{
    static struct decoded d;
    uint16_t carry[BALE_RANS_LANES];

    if (!bale_rans_decode_begin(&d.stream[0], words, length))
        return false;
    d.stream[1] = d.stream[0];
    for (int round = 0; round < 3; round++) {
        if (!decode_round(p, steps, round, &d))
            return false;
        if (!good)
            continue;
        CHECK_EQ_MEM(d.bytes[0], p->bytes, p->count);
        CHECK_EQ_MEM(d.bytes[1], p->bytes, p->count / 3);
        CHECK_EQ_MEM(d.raw, p->raw, sizeof d.raw);
        for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++)
            CHECK_EQ(d.codes[lane], p->codes[lane] == ABSENT ? 0 : p->codes[lane]);
    }
    if (!bale_rans_decode_end(&d.stream[0], carry))
        return false;
    if (good)
        CHECK_EQ_MEM(carry, p->carry, sizeof carry);
    return true;
}

/* All steps make the plain ones' words and take them; damaged words get an answer, the same from
 * all. */
static void check_plan(const struct plan *p)
{
    static uint8_t room[2][BALE_RANS_STEP + WORDS];
    uint8_t *words = room[0] + BALE_RANS_STEP, *others = room[1] + BALE_RANS_STEP;
    const struct bale_rans_steps *steps;
    size_t length = encode(p, &bale_rans_plain, words);
    bool plain;

    for (size_t i = 0; (steps = bale_rans_steps_at(i)); i++) {
        CHECK_EQ_U(encode(p, steps, others), length);
        if (!CHECK_EQ_MEM(others, words, length))
            fprintf(stderr, "    %s\n", steps->name);
        CHECK(decode(p, steps, words, length, true));
    }
    for (int round = 0; round < 10; round++) {
        memcpy(others, words, length);
        others[below((uint32_t)length)] ^= (uint8_t)(1 + below(255));
        plain = decode(p, &bale_rans_plain, others, length, false);
        for (size_t i = 0; (steps = bale_rans_steps_at(i)); i++) {
            CHECK_EQ(decode(p, steps, others, length, false), plain);
            CHECK(!decode(p, steps, words + 2, length - 2, false));
        }
    }
}

static void test_streams(void)
{
    static struct plan plan;
    static const uint32_t kinds[] = {1, 2, 3, 20, 120, 255};

    for (int round = 0; round < 300; round++) {
        make_plan(&plan, kinds[(size_t)round % (sizeof kinds / sizeof kinds[0])]);
        check_plan(&plan);
    }
}

int main(void)
{
    test_tables();
    test_known_tables();
    test_hostile_tables();
    test_streams();
    return check_result();
}
