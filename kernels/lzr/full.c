/* The search of level 2: two matches at each position, and then the cheapest way through them. */
#include "kernels/codec/entropy.h"
#include "kernels/lzr/search.h"

enum {
    LONG = 32,     /* inside a match of so many bytes nothing is looked for but near its end */
    LONG_STEP = 4, /* every so many positions there are noted */
    PATIENCE = 7,  /* log2 of the positions without a match after which steps grow */
    WARM_UP = 64,  /* bytes behind a sample, whose ways are found, too */
    SAMPLE = 512,  /* bytes of a sample, */
    SAMPLE_EVERY = 4096, /* and how far from one to the next */
    SAMPLE_LEAST = 64,   /* matches from which on a sample tells prices */

    /* Prices in 1/16 bit. */
    BIT = 16,
    RUN_PRICE = 20, /* of the run before a match */
    LENGTH_FIRST = 30,
    CLASS_FIRST = 2,
    LENGTH_PRICE_MOST = 140,
    OFFSET_FIRST = 80,
    OFFSET_PRICE_MOST = 176,
    QUARTER = 24, /* of an offset's class among those of the same log2 */
    REPEAT_FIRST = 32,
    REPEAT_MORE = 10,
};

/* How good a match is: four for each byte, less the log2 of the offset. */
static inline uint32_t rank_of(uint32_t length, uint32_t offset)
{
    return length > 0 ? 4 * length + (uint32_t)__builtin_clz(offset | 1) : 0;
}

/* ---- Matches ---- */

static inline uint32_t better(uint32_t a, uint32_t b)
{
    return rank_of(a >> 16, a & 0xffff) >= rank_of(b >> 16, b & 0xffff) ? a : b;
}

/* The match at i with the position before it: offset, length << 16; 0: fewer than 4 bytes agree.
 * difference: of their first eight. */
static inline uint32_t match_with(const uint8_t *raw, uint32_t length, uint32_t i, uint32_t before,
                                  uint64_t difference)
{
    uint32_t n = (uint32_t)__builtin_ctzll(difference | UINT64_C(1) << 63) >> 3;

    if (difference == 0)
        n = 8 + lzr_agree(raw + before + 8, raw + i + 8, raw + length);
    if (n > LZR_MATCH_MAX)
        n = LZR_MATCH_MAX;
    return n >= 4 ? (i - before) | n << 16 : 0;
}

static inline void note(struct lzr_full *f, const uint8_t *at, uint32_t i)
{
    f->by4[lzr_hash(at, 4, LZR_FULL_BITS4)] = (uint16_t)i;
    f->by8[lzr_hash(at, 8, LZR_FULL_BITS8)] = (uint16_t)i;
}

/* Finds the matches, and counts the literals that none covers. Returns the bytes that one
 * covers. */
static uint32_t find_matches(struct lzr_full *f, const uint8_t *raw, uint32_t length)
{
    uint32_t limit = length > LZR_SEARCH_TAIL ? length - LZR_SEARCH_TAIL : 0;
    uint32_t covered = 0, bytes = 0, misses = 0; /* covered: where the last of the matches ends */

    memset(f->by4, 0, sizeof f->by4);
    memset(f->by8, 0, sizeof f->by8);
    memset(f->found, 0, (length + 1) * sizeof f->found[0]);
    for (uint32_t i = 1, step; i < limit; i += step) {
        uint64_t here = lzr_load64(raw + i);
        uint16_t *slot8 = &f->by8[lzr_hash(raw + i, 8, LZR_FULL_BITS8)];
        uint16_t *slot4 = &f->by4[lzr_hash(raw + i, 4, LZR_FULL_BITS4)];
        uint32_t before8 = *slot8, before4 = *slot4;
        uint64_t difference8 = lzr_load64(raw + before8) ^ here;
        uint64_t difference4 = lzr_load64(raw + before4) ^ here;
        *slot8 = *slot4 = (uint16_t)i;
        uint32_t match = match_with(raw, length, i, before4, difference4);
        if (before8 != before4 && difference8 == 0)
            match = better(match_with(raw, length, i, before8, difference8), match);
        f->found[i] = match;
        step = 1;
        if (match == 0) {
            if (i >= covered) {
                f->literals[raw[i]]++;
                step += misses++ >> PATIENCE;
            }
            continue;
        }
        misses = 0;
        step = 2; /* most matches at the next position are this one's rest */
        note(f, raw + i + 1, i + 1);
        if (i + (match >> 16) > covered) {
            bytes += i + (match >> 16) - (covered > i ? covered : i);
            covered = i + (match >> 16);
        }
        if (match >> 16 >= LONG) {
            step = (match >> 16) - LONG / 2;
            for (uint32_t k = LONG_STEP; k < step && i + k < limit; k += LONG_STEP)
                note(f, raw + i + k, i + k);
        }
    }
    return bytes;
}

