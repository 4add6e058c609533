/* The search of level 1. */
#include <stdbool.h>

#include "kernels/lzr/search.h"

enum {
    LONGEST = 4096, /* of the parts of a match that is longer than one may be */

    /* The search looks for long matches, too, in the first piece of a chunk and in those behind a
     * piece with few literals: so many of 32 bytes, in the first piece and in others. */
    PIECE = 8192,
    FEW_AT_FIRST = 11,
    FEW = 7,

    /* Each 2^this bytes without a match, the search takes a longer step; where literals are
     * many. */
    SKIP = 6,
    SKIP_MANY = 5,
};

/* The search with long matches and that without are compiled apart. */
#define INLINE static inline __attribute__((always_inline))

/* The search at work. The last offset is tried before anything else. */
struct search {
    struct lzr_fast *tables;
    const uint8_t *raw, *end;
    uint32_t last;   /* offset, at most the position that the search is at */
    uint32_t anchor; /* the first byte that is in no sequence */
    struct lzr_found *found;
};

struct match {
    uint32_t at, from, length;
};

static inline bool same4(const uint8_t *raw, uint32_t a, uint32_t b)
{
    return lzr_load32(raw + a) == lzr_load32(raw + b);
}

static inline bool same8(const uint8_t *raw, uint32_t a, uint32_t b)
{
    return lzr_load64(raw + a) == lzr_load64(raw + b);
}

/* The match at a position that has so many bytes at least. */
static inline struct match match_of(const struct search *s, uint32_t at, uint32_t from,
                                    uint32_t least)
{
    return (struct match){at, from,
                          least + lzr_agree(s->raw + from + least, s->raw + at + least, s->end)};
}

/* The same with what agrees before it, down to the anchor. */
static inline struct match match_around(const struct search *s, uint32_t at, uint32_t from,
                                        uint32_t least)
{
    struct match m = match_of(s, at, from, least);

    for (; m.at > s->anchor && m.from > 0 && s->raw[m.at - 1] == s->raw[m.from - 1]; m.length++) {
        m.at--;
        m.from--;
    }
    return m;
}

/* Looks for a match at a position, or one behind it, and notes the position. */
INLINE bool find(const struct search *s, uint32_t at, bool longer, struct match *m)
{
    const uint8_t *raw = s->raw;
    uint16_t *short_slot = &s->tables->by5[lzr_hash(raw + at, 5, LZR_FAST_SHORT)];
    uint16_t *long_slot = &s->tables->by8[lzr_hash(raw + at, 8, LZR_FAST_LONG)], *next_slot;
    uint32_t near = *short_slot, far = 0, next = at + 1, next_far;

    *short_slot = (uint16_t)at;
    if (longer) {
        far = *long_slot;
        *long_slot = (uint16_t)at;
    }
    if (same4(raw, next, next - s->last)) {
        *m = match_of(s, next, next - s->last, 4);
        return true;
    }
    if (longer && same8(raw, far, at)) {
        *m = match_around(s, at, far, 8);
        return true;
    }
    if (!same4(raw, near, at))
        return false;
    if (longer) {
        next_slot = &s->tables->by8[lzr_hash(raw + next, 8, LZR_FAST_LONG)];
        next_far = *next_slot;
        *next_slot = (uint16_t)next;
        if (same8(raw, next_far, next)) {
            *m = match_around(s, next, next_far, 8);
            return true;
        }
    }
    *m = match_around(s, at, near, 4);
    return true;
}

static inline void add(struct search *s, struct match m)
{
    uint32_t offset = m.at - m.from;

    for (; m.length > LZR_MATCH_MAX; m.length -= LONGEST) {
        lzr_found_add(s->found, m.at - s->anchor, LONGEST, offset);
        s->anchor = m.at += LONGEST;
    }
    lzr_found_add(s->found, m.at - s->anchor, m.length, offset);
    s->anchor = m.at + m.length;
    s->last = offset;
}

/* Notes some positions of a match that began at first and ends at the anchor. */
INLINE void note(const struct search *s, uint32_t first, bool longer)
{
    const uint8_t *raw = s->raw;
    uint16_t *by5 = s->tables->by5, *by8 = s->tables->by8;
    uint32_t last = s->anchor;

    by5[lzr_hash(raw + last - 1, 5, LZR_FAST_SHORT)] = (uint16_t)(last - 1);
    if (longer) {
        by5[lzr_hash(raw + first + 2, 5, LZR_FAST_SHORT)] = (uint16_t)(first + 2);
        by8[lzr_hash(raw + first + 1, 8, LZR_FAST_LONG)] = (uint16_t)(first + 1);
        by8[lzr_hash(raw + first + 2, 8, LZR_FAST_LONG)] = (uint16_t)(first + 2);
        by8[lzr_hash(raw + last - 2, 8, LZR_FAST_LONG)] = (uint16_t)(last - 2);
    }
}

/* Searches from a position to another, or to the end of a match behind that, and returns it. */
INLINE uint32_t search_piece(struct search *s, uint32_t at, uint32_t to, bool longer)
{
    struct match m;

    while (at < to) {
        if (!find(s, at, longer, &m)) {
            at += 1 + ((at - s->anchor) >> (longer ? SKIP : SKIP_MANY));
            continue;
        }
        add(s, m);
        at = s->anchor;
        if (at < to)
            note(s, m.at, longer);
    }
    return at;
}

/* The literals before a position, with those that no sequence has yet. */
static uint32_t literals_before(const struct search *s, uint32_t at)
{
    return s->found->literals + at - s->anchor;
}

void lzr_search_fast(struct lzr_fast *tables, const uint8_t *raw, uint32_t length,
                     struct lzr_found *found)
{
    struct search s = {.tables = tables,
                       .raw = raw,
                       .end = raw + length,
                       .last = lzr_first_offsets[0],
                       .found = found};
    uint32_t at = 1, limit = length > LZR_SEARCH_TAIL ? length - LZR_SEARCH_TAIL : 0;
    uint32_t literals, from, to;
    bool longer = true;

    lzr_found_begin(found);
    memset(tables, 0, sizeof *tables);
    while (at < limit) {
        literals = literals_before(&s, at);
        from = at;
        to = from / PIECE * PIECE + PIECE;
        to = to < limit ? to : limit;
        at = longer ? search_piece(&s, from, to, true) : search_piece(&s, from, to, false);
        literals = literals_before(&s, at) - literals;
        longer = 32 * literals < (at - from) * (from < PIECE ? FEW_AT_FIRST : FEW);
    }
    lzr_found_add(found, length - s.anchor, 0, 0);
}
