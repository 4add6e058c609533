/* The search of level 2: the best of several matches at a position, or a better one behind it. */
#include <stdbool.h>

#include "kernels/codec/entropy.h"
#include "kernels/lzr/search.h"

enum {
    /* Positions that are tried, the last first: with the same hash of eight bytes, and of four; of
     * these a byte ahead of a match. */
    TRIED8 = 4,
    TRIED4 = 2,
    TRIED4_AHEAD = 1,

    ENOUGH = 48,  /* bytes of a match, behind whose begin no better one is looked for */
    PATIENCE = 7, /* log2 of the bytes without a match after which steps grow */

    BIT = 16,             /* of a rank */
    RANK_LEAST = 6 * BIT, /* above which a match is taken */
    /* Of so many bytes one is counted: not of 2, 4 or 8, in which words of these sizes would always
     * show the same byte. */
    COUNTED = 5,
};

/* rank: how good it is: what its bytes would take as literals, by the entropy of the chunk's bytes,
 * less the bits of the offset, which the last offset does not need. */
struct match {
    uint32_t at, length, offset;
    int32_t rank;
};

/* candidates: for each position the last one before it with the same hash of four bytes, and << 16
 * that of eight; 0: there is none. So each position begins a chain. */
struct search {
    const uint32_t *candidates;
    const uint8_t *raw, *end;
    uint32_t last; /* offset */
    int32_t byte;  /* what one adds to a rank */
};

static void find_candidates(struct lzr_full *f, const uint8_t *raw, uint32_t limit)
{
    memset(f->by4, 0, sizeof f->by4);
    memset(f->by8, 0, sizeof f->by8);
    f->candidates[0] = 0;
    for (uint32_t i = 1; i < limit; i++) {
        uint16_t *slot4 = &f->by4[lzr_hash(raw + i, 4, LZR_FULL_BITS4)];
        uint16_t *slot8 = &f->by8[lzr_hash(raw + i, 8, LZR_FULL_BITS8)];
        f->candidates[i] = *slot4 | (uint32_t)*slot8 << 16;
        *slot4 = *slot8 = (uint16_t)i;
    }
}

/* At least one bit, so that long matches are taken where literals cost nothing. */
static int32_t rank_of_byte(const uint8_t *raw, uint32_t length)
{
    uint32_t counts[256] = {0}, total = 0;
    int32_t bits;

    for (uint32_t i = 0; i < length; i += COUNTED, total++)
        counts[raw[i]]++;
    bits = total > 0 ? (int32_t)(bale_entropy_bits(counts, total) * BIT / total >> 16) : 0;
    return bits > BIT ? bits : BIT;
}

static inline void take_better(const struct search *s, struct match *best, uint32_t offset,
                               uint32_t length)
{
    int32_t rank = s->byte * (int32_t)length - BIT * (32 - __builtin_clz(offset));

    if (rank > best->rank)
        *best = (struct match){best->at, length, offset, rank};
}

/* How many bytes at p and before agree, of which so many do. */
static inline uint32_t agreeing(const struct search *s, uint32_t before, uint32_t p, uint32_t known)
{
    return known + lzr_agree(s->raw + before + known, s->raw + p + known, s->end);
}

/* Whether a match of more than so many bytes, 8 or more, may be at p with the position before. */
static inline bool may_be_longer(const struct search *s, uint32_t before, uint32_t p,
                                 uint32_t length)
{
    const uint8_t *at = s->raw + p + length - 3;

    return s->end - at >= 4 && lzr_load32(s->raw + before + length - 3) == lzr_load32(at);
}

/* The best match at p with a rank above this one; length 0: there is none. */
static inline struct match best_match(const struct search *s, uint32_t p, int32_t rank,
                                      unsigned tried4)
{
    const uint8_t *raw = s->raw;
    uint64_t here = lzr_load64(raw + p);
    struct match m = {.at = p, .rank = rank};
    bool has_eight = false; /* bytes that agree */
    uint32_t q = s->candidates[p] >> 16;

    for (unsigned i = 0; i < TRIED8 && q != 0; i++, q = s->candidates[q] >> 16)
        if (lzr_load64(raw + q) == here) {
            has_eight = true;
            if (m.length <= 8 || may_be_longer(s, q, p, m.length))
                take_better(s, &m, p - q, agreeing(s, q, p, 8));
        }
    q = has_eight ? 0 : s->candidates[p] & 0xffff;
    for (unsigned i = 0; i < tried4 && q != 0; i++, q = s->candidates[q] & 0xffff) {
        uint64_t difference = lzr_load64(raw + q) ^ here;
        if ((uint32_t)difference == 0)
            take_better(s, &m, p - q,
                        difference != 0 ? (uint32_t)__builtin_ctzll(difference) >> 3
                                        : agreeing(s, q, p, 8));
    }
    if (s->last <= p && lzr_load32(raw + p - s->last) == (uint32_t)here) {
        uint32_t length = agreeing(s, p - s->last, p, 4);
        if (s->byte * (int32_t)length > m.rank)
            m = (struct match){p, length, s->last, s->byte * (int32_t)length};
    }
    return m;
}

/* A match, or one that begins a byte later and is better by more than that byte, and so on. */
static inline struct match best_ahead(const struct search *s, struct match m, uint32_t limit)
{
    while (m.at + 1 < limit && m.length < ENOUGH) {
        struct match next = best_match(s, m.at + 1, m.rank + s->byte, TRIED4_AHEAD);
        if (next.length == 0)
            break;
        m = next;
    }
    return m;
}

void lzr_search_full(struct lzr_full *f, const uint8_t *raw, uint32_t length,
                     struct lzr_found *found)
{
    struct search s = {f->candidates, raw, raw + length, 1, rank_of_byte(raw, length)};
    uint32_t limit = length > LZR_SEARCH_TAIL ? length - LZR_SEARCH_TAIL : 0;
    uint32_t anchor = 0; /* the first byte that is in no sequence */

    lzr_found_begin(found);
    find_candidates(f, raw, limit);
    for (uint32_t p = 1; p < limit;) {
        struct match m = best_match(&s, p, RANK_LEAST, TRIED4);
        if (m.length == 0) {
            p += 1 + ((p - anchor) >> PATIENCE);
            continue;
        }
        m = best_ahead(&s, m, limit);
        for (; m.at > anchor && m.at > m.offset && raw[m.at - 1] == raw[m.at - 1 - m.offset];
             m.at--)
            m.length++;
        if (m.length > LZR_MATCH_MAX)
            m.length = LZR_MATCH_MAX;
        lzr_found_add(found, m.at - anchor, m.length, m.offset);
        s.last = m.offset;
        anchor = p = m.at + m.length;
    }
    lzr_found_add(found, length - anchor, 0, 0);
}