/* ---- Prices ---- */

static uint32_t price_of(uint32_t count, uint32_t total)
{
    return (bale_log2_q16(16 * total + 16) - bale_log2_q16(16 * count + 1)) >> 12;
}

static void price_literals(struct lzr_full *f)
{
    uint32_t total = 0;

    for (unsigned i = 0; i < 256; i++)
        total += f->literals[i];
    for (unsigned i = 0; i < 256; i++)
        f->literal_price[i] = (uint16_t)price_of(f->literals[i], total);
    memset(f->literals, 0, sizeof f->literals);
}

static void price_lengths(struct lzr_full *f)
{
    for (unsigned length = LZR_MATCH_MIN; length < LZR_LENGTHS; length++)
        f->length_price[length] = f->match_price[lzr_class_of_length(length)];
}

static uint16_t match_price(unsigned class, uint32_t price)
{
    return (uint16_t)(RUN_PRICE + price + BIT * lzr_match_class(class).bits);
}

static uint16_t offset_price(unsigned log2, uint32_t price)
{
    return (uint16_t)(price + (log2 > 2 ? BIT * (log2 - 2) : 0));
}

static void first_prices(struct lzr_full *f)
{
    price_literals(f);
    for (unsigned class = 1; class < LZR_MATCH_CLASSES; class ++)
        f->match_price[class] = match_price(class, LENGTH_FIRST + CLASS_FIRST * class);
    price_lengths(f);
    for (unsigned log2 = 0; log2 < LZR_OFFSETS_LOG2; log2++)
        f->offset_price[log2] = offset_price(log2, OFFSET_FIRST);
    f->repeat_price = REPEAT_FIRST;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* What is counted of a sample's ways. */
struct counts {
    uint32_t matches, classes[LZR_MATCH_CLASSES];
    uint32_t repeats, offsets[LZR_OFFSETS_LOG2];
};

static void prices_of(struct lzr_full *f, const struct counts *c)
{
    if (c->matches < SAMPLE_LEAST)
        return;
    price_literals(f);
    for (unsigned class = 1; class < LZR_MATCH_CLASSES; class ++)
        f->match_price[class] =
            match_price(class, least(LENGTH_PRICE_MOST, price_of(c->classes[class], c->matches)));
    price_lengths(f);
    for (unsigned log2 = 0; log2 < LZR_OFFSETS_LOG2; log2++)
        f->offset_price[log2] = offset_price(
            log2, QUARTER + least(OFFSET_PRICE_MOST, price_of(c->offsets[log2], c->matches)));
    f->repeat_price = (uint16_t)(REPEAT_MORE + price_of(c->repeats, c->matches));
}

/* ---- Ways ---- */

/* A match that goes on to the left. What the way costs from its end on does not change. */
struct match {
    uint32_t offset, length;
    uint32_t price;               /* of the offset */
    uint32_t behind, behind_less; /* the cost from its end on, and from a byte before that */
};

static inline uint32_t price_of_length(const struct lzr_full *f, uint32_t length)
{
    return length < LZR_LENGTHS ? f->length_price[length]
                                : f->match_price[lzr_class_of_length(length)];
}

/* Finds the cheapest way from each position of [begin, end) to the end, the last first. What it
 * begins with, offset and length << 16, or 0, goes to chosen[0, end - begin). */
static void find_ways(struct lzr_full *f, const uint8_t *raw, uint32_t begin, uint32_t end,
                      uint32_t *chosen)
{
    struct match m = {.offset = 1};
    struct match first = {.offset = 0}; /* the first of the cheapest way, */
    uint32_t next = 0;                  /* and where it begins */
    uint32_t cost = 0;

    f->costs[end] = 0;
    for (uint32_t p = end; p-- > begin;) {
        const uint8_t *at = raw + p;
        uint32_t found = f->found[p], n = least(found >> 16, end - p), now = 0, offer;
        m.length = m.length > 0 && m.offset <= p && *(at - m.offset) == *at
                       ? least(m.length + 1, LZR_MATCH_MAX)
                       : 0;
        if (n >= 4 && rank_of(n, found & 0xffff) > rank_of(m.length, m.offset)) {
            m.offset = found & 0xffff;
            m.length = n;
            m.price = f->offset_price[lzr_log2(m.offset)];
            m.behind = f->costs[p + n];
            m.behind_less = f->costs[p + n - 1];
        }
        if (first.offset > 0 && first.offset <= p && *(at - first.offset) == *at) {
            if (first.length == 0)
                first.behind = cost;
            first.length = least(first.length + 1, LZR_MATCH_MAX);
        } else {
            first.length = 0;
        }
        cost += f->literal_price[*at];
        if (m.length >= 4) {
            bool again = m.offset == first.offset && p + m.length <= next;
            uint32_t price = again ? f->repeat_price : m.price;
            offer = m.behind + price + price_of_length(f, m.length);
            if (offer < cost) {
                cost = offer;
                now = m.offset | m.length << 16;
            }
            offer = m.behind_less + price + price_of_length(f, m.length - 1);
            if (offer < cost && m.length > 4) {
                cost = offer;
                now = m.offset | (m.length - 1) << 16;
            }
        }
        if (first.length >= LZR_MATCH_MIN) {
            offer = first.behind + (p + first.length <= next ? f->repeat_price : first.price) +
                    price_of_length(f, first.length);
            if (offer < cost) {
                cost = offer;
                now = first.offset | first.length << 16;
            }
        }
        if (now != 0) {
            next = p;
            if ((now & 0xffff) != first.offset)
                first = m;
        }
        f->costs[p] = cost;
        chosen[p - begin] = now;
    }
}

/* Takes the prices from the ways of samples. */
static void learn_prices(struct lzr_full *f, const uint8_t *raw, uint32_t length)
{
    struct counts c = {0};
    uint32_t chosen[SAMPLE + WARM_UP];

    for (uint32_t begin = SAMPLE_EVERY - SAMPLE; begin + SAMPLE + WARM_UP <= length;
         begin += SAMPLE_EVERY) {
        uint32_t last = 0;
        find_ways(f, raw, begin, begin + SAMPLE + WARM_UP, chosen);
        for (uint32_t i = 0; i < SAMPLE;) {
            uint32_t offset = chosen[i] & 0xffff, n = chosen[i] >> 16;
            if (n == 0) {
                f->literals[raw[begin + i++]]++;
                continue;
            }
            c.matches++;
            c.classes[lzr_class_of_length(n)]++;
            if (offset == last)
                c.repeats++;
            else
                c.offsets[lzr_log2(offset)]++;
            last = offset;
            i += n;
        }
    }
    prices_of(f, &c);
}

void lzr_search_full(struct lzr_full *f, const uint8_t *raw, uint32_t length,
                     struct lzr_found *found)
{
    uint32_t anchor = 0;

    memset(f->literals, 0, sizeof f->literals);
    lzr_found_begin(found);
    if (find_matches(f, raw, length) < length / 32) { /* there is hardly anything to be found */
        lzr_found_add(found, length, 0, 0);
        return;
    }
    first_prices(f);
    learn_prices(f, raw, length);
    find_ways(f, raw, 0, length, f->found);
    for (uint32_t i = 0; i < length;) {
        uint32_t n = f->found[i] >> 16;
        if (n == 0) {
            i++;
            continue;
        }
        lzr_found_add(found, i - anchor, n, f->found[i] & 0xffff);
        i += n;
        anchor = i;
    }
    lzr_found_add(found, length - anchor, 0, 0);
}
