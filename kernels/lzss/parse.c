/* The greedy parse (spec.md): the longest match within the window, and of equal ones the nearest.
 *
 * Positions whose next symbols have the same hash are chained, nearest first, as far as the window
 * reaches. In data with few different symbols these chains are long. But a longer match must also
 * contain the symbols that end the best match so far, and these are probably rarer than the symbols
 * that begin it. So after a few candidates without success the search changes to the chain of the
 * match's end. */
#include <stdbool.h>
#include <string.h>

#include "format/bytes.h"
#include "kernels/lzss/lzss.h"

enum {
    BASE = BALE_LZSS_WINDOW_MAX + 1, /* so that 0, in heads, is far from every position */
    PATIENCE = 4,                    /* candidates without success before the chain changes */
    RUN = sizeof(uint64_t),          /* literals copied at once */
};

struct match {
    uint32_t length, distance; /* symbols */
};

/* The hash of the least symbols of a match; last: no symbols follow them. */
BALE_LZSS_INLINE uint32_t hash(const uint8_t *s, bool last, unsigned symbol_log2)
{
    switch (symbol_log2) {
    case 0: {
        uint32_t three = last ? (uint32_t)bale_get16(s) | (uint32_t)s[2] << 16 : bale_get32(s);
        return ((three << 8) * 2654435761u) >> (32 - BALE_LZSS_HASH_LOG2);
    }
    case 3:
        return (uint32_t)((bale_get64(s) * 0x9e3779b97f4a7c15u) >> (64 - BALE_LZSS_HASH_LOG2));
    default:
        return (bale_get32(s) * 2654435761u) >> (32 - BALE_LZSS_HASH_LOG2);
    }
}

/* Puts position i, whose symbols have this hash, in front of its chain. */
BALE_LZSS_INLINE void begin_chain(struct bale_lzss_work *work, uint32_t i, uint32_t hash,
                                  uint32_t window)
{
    uint32_t distance = i + BASE - work->heads[hash];

    work->heads[hash] = i + BASE;
    work->back[i] = (uint8_t)(distance <= window ? distance : 0);
}

BALE_LZSS_INLINE void chain(struct bale_lzss_work *work, const uint8_t *raw, uint32_t count,
                            uint32_t window, unsigned symbol_log2)
{
    uint32_t least = bale_lzss_least(symbol_log2);
    uint32_t i = 0;

    memset(work->heads, 0, sizeof work->heads);
    for (; i + least < count; i++)
        begin_chain(work, i, hash(raw + ((size_t)i << symbol_log2), false, symbol_log2), window);
    if (i + least == count) {
        begin_chain(work, i, hash(raw + ((size_t)i << symbol_log2), true, symbol_log2), window);
        i++;
    }
    for (; i < count; i++)
        work->back[i] = 0;
    work->back[count] = 1;
}

/* The number of equal bytes from a and from b on; b is behind a. */
BALE_LZSS_INLINE uint32_t agree(const uint8_t *a, const uint8_t *b, uint32_t most)
{
    uint32_t n = 0;

    for (; n + sizeof(uint64_t) <= most; n += (uint32_t)sizeof(uint64_t)) {
        uint64_t differ = bale_get64(a + n) ^ bale_get64(b + n);
        if (differ != 0)
            return n + (uint32_t)__builtin_ctzll(differ) / 8;
    }
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

/* The best match at i, where back is not 0. If there is none, its length is less than the least. */
BALE_LZSS_INLINE struct match find(const struct bale_lzss_work *work, const uint8_t *raw,
                                   uint32_t i, uint32_t count, uint32_t window,
                                   unsigned symbol_log2)
{
    uint32_t least = bale_lzss_least(symbol_log2);
    uint32_t most = count - i < least + 255 ? count - i : least + 255;
    uint32_t reach = i < window ? i : window;
    const uint8_t *here = raw + ((size_t)i << symbol_log2);
    struct match best = {.length = least - 1};
    uint32_t from = i;   /* the position whose chain is followed */
    uint32_t passed = 0; /* candidates nearer than this were tried */
    uint32_t vain = 0;
    uint32_t distance = work->back[i];

    while (distance <= reach) {
        const uint8_t *there = here - ((size_t)distance << symbol_log2);
        size_t next = (size_t)best.length << symbol_log2;
        if (distance > passed && memcmp(there + next, here + next, 1u << symbol_log2) == 0) {
            uint32_t length = agree(there, here, most << symbol_log2) >> symbol_log2;
            if (length > best.length) {
                best = (struct match){.length = length, .distance = distance};
                if (length == most)
                    break;
                vain = 0;
            }
        }
        if (++vain >= PATIENCE && from != i + best.length + 1 - least) {
            from = i + best.length + 1 - least;
            passed = distance > passed ? distance : passed;
            vain = 0;
            distance = 0;
        }
        uint32_t step = work->back[from - distance];
        if (step == 0)
            break;
        distance += step;
    }
    return best;
}

/* Copies the literals at raw, 1 or more, up to the next position that has a candidate, but no more
 * than a word of work->back covers. Returns their number. */
BALE_LZSS_INLINE uint32_t copy_literals(const uint8_t *back, const uint8_t *raw, uint32_t left,
                                        uint8_t *out, unsigned symbol_log2)
{
    uint64_t candidates = bale_get64(back);
    uint32_t run = candidates != 0 ? (uint32_t)__builtin_ctzll(candidates) / 8 : RUN;

    if (left >= RUN)
        memcpy(out, raw, RUN << symbol_log2);
    else
        memcpy(out, raw, (size_t)run << symbol_log2);
    return run;
}

BALE_LZSS_INLINE struct bale_lzss_tokens parse(struct bale_lzss_work *work, const uint8_t *raw,
                                               uint32_t count, uint32_t window,
                                               unsigned symbol_log2)
{
    uint32_t least = bale_lzss_least(symbol_log2);
    uint8_t *out = work->payload;
    uint32_t tokens = 0;

    chain(work, raw, count, window, symbol_log2);
    memset(work->flags, 0, (count + 7) / 8);
    for (uint32_t i = 0; i < count;) {
        const uint8_t *here = raw + ((size_t)i << symbol_log2);
        uint32_t run = copy_literals(work->back + i, here, count - i, out, symbol_log2);
        if (run == 0) {
            struct match match = find(work, raw, i, count, window, symbol_log2);
            if (match.length >= least) {
                work->flags[tokens / 8] |= (uint8_t)(1u << tokens % 8);
                tokens++;
                out[0] = (uint8_t)(match.distance - 1);
                out[1] = (uint8_t)(match.length - least);
                out += 2;
                i += match.length;
                continue;
            }
            memcpy(out, here, 1u << symbol_log2);
            run = 1;
        }
        i += run;
        tokens += run;
        out += (size_t)run << symbol_log2;
    }
    return (struct bale_lzss_tokens){.count = tokens, .payload = (uint32_t)(out - work->payload)};
}

struct bale_lzss_tokens bale_lzss_parse(struct bale_lzss_work *work,
                                        struct bale_lzss_geometry geometry, const uint8_t *raw,
                                        uint32_t count)
{
    switch (geometry.symbol_log2) {
    case 0:
        return parse(work, raw, count, geometry.window, 0);
    case 1:
        return parse(work, raw, count, geometry.window, 1);
    case 2:
        return parse(work, raw, count, geometry.window, 2);
    default:
        return parse(work, raw, count, geometry.window, 3);
    }
}
