/* The search of level 2: the cheapest way through the matches that were found. */
#include "kernels/codec/entropy.h"
#include "kernels/lzr/search.h"

enum {
    LONG = 64,       /* a match of so many bytes is taken as it is */
    START = 1 << 20, /* the first cost: some steps cost less than nothing */
    NEVER = 1 << 30, /* above any cost */

    /* So many literals up to a position that a match covers: nothing is tried there. */
    DEAR_RUN = 3,

    /* A match of so many bytes keeps the search from trying shorter hashes. */
    ENOUGH6 = 8,
    ENOUGH4 = 6,
    ENOUGH3 = 4,
};

/* The price of something that was counted so often, of total, in 1/16 bit. */
static uint32_t price(uint32_t count, uint32_t total)
{
    return (bale_log2_q16(16 * total + 16) - bale_log2_q16(16 * count + 1)) >> 12;
}

static uint32_t sum_of(const uint32_t *counts, unsigned count)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < count; i++)
        sum += counts[i];
    return sum;
}

static uint16_t class_price(const uint32_t *counts, unsigned class, uint32_t total,
                            struct lzr_class of)
{
    return (uint16_t)(price(counts[class], total) + 16u * of.bits);
}

static void set_prices(struct lzr_full *f, const struct lzr_emit *e, const uint32_t literals[256])
{
    uint32_t runs = sum_of(e->run_counts, LZR_RUN_CLASSES);
    uint32_t matches = sum_of(e->match_counts, LZR_MATCH_CLASSES);
    uint32_t offsets = sum_of(e->offset_counts, LZR_OFFSET_CLASSES);
    uint32_t bytes = sum_of(literals, 256);

    for (unsigned i = 0; i < 256; i++)
        f->literal_price[i] = (uint16_t)price(literals[i], bytes);
    for (unsigned run = 0; run < LZR_RUN; run++) {
        unsigned class = lzr_class_of_run(run);
        f->run_price[run] = class_price(e->run_counts, class, runs, lzr_run_class(class));
    }
    f->run_price[LZR_RUN] = (uint16_t)(price(e->run_counts[LZR_RUN_ONLY], runs) + f->run_price[0]);
    for (unsigned class = 0; class < LZR_MATCH_CLASSES; class ++)
        f->match_price[class] =
            class_price(e->match_counts, class, matches, lzr_match_class(class));
    for (unsigned length = LZR_MATCH_MIN; length < LZR_LENGTHS; length++)
        f->length_price[length] = f->match_price[lzr_class_of_length(length)];
    for (unsigned class = 0; class < LZR_OFFSET_CLASSES; class ++)
        f->offset_price[class] =
            class_price(e->offset_counts, class, offsets, lzr_offset_class(class));
}

/* The chunk at work, and the longest match at a position. */
struct search {
    struct lzr_full *f;
    const uint8_t *raw, *end;
    uint32_t longest, offset;
};

/* The node behind a match at i gets it, if that is the cheapest way there. */
static inline void offer(struct lzr_full *f, uint32_t i, uint32_t length, uint32_t offset,
                         uint32_t offset_price)
{
    const struct lzr_node *from = &f->nodes[i];
    struct lzr_node *to = &f->nodes[i + length];
    uint32_t cost = from->cost + offset_price + f->run_price[0] +
                    (length < LZR_LENGTHS ? f->length_price[length]
                                          : f->match_price[lzr_class_of_length(length)]);

    if (cost < to->cost)
        *to = (struct lzr_node){.cost = cost,
                                .length = (uint16_t)length,
                                .last = {(uint16_t)offset, from->last[0], from->last[1]}};
}

static inline void offer_literal(struct lzr_full *f, uint32_t i, uint8_t byte)
{
    const struct lzr_node *from = &f->nodes[i];
    struct lzr_node *to = &f->nodes[i + 1];
    uint32_t run = from->run == LZR_RUN ? 0 : from->run;
    uint32_t cost = from->cost + f->literal_price[byte] + f->run_price[run + 1] - f->run_price[run];

    if (cost >= to->cost)
        return;
    *to = *from;
    to->cost = cost;
    to->length = 0;
    to->run = (uint16_t)(run + 1);
}

/* Offers the match at i and an offset, if there is one. */
static inline void try_offset(struct search *s, uint32_t i, uint32_t offset, uint32_t offset_price)
{
    const uint8_t *at = s->raw + i;
    uint32_t length = 3, difference = lzr_load32(at) ^ lzr_load32(at - offset);

    if (difference << 8 != 0)
        return;
    if (difference == 0)
        length = 4 + lzr_agree(at + 4 - offset, at + 4, s->end);
    if (length > LZR_MATCH_MAX)
        length = LZR_MATCH_MAX;
    offer(s->f, i, length, offset, offset_price);
    if (length > s->longest) {
        s->longest = length;
        s->offset = offset;
    }
}

/* Offers the match at i with the position that a hash had before, and notes i. */
static inline void try_slot(struct search *s, uint32_t i, uint16_t *slot, uint32_t enough,
                            uint32_t *tried)
{
    uint32_t before = *slot;

    *slot = (uint16_t)i;
    if (s->longest >= enough || before == 0 || before == *tried)
        return;
    *tried = before;
    try_offset(s, i, i - before, s->f->offset_price[lzr_class_of_offset(i - before)]);
}

