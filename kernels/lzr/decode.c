#include "kernels/lzr/decode.h"

#include <stdbool.h>
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"

enum {
    STRIDE = 16,           /* bytes that are copied at once */
    LITERALS_AT_ONCE = 64, /* of a stream */
};

/* A stream, what is left of it, and its group. */
struct source {
    struct bale_rans_stream stream;
    uint32_t sequences;
    struct lzr_group *group;
    bool in_group; /* the group has another round */
};

/* A round that is being decoded. */
struct round {
    uint32_t lanes;
    uint32_t mask; /* those that have the next class */
    uint32_t most; /* not 0: the second step of raw bits has some */
    uint8_t runs[LZR_ROUND];
    uint8_t matches[LZR_ROUND];
    uint8_t offsets[LZR_ROUND];
    uint8_t bits[LZR_ROUND];
    uint8_t more_bits[LZR_ROUND];
    uint32_t raw[LZR_ROUND];
    uint32_t more[LZR_ROUND];
};

/* A chunk that is being decoded. */
struct chunk {
    struct lzr_decode *d;
    struct source source[LZR_STREAMS];
    unsigned streams;
    bool four;            /* tables of literals */
    unsigned no_literals; /* tables that have no symbol; of literals a bit for each */
    bool no_matches, no_offsets;
    uint8_t *raw;
    uint32_t raw_length;
    uint32_t at; /* bytes that are decoded */
};

static uint32_t packed(struct lzr_class class)
{
    return (uint32_t) class.base << 8 | class.bits;
}

void lzr_decode_init(struct lzr_decode *d, const struct bale_rans_steps *steps)
{
    d->steps = steps;
    for (unsigned c = 0; c < LZR_RUN_CLASSES; c++) {
        d->run_classes[c] = packed(lzr_run_class(c));
        d->run_bits[c] = lzr_run_class(c).bits;
    }
    for (unsigned c = 0; c < LZR_MATCH_CLASSES; c++) {
        d->match_classes[c] = packed(lzr_match_class(c));
        d->match_bits[c] = lzr_match_class(c).bits;
    }
    for (unsigned c = 0; c < LZR_OFFSET_CLASSES; c++) {
        d->offset_classes[c] = packed(lzr_offset_class(c));
        d->offset_bits[c] = lzr_offset_class(c).bits;
    }
}

/* Reads a table at *at and moves it on. */
static bool read_table(struct bale_rans_alphabet alphabet, const uint8_t *in, uint32_t length,
                       uint32_t *at, bale_rans_slot *slots, bool *none)
{
    uint32_t used;
    int64_t bytes = bale_rans_table_read(alphabet, in + *at, length - *at, slots, &used);

    if (bytes < 0)
        return false;
    *at += (uint32_t)bytes;
    *none = used == 0;
    return true;
}

static bool read_tables(struct chunk *c, const uint8_t *in, uint32_t length, uint32_t *at)
{
    struct lzr_decode *d = c->d;
    bool none;

    for (unsigned t = 0; t < (c->four ? LZR_TABLES : 1); t++) {
        if (!read_table(lzr_literals, in, length, at,
                        d->literal_slots + ((size_t)t << LZR_LITERAL_BITS), &none))
            return false;
        c->no_literals |= (unsigned)none << t;
    }
    return read_table(lzr_runs, in, length, at, d->run_slots, &none) && !none &&
           read_table(lzr_matches, in, length, at, d->match_slots, &c->no_matches) &&
           read_table(lzr_offsets, in, length, at, d->offset_slots, &c->no_offsets);
}

