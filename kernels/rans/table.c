/* Tables of frequencies (spec.md). */
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "kernels/codec/entropy.h"
#include "kernels/rans/rans.h"

enum { FORM_BITS = 0x0fu, FORM_FLAGS = 0x80u, LEVEL_BITS = 5 }; /* in the first byte */

/* The symbols that occur, in order, and for each a weight. */
struct weights {
    uint32_t used;
    uint16_t symbol[BALE_RANS_SYMBOLS];
    uint32_t weight[BALE_RANS_SYMBOLS];
};

static uint32_t level_weight(uint32_t level)
{
    return level == 0 ? 0 : (2 + ((level - 1) & 1)) << ((level - 1) / 2);
}

/* cum[i] of the symbols that occur, 1 or more, from their weights; cum[used] = M. */
static void spread(struct weights *w, unsigned bits, uint32_t *cum)
{
    uint64_t sum = 0, scale, below = 0;

    for (uint32_t i = 0; i < w->used; i++)
        sum += w->weight[i];
    for (uint32_t i = 0; sum == 0 && i < w->used; i++)
        w->weight[i] = 1;
    if (sum == 0)
        sum = w->used > 0 ? w->used : 1;
    scale = ((uint64_t)((1u << bits) - w->used) << 32) / sum;
    for (uint32_t i = 0; i < w->used; i++) {
        cum[i] = i + (uint32_t)(below * scale >> 32);
        below += w->weight[i];
    }
    cum[w->used] = 1u << bits;
}

/* Numbers of a few bits, the least significant first. */
struct bits {
    uint64_t buffer;
    unsigned filled;
};

static uint8_t *put_bits(struct bits *b, uint8_t *out, uint32_t number, unsigned bits)
{
    b->buffer |= (uint64_t)number << b->filled;
    b->filled += bits;
    if (b->filled >= 32) {
        bale_put32(out, (uint32_t)b->buffer);
        b->buffer >>= 32;
        b->filled -= 32;
        out += 4;
    }
    return out;
}

/* The bits that are left. */
static uint8_t *end_bits(struct bits *b, uint8_t *out)
{
    for (unsigned at = 0; at < b->filled; at += 8)
        *out++ = (uint8_t)(b->buffer >> at);
    return out;
}

static uint8_t *put_mask(const struct weights *w, uint32_t symbols, uint8_t *out)
{
    size_t groups = (symbols + 63) / 64;
    uint8_t mask[BALE_RANS_SYMBOLS / 8] = {0};
    uint8_t *next = out + groups;

    memset(out, 0, groups);
    for (uint32_t i = 0; i < w->used; i++)
        mask[w->symbol[i] / 8] |= (uint8_t)(1u << (w->symbol[i] % 8));
    for (uint32_t g = 0; g < (symbols + 7) / 8; g++)
        if (mask[g] != 0) {
            out[g / 8] |= (uint8_t)(1u << (g % 8));
            *next++ = mask[g];
        }
    return next;
}

/* The frequency less one, in sixteenths. */
static uint32_t sixteenths(uint32_t count, uint64_t scale)
{
    uint32_t x = (uint32_t)(count * scale >> 32);

    return x - (x < 16 ? x : 16);
}

static uint32_t level_of(uint32_t x)
{
    unsigned top = 31u - (unsigned)__builtin_clz(x | 16);
    uint32_t many = 1 + 2 * (top - 4) + (((x >> (top - 2) & 3) + 1) >> 1);

    return x < 16 ? x >= 8 : many;
}

/* How the levels are written. */
struct level_form {
    uint32_t flags; /* whether flags say which are not 0 */
    uint32_t bits;  /* of each level; with flags of those that are not 0, less one */
    uint32_t total; /* bits */
};

static struct level_form level_form(const uint8_t *level, uint32_t used)
{
    uint32_t not_zero = 0, most = 0, plain_bits = 1, flag_bits = 1;

    for (uint32_t i = 0; i < used; i++) {
        not_zero += level[i] > 0;
        most = level[i] > most ? level[i] : most;
    }
    for (; most >> plain_bits != 0; plain_bits++)
        ;
    for (; most > 0 && (most - 1) >> flag_bits != 0; flag_bits++)
        ;
    if (used + not_zero * flag_bits < used * plain_bits)
        return (struct level_form){FORM_FLAGS, flag_bits, used + not_zero * flag_bits};
    return (struct level_form){0, plain_bits, used * plain_bits};
}