/* Offers the matches at i: with the last offsets, with that of the longest match at the position
 * before, and with the nearest that have the same hash. */
static void offer_matches(struct search *s, uint32_t i)
{
    struct lzr_full *f = s->f;
    const uint8_t *at = s->raw + i;
    uint32_t left = s->longest - 1, inherited = s->longest > LZR_MATCH_MIN ? s->offset : 0;
    uint32_t tried = i - inherited;

    s->longest = 0;
    for (unsigned r = 0; r + 1 < LZR_REPEATS; r++)
        if (f->nodes[i].last[r] <= i)
            try_offset(s, i, f->nodes[i].last[r], f->offset_price[r]);
    if (inherited > 0) {
        /* It ends where it ended. */
        offer(f, i, left, inherited, f->offset_price[lzr_class_of_offset(inherited)]);
        if (left > s->longest) {
            s->longest = left;
            s->offset = inherited;
        }
    }
    try_slot(s, i, &f->by8[lzr_hash(at, 8, LZR_FULL_BITS8)], UINT32_MAX, &tried);
    try_slot(s, i, &f->by6[lzr_hash(at, 6, LZR_FULL_BITS6)], ENOUGH6, &tried);
    try_slot(s, i, &f->by4[lzr_hash(at, 4, LZR_FULL_BITS4)], ENOUGH4, &tried);
    try_slot(s, i, &f->by3[lzr_hash(at, 3, LZR_FULL_BITS3)], ENOUGH3, &tried);
}

/* Notes a position at which nothing is tried. */
static inline void note(struct lzr_full *f, const uint8_t *at, uint32_t i)
{
    f->by8[lzr_hash(at, 8, LZR_FULL_BITS8)] = (uint16_t)i;
    f->by6[lzr_hash(at, 6, LZR_FULL_BITS6)] = (uint16_t)i;
    f->by4[lzr_hash(at, 4, LZR_FULL_BITS4)] = (uint16_t)i;
    f->by3[lzr_hash(at, 3, LZR_FULL_BITS3)] = (uint16_t)i;
}

/* Finds the cheapest way to every position. Where a match covers a position that the cheapest way
 * reaches by several literals, the way to the end is unlikely to lead there: nothing is tried. */
static void find_ways(struct lzr_full *f, const uint8_t *raw, uint32_t length)
{
    struct search s = {.f = f, .raw = raw, .end = raw + length};
    uint32_t limit = length > LZR_SEARCH_TAIL ? length - LZR_SEARCH_TAIL : 0;
    uint32_t covered = 0; /* the end of the farthest match that was found */

    memset(f->by3, 0, sizeof f->by3);
    memset(f->by4, 0, sizeof f->by4);
    memset(f->by6, 0, sizeof f->by6);
    memset(f->by8, 0, sizeof f->by8);
    for (uint32_t i = 0; i <= length; i++)
        f->nodes[i].cost = NEVER;
    f->nodes[0] = (struct lzr_node){.cost = START};
    memcpy(f->nodes[0].last, lzr_first_offsets, sizeof lzr_first_offsets);
    for (uint32_t i = 0; i < length; i++) {
        offer_literal(f, i, raw[i]);
        if (i >= limit)
            continue;
        if (i < covered && f->nodes[i].length == 0 && f->nodes[i].run >= DEAR_RUN) {
            note(f, raw + i, i);
            s.longest -= s.longest > 0;
            continue;
        }
        offer_matches(&s, i);
        if (i + s.longest > covered)
            covered = i + s.longest;
        if (s.longest >= LONG) {
            i += s.longest - 1;
            s.longest = 0;
        }
    }
}

/* Writes the way to the end: first from there back, where the node behind a match gets the position
 * of the next one's. */
static void write_way(struct lzr_full *f, uint32_t length, struct lzr_found *found)
{
    uint32_t next = 0, anchor = 0;

    for (uint32_t i = length; i > 0;) {
        struct lzr_node *node = &f->nodes[i];
        if (node->length == 0) {
            i--;
            continue;
        }
        node->cost = next;
        next = i;
        i -= node->length;
    }
    lzr_found_begin(found);
    for (; next > 0; next = f->nodes[next].cost) {
        const struct lzr_node *node = &f->nodes[next];
        lzr_found_add(found, next - node->length - anchor, node->length, node->last[0]);
        anchor = next;
    }
    lzr_found_add(found, length - anchor, 0, 0);
}

void lzr_search_full(struct lzr_full *f, struct lzr_emit *e, const uint8_t *raw, uint32_t length,
                     struct lzr_found *found)
{
    uint32_t literals[256] = {0}, at = 0;

    lzr_search_fast(&f->fast, raw, length, found);
    if (found->literals > length - length / 32)
        return; /* there is hardly anything to be found */
    lzr_emit_classes(e, found);
    for (uint32_t i = 0; i < found->count; at += found->runs[i] + found->lengths[i], i++)
        for (uint32_t n = 0; n < found->runs[i]; n++)
            literals[raw[at + n]]++;
    set_prices(f, e, literals);
    find_ways(f, raw, length);
    write_way(f, length, found);
}