static bool read_head(struct chunk *c, const uint8_t *in, uint32_t length)
{
    uint32_t at = 1, words[LZR_STREAMS] = {0}, bytes;

    if (length < 1 || in[0] > (LZR_FLAG_TWO_STREAMS | LZR_FLAG_FOUR_TABLES))
        return false;
    c->streams = in[0] & LZR_FLAG_TWO_STREAMS ? 2 : 1;
    c->four = (in[0] & LZR_FLAG_FOUR_TABLES) != 0;
    if (length < (c->streams == 2 ? 7 : 3))
        return false;
    for (unsigned s = 0; s < c->streams; s++, at += 2)
        c->source[s] = (struct source){.sequences = bale_get16(in + at), .group = &c->d->groups[s]};
    if (c->streams == 2) {
        words[0] = bale_get16(in + at);
        at += 2;
    }
    if (c->source[0].sequences == 0 || !read_tables(c, in, length, &at))
        return false;
    if (at % 2 != 0 && (at == length || in[at++] != 0))
        return false;
    bytes = length - at;
    if (bytes % 2 != 0 || bytes < 2 * words[0])
        return false;
    words[c->streams - 1] = bytes / 2 - words[0];
    memcpy(c->d->words, in + at, bytes);
    at = 0;
    for (unsigned s = 0; s < c->streams; at += 2 * words[s++])
        if (c->source[s].sequences == 0
                ? words[s] != 0
                : !bale_rans_decode_begin(&c->source[s].stream, c->d->words + at, 2 * words[s]))
            return false;
    return true;
}

/* The steps of a round. Those of two streams wait for nothing of each other, so each step is done
 * for both before the next one. */

static bool step_runs(const struct chunk *c, struct source *source, struct round *r)
{
    r->lanes = source->sequences < LZR_ROUND ? source->sequences : LZR_ROUND;
    r->mask = UINT32_MAX >> (LZR_ROUND - r->lanes);
    return c->d->steps->decode(&source->stream, c->d->run_slots, LZR_CLASS_BITS, r->mask, r->runs,
                               LZR_RUN_ONLY, &r->mask);
}

static bool step_matches(const struct chunk *c, struct source *source, struct round *r)
{
    return c->d->steps->decode(&source->stream, c->d->match_slots, LZR_CLASS_BITS, r->mask,
                               r->matches, LZR_MATCH_NONE, &r->mask) &&
           !(r->mask != 0 && c->no_offsets);
}

static bool step_offsets(const struct chunk *c, struct source *source, struct round *r)
{
    const struct lzr_decode *d = c->d;
    uint32_t rest;

    if (!d->steps->decode(&source->stream, d->offset_slots, LZR_CLASS_BITS, r->mask, r->offsets, 0,
                          &rest))
        return false;
    r->most = 0;
    for (uint32_t i = 0; i < LZR_ROUND; i++) {
        uint8_t bits = (uint8_t)(d->run_bits[r->runs[i]] + d->match_bits[r->matches[i]] +
                                 d->offset_bits[r->offsets[i]]);
        r->bits[i] = bits < BALE_RANS_RAW ? bits : BALE_RANS_RAW;
        r->more_bits[i] = (uint8_t)(bits - r->bits[i]);
        r->most |= r->more_bits[i];
    }
    return true;
}

static bool step_raw(const struct chunk *c, struct source *source, struct round *r)
{
    if (!c->d->steps->decode_raw(&source->stream, r->raw, r->bits))
        return false;
    if (r->most == 0)
        return true;
    if (!c->d->steps->decode_raw(&source->stream, r->more, r->more_bits))
        return false;
    for (uint32_t i = 0; i < LZR_ROUND; i++)
        r->raw[i] |= r->more[i] << r->bits[i];
    return true;
}

/* A value: a class's least and so many of the bits; the others stay. */
static inline uint32_t take(uint32_t *raw, uint32_t class)
{
    uint32_t bits = class & 0xff, value = (class >> 8) + (*raw & ((1u << bits) - 1));

    *raw >>= bits;
    return value;
}

/* Turns the classes and raw bits of a round into sequences of the group. */
static void end_round(const struct lzr_decode *d, struct source *source, const struct round *r)
{
    struct lzr_group *g = source->group;
    uint32_t sum = 0;

    memcpy(g->offset_classes + g->sequences, r->offsets, LZR_ROUND);
    for (uint32_t i = 0, at = g->sequences; i < LZR_ROUND; i++, at++) {
        uint32_t bits = r->raw[i];
        g->offsets[at] = (uint16_t)take(&bits, d->offset_classes[r->offsets[i]]);
        g->lengths[at] = (uint16_t)take(&bits, d->match_classes[r->matches[i]]);
        g->runs[at] = (uint8_t)take(&bits, d->run_classes[r->runs[i]]);
        sum += g->runs[at];
    }
    g->literal_count += sum;
    g->sequences += r->lanes;
    source->sequences -= r->lanes;
    source->in_group =
        source->sequences > 0 && g->sequences < LZR_GROUP && g->literal_count < LZR_GROUP_LITERALS;
}