static uint8_t *put_levels(struct level_form form, struct bits *b, const uint8_t *level,
                           uint32_t used, uint8_t *out)
{
    if (form.flags)
        for (uint32_t i = 0; i < used; i++)
            out = put_bits(b, out, level[i] > 0, 1);
    for (uint32_t i = 0; i < used; i++) {
        uint32_t less = form.flags ? level[i] > 0 : 0;
        out = put_bits(b, out, level[i] - less, form.flags ? less * form.bits : form.bits);
    }
    return out;
}

/* In 1/65536 bit, with so many bits of numbers. */
static uint64_t cost(const struct weights *w, const uint32_t *counts, const uint32_t *cum,
                     unsigned bits, uint32_t number_bits)
{
    uint64_t sum = (uint64_t)number_bits << 16;

    for (uint32_t i = 0; i < w->used; i++)
        sum += (uint64_t)counts[w->symbol[i]] * ((bits << 16) - bale_log2_q16(cum[i + 1] - cum[i]));
    return sum;
}

size_t bale_rans_table_write(struct bale_rans_alphabet alphabet, const uint32_t *counts,
                             bale_rans_symbol *symbols, uint8_t *out)
{
    struct weights levels, exact; /* set only as far as they are used */
    uint32_t level_cum[BALE_RANS_SYMBOLS + 1], exact_cum[BALE_RANS_SYMBOLS + 1];
    uint8_t level[BALE_RANS_SYMBOLS];
    uint64_t total = 0, scale;
    uint8_t *next = out + 1;
    struct bits b = {0};
    struct level_form form;
    const uint32_t *cum = level_cum;

    levels.used = 0;
    memset(symbols, 0, alphabet.symbols * sizeof *symbols);
    for (uint32_t s = 0; s < alphabet.symbols; s++) {
        levels.symbol[levels.used] = (uint16_t)s;
        levels.used += counts[s] > 0;
        total += counts[s];
    }
    out[0] = 0;
    if (total == 0)
        return 1;
    scale = (UINT64_C(1) << (alphabet.bits + 36)) / total;
    exact.used = levels.used;
    for (uint32_t i = 0; i < levels.used; i++) {
        exact.symbol[i] = levels.symbol[i];
        exact.weight[i] = sixteenths(counts[levels.symbol[i]], scale);
        level[i] = (uint8_t)level_of(exact.weight[i]);
        levels.weight[i] = level_weight(level[i]);
    }
    form = level_form(level, levels.used);
    spread(&levels, alphabet.bits, level_cum);
    spread(&exact, alphabet.bits, exact_cum);
    if (cost(&exact, counts, exact_cum, alphabet.bits, alphabet.bits * levels.used) <
        cost(&levels, counts, level_cum, alphabet.bits, form.total))
        cum = exact_cum;
    next = put_mask(&levels, alphabet.symbols, next);
    for (uint32_t i = 0; i < levels.used; i++) {
        uint32_t frequency = cum[i + 1] - cum[i];
        symbols[levels.symbol[i]] = frequency << 16 | cum[i];
        if (cum == exact_cum)
            next = put_bits(&b, next, frequency - 1, alphabet.bits);
    }
    out[0] = alphabet.bits;
    if (cum == level_cum) {
        out[0] = (uint8_t)(form.flags | form.bits);
        next = put_levels(form, &b, level, levels.used, next);
    }
    return (size_t)(end_bits(&b, next) - out);
}

/* Reads which symbols occur: the bytes read, or BALE_E_CORRUPT. */
static int64_t get_mask(struct weights *w, uint32_t symbols, const uint8_t *in, size_t length)
{
    size_t at = (symbols + 63) / 64;

    if (length < at)
        return BALE_E_CORRUPT;
    for (uint32_t g = 0; g < 64 * ((symbols + 63) / 64) / 8; g++) {
        if ((in[g / 8] >> (g % 8) & 1) == 0)
            continue;
        if (at == length || in[at] == 0)
            return BALE_E_CORRUPT;
        for (unsigned k = 0; k < 8; k++) {
            if ((in[at] >> k & 1) == 0)
                continue;
            if (8 * g + k >= symbols)
                return BALE_E_CORRUPT;
            w->symbol[w->used++] = (uint16_t)(8 * g + k);
        }
        at++;
    }
    return w->used > 0 ? (int64_t)at : BALE_E_CORRUPT;
}

