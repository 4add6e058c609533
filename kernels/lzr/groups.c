#include "kernels/lzr/groups.h"

enum { STRIDE = 16 /* bytes that are copied at once */ };

/* The tables of a run of literals from a position on, where there are four: the position modulo 4.
 * to has room for LZR_RUN. */
static inline void set_run_tables(uint8_t *to, uint32_t position, uint32_t run)
{
    static const uint8_t turns[LZR_RUN + LZR_TABLES] = {
        0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2,
        3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1,
        2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    const uint8_t *from = turns + position % LZR_TABLES;

    memcpy(to, from, LZR_RUN / 4);
    if (run > LZR_RUN / 4)
        memcpy(to + LZR_RUN / 4, from + LZR_RUN / 4, LZR_RUN - LZR_RUN / 4);
}

/* Sets the table of each literal of a group that begins at a position, which is the position modulo
 * LZR_TABLES. Returns the position of the group's end. */
static uint32_t set_tables(const struct lzr_group *g, uint8_t *tables, uint32_t at)
{
    for (uint32_t i = 0; i < g->sequences; i++) {
        set_run_tables(tables, at, g->runs[i]);
        tables += g->runs[i];
        at += g->runs[i] + g->lengths[i];
    }
    return at;
}

/* Whether the tables of the coded literals have symbols. */
static bool have_tables(const struct lzr_chunk *c, const struct lzr_literals *literals)
{
    unsigned used = literals->coded > 0 && !c->four;

    if (c->no_literals != 0 && c->four)
        for (uint32_t i = 0; i < literals->coded; i++)
            used |= 1u << literals->tables[i];
    return (used & c->no_literals) == 0;
}

/* The literals that lie in the carries of a stream that ends. */
static bool carried_literals(const struct lzr_source *source, uint8_t *bytes, uint32_t count)
{
    uint16_t carry[BALE_RANS_LANES];
    uint32_t unused = 0;

    if (!bale_rans_decode_end(&source->stream, carry))
        return false;
    for (uint32_t q = 0; q < LZR_CARRIED; q++) {
        uint8_t byte = (uint8_t)(carry[q % BALE_RANS_LANES] >> (q < BALE_RANS_LANES ? 0 : 8));
        if (q < count)
            bytes[q] = byte;
        else
            unused |= byte;
    }
    return unused == 0;
}

bool lzr_decode_literals(struct lzr_chunk *c)
{
    struct lzr_decode *d = c->decode;
    struct bale_rans_bytes bytes[LZR_STREAMS];
    uint32_t at = c->at;

    for (unsigned s = 0; s < LZR_STREAMS; s++) {
        struct lzr_source *source = &c->source[s];
        struct lzr_literals *literals = &d->literals[s];
        uint32_t count = source->group->literal_count;
        uint32_t carried = count < LZR_CARRIED ? count : LZR_CARRIED;
        literals->coded = count - (source->sequences == 0 ? carried : 0);
        if (c->four)
            at = set_tables(source->group, literals->tables, at);
        if (!have_tables(c, literals))
            return false;
        bytes[s] = (struct bale_rans_bytes){.stream = &source->stream,
                                            .out = literals->bytes,
                                            .table = c->four ? literals->tables : NULL,
                                            .count = literals->coded};
    }
    if (!d->rounds->steps->decode_bytes(bytes, d->literal_slots, LZR_LITERAL_BITS))
        return false;
    for (unsigned s = 0; s < LZR_STREAMS; s++) {
        struct lzr_source *source = &c->source[s];
        uint32_t coded = d->literals[s].coded;
        if (source->group->sequences > 0 && source->sequences == 0 &&
            !carried_literals(source, d->literals[s].bytes + coded,
                              source->group->literal_count - coded))
            return false;
    }
    return true;
}

/* Sets the offsets that repeat others; those before the group's are known. */
static void repeat_offsets(struct lzr_decode *d, struct lzr_group *g)
{
    memcpy(g->offsets, d->last, sizeof d->last);
    for (uint32_t first = 0; first < g->sequences; first += LZR_ROUND)
        for (uint32_t mask = g->repeated[first / LZR_ROUND]; mask != 0; mask &= mask - 1) {
            uint32_t i = first + (uint32_t)__builtin_ctz(mask);
            g->offsets[LZR_REPEATS + i] = g->offsets[LZR_REPEATS + i - 1 - g->repeats[i]];
        }
    memcpy(d->last, g->offsets + g->sequences, sizeof d->last);
}

/* out[0, bytes) = out[-offset, ...), with room for two strides behind. */
static inline void copy_match(uint8_t *out, uint32_t offset, uint32_t bytes)
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

bool lzr_write_group(struct lzr_chunk *c, unsigned stream)
{
    struct lzr_group *g = c->source[stream].group;
    const uint8_t *literal = c->decode->literals[stream].bytes;
    uint32_t at = c->at;

    repeat_offsets(c->decode, g);
    for (uint32_t i = 0; i < g->sequences; i++) {
        uint32_t run = g->runs[i], length = g->lengths[i], offset = g->offsets[LZR_REPEATS + i];
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