/* Does a step of the next rounds of all groups. */
static bool each(struct chunk *c, struct round rounds[LZR_STREAMS],
                 bool (*step)(const struct chunk *, struct source *, struct round *))
{
    for (unsigned s = 0; s < c->streams; s++)
        if (c->source[s].in_group && !step(c, &c->source[s], &rounds[s]))
            return false;
    return true;
}

/* Decodes the sequences of the groups. */
static bool decode_sequences(struct chunk *c)
{
    struct round rounds[LZR_STREAMS];

    for (unsigned s = 0; s < c->streams; s++) {
        struct source *source = &c->source[s];
        source->in_group = source->sequences > 0;
        source->group->sequences = source->group->literal_count = 0;
    }
    while (c->source[0].in_group || c->source[1].in_group) {
        if (!each(c, rounds, step_runs))
            return false;
        for (unsigned s = 0; s < c->streams; s++)
            if (c->source[s].in_group && rounds[s].mask != 0 && c->no_matches)
                return false;
        if (!each(c, rounds, step_matches) || !each(c, rounds, step_offsets) ||
            !each(c, rounds, step_raw))
            return false;
        for (unsigned s = 0; s < c->streams; s++)
            if (c->source[s].in_group)
                end_round(c->d, &c->source[s], &rounds[s]);
    }
    return true;
}

/* The value if it is the class's, and otherwise 0: without a branch, which would often go the other
 * way. */
static inline unsigned if_class(unsigned class, unsigned its, unsigned value)
{
    return value & (0u - (class == its));
}

/* The offsets of a group that repeat others. They are 0 before. */
static void repeat_offsets(struct lzr_decode *d, struct lzr_group *g)
{
    unsigned last0 = d->last[0], last1 = d->last[1], last2 = d->last[2];

    for (uint32_t i = 0; i < g->sequences; i++) {
        unsigned class = g->offset_classes[i];
        unsigned offset = g->offsets[i] | if_class(class, 0, last0) | if_class(class, 1, last1) |
                          if_class(class, 2, last2);
        g->offsets[i] = (uint16_t)offset;
        last2 = last1;
        last1 = last0;
        last0 = offset;
    }
    d->last[0] = (uint16_t)last0;
    d->last[1] = (uint16_t)last1;
    d->last[2] = (uint16_t)last2;
}

/* Sets the table of each literal of a group that begins at a position, which is the position modulo
 * LZR_TABLES. Returns the position of the group's end. */
static uint32_t set_tables(struct lzr_group *g, uint32_t at)
{
    uint32_t literal = 0;

    for (uint32_t i = 0; i < g->sequences; i++) {
        lzr_set_tables(g->tables + literal, at);
        literal += g->runs[i];
        at += g->runs[i] + g->lengths[i];
    }
    return at;
}

/* The literals that lie in the carries of a stream that ends. */
static bool carried_literals(struct source *source, uint8_t *literals, uint32_t count)
{
    uint16_t carry[BALE_RANS_LANES];
    uint32_t unused = 0;

    if (!bale_rans_decode_end(&source->stream, carry))
        return false;
    for (uint32_t q = 0; q < LZR_CARRIED; q++) {
        uint8_t byte = (uint8_t)(carry[q % BALE_RANS_LANES] >> (q < BALE_RANS_LANES ? 0 : 8));
        if (q < count)
            literals[q] = byte;
        else
            unused |= byte;
    }
    return unused == 0;
}

/* Whether the tables of the group's coded literals have symbols. */
static bool have_tables(const struct chunk *c, const struct lzr_group *g)
{
    unsigned used = g->coded > 0 && !c->four;

    if (c->no_literals != 0 && c->four)
        for (uint32_t i = 0; i < g->coded; i++)
            used |= 1u << g->tables[i];
    return (used & c->no_literals) == 0;
}