/* Bits to be read. Behind the end there are zeros. */
struct source {
    const uint8_t *in;
    size_t length;
    size_t at; /* in bits */
};

static uint32_t get_bits(struct source *source, unsigned bits)
{
    const size_t at = source->at / 8;
    uint32_t number = 0;

    if (at + sizeof number <= source->length)
        number = bale_get32(source->in + at);
    else
        for (unsigned k = 0; at + k < source->length; k++)
            number |= (uint32_t)source->in[at + k] << 8 * k;
    number = number >> source->at % 8 & ((1u << bits) - 1);
    source->at += bits;
    return number;
}

/* Reads the numbers: the bytes read, or BALE_E_CORRUPT. */
static int64_t get_weights(struct weights *w, unsigned form, unsigned bits, const uint8_t *in,
                           size_t length)
{
    struct source source = {.in = in, .length = length};
    unsigned each = form & FORM_BITS;
    bool exact = form == bits;
    uint64_t sum = 0;
    size_t bytes;

    for (uint32_t i = 0; i < w->used; i++)
        w->weight[i] = form & FORM_FLAGS ? get_bits(&source, 1) : 1;
    for (uint32_t i = 0; i < w->used; i++) {
        if (w->weight[i] == 0)
            continue;
        w->weight[i] = get_bits(&source, each) + (form & FORM_FLAGS ? 1 : 0);
        sum += w->weight[i];
        if (!exact)
            w->weight[i] = level_weight(w->weight[i]);
    }
    bytes = (source.at + 7) / 8;
    if (length < bytes || get_bits(&source, (unsigned)(8 * bytes - source.at)) != 0 ||
        (exact && sum != (1u << bits) - w->used))
        return BALE_E_CORRUPT;
    return (int64_t)bytes;
}

static bool is_form(unsigned form, unsigned bits)
{
    unsigned each = form & FORM_BITS;

    return form == bits || ((form | FORM_BITS | FORM_FLAGS) == (FORM_BITS | FORM_FLAGS) &&
                            each >= 1 && each <= LEVEL_BITS);
}

int64_t bale_rans_table_read(struct bale_rans_alphabet alphabet, const uint8_t *in, size_t length,
                             struct bale_rans_frequencies *read)
{
    struct weights w; /* set only as far as it is used */
    int64_t mask, numbers;

    w.used = read->used = 0;
    if (length == 0 || (in[0] != 0 && !is_form(in[0], alphabet.bits)))
        return BALE_E_CORRUPT;
    if (in[0] == 0)
        return 1;
    mask = get_mask(&w, alphabet.symbols, in + 1, length - 1);
    if (mask < 0)
        return mask;
    numbers = get_weights(&w, in[0], alphabet.bits, in + 1 + mask, length - 1 - (size_t)mask);
    if (numbers < 0)
        return numbers;
    spread(&w, alphabet.bits, read->cum);
    read->used = w.used;
    memcpy(read->symbol, w.symbol, w.used * sizeof *w.symbol);
    return 1 + mask + numbers;
}

/* Four slots at a time: what is too much is written over with the next symbol's. */
typedef bale_rans_slot slots4 __attribute__((vector_size(4 * sizeof(bale_rans_slot))));

void bale_rans_slots(const struct bale_rans_frequencies *read, unsigned bits,
                     const uint16_t *meaning, bale_rans_slot *slots)
{
    if (read->used == 0)
        memset(slots, 0, sizeof *slots << bits);
    for (uint32_t i = 0; i < read->used; i++) {
        uint32_t frequency = read->cum[i + 1] - read->cum[i], symbol = read->symbol[i];
        slots4 four = (slots4){0, 1, 2, 3} << bits |
                      ((meaning ? meaning[symbol] : symbol) << 2 * bits | (frequency - 1));
        for (uint32_t k = read->cum[i]; k < read->cum[i + 1]; k += 4, four += 4u << bits)
            memcpy(slots + k, &four, sizeof four);
    }
}