/* Decodes the literals of the groups: a few of one and then of the other, as above. */
static bool decode_literals(struct chunk *c)
{
    uint32_t most = 0, at = c->at;

    for (unsigned s = 0; s < c->streams; s++) {
        struct lzr_group *g = c->source[s].group;
        uint32_t carried = g->literal_count < LZR_CARRIED ? g->literal_count : LZR_CARRIED;
        g->coded = g->literal_count - (c->source[s].sequences == 0 ? carried : 0);
        most = g->coded > most ? g->coded : most;
        if (c->four)
            at = set_tables(g, at);
        if (!have_tables(c, g))
            return false;
    }
    for (uint32_t from = 0; from < most; from += LITERALS_AT_ONCE)
        for (unsigned s = 0; s < c->streams; s++) {
            struct lzr_group *g = c->source[s].group;
            uint32_t left = g->coded > from ? g->coded - from : 0;
            if (left > 0 && !c->d->steps->decode_bytes(
                                &c->source[s].stream, c->d->literal_slots, LZR_LITERAL_BITS,
                                g->literals + from, c->four ? g->tables + from : NULL,
                                left < LITERALS_AT_ONCE ? left : LITERALS_AT_ONCE))
                return false;
        }
    return true;
}

/* out[0, bytes) = out[-offset, ...), with room for two strides behind. */
static void copy_match(uint8_t *out, uint32_t offset, uint32_t bytes)
{
    const uint8_t *in = out - offset;

    if (offset >= STRIDE) {
        memcpy(out, in, STRIDE);
        for (uint32_t n = STRIDE; n < bytes; n += STRIDE)
            memcpy(out + n, in + n, STRIDE);
        return;
    }
    /* The bytes repeat with the offset, so after the first stride they are copied from a multiple
     * of it that is a stride or more. */
    for (uint32_t n = 0; n < STRIDE; n++)
        out[n] = in[n];
    offset *= (STRIDE - 1 + offset) / offset;
    for (uint32_t n = STRIDE; n < bytes; n += STRIDE)
        memcpy(out + n, out + n - offset, STRIDE);
}

/* Writes the group's bytes. */
static bool write_group(struct chunk *c, const struct lzr_group *g)
{
    const uint8_t *literal = g->literals;
    uint32_t at = c->at;

    for (uint32_t i = 0; i < g->sequences; i++) {
        uint32_t run = g->runs[i], length = g->lengths[i], offset = g->offsets[i];
        uint8_t *out = c->raw + at;
        if (run + length > c->raw_length - at || (length > 0 && offset > at + run))
            return false;
        at += run + length;
        if (c->raw_length - at >= 2 * STRIDE) {
            memcpy(out, literal, STRIDE);
            for (uint32_t n = STRIDE; n < run; n += STRIDE)
                memcpy(out + n, literal + n, STRIDE);
            if (length > 0)
                copy_match(out + run, offset, length);
        } else {
            memcpy(out, literal, run);
            for (out += run; length > 0; length--, out++)
                *out = *(out - offset);
        }
        literal += run;
    }
    c->at = at;
    return true;
}

/* Decodes the next groups, one of each stream. */
static bool decode_groups(struct chunk *c)
{
    if (!decode_sequences(c) || !decode_literals(c))
        return false;
    for (unsigned s = 0; s < c->streams; s++) {
        struct lzr_group *g = c->source[s].group;
        if (g->sequences == 0)
            continue;
        if (c->source[s].sequences == 0 &&
            !carried_literals(&c->source[s], g->literals + g->coded, g->literal_count - g->coded))
            return false;
        repeat_offsets(c->d, g);
        if (!write_group(c, g))
            return false;
    }
    return true;
}

int lzr_decode(struct lzr_decode *d, const uint8_t *in, uint32_t length, uint8_t *raw,
               uint32_t raw_length, uint32_t end)
{
    struct chunk c = {.d = d, .raw = raw, .raw_length = raw_length};

    if (raw_length > LZR_CHUNK || length > LZR_CHUNK || !read_head(&c, in, length))
        return BALE_E_CORRUPT;
    memcpy(d->last, lzr_first_offsets, sizeof d->last);
    /* A turn of stream 0 without sequences is the last one. So is one of stream 1, behind which
     * stream 0 has none either. */
    while (c.source[0].sequences > 0) {
        if (!decode_groups(&c))
            return BALE_E_CORRUPT;
        if (end < raw_length && c.at >= end)
            return BALE_OK;
        if (c.streams == 2 && c.source[1].group->sequences == 0 && c.source[0].sequences > 0)
            return BALE_E_CORRUPT;
    }
    return c.at == raw_length && c.source[1].sequences == 0 ? BALE_OK : BALE_E_CORRUPT;
}
