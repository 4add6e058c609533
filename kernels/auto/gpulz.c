/* Estimates gpulz (spec.md, "Estimates"): gpulz's parse, except that the search tries only the last
 * position with the same hash. */
#include <string.h>

#include "kernels/auto/auto.h"
#include "kernels/lzss/lzss.h"

/* The least number of symbols of a match, as a word. */
BALE_LZSS_INLINE uint64_t word_at(const uint8_t *s, unsigned symbol_log2)
{
    return symbol_log2 == 3 ? bale_get64(s) : bale_get32(s);
}

BALE_LZSS_INLINE uint32_t estimate(struct bale_auto *a, uint32_t length, unsigned symbol_log2)
{
    const uint8_t *s = a->sample;
    const uint32_t least = bale_lzss_least(symbol_log2);
    const uint32_t piece = 1u << (BALE_AUTO_GPULZ_PIECE_LOG2 - symbol_log2);
    uint32_t count = length >> symbol_log2;
    uint32_t tail = length - (count << symbol_log2);
    uint32_t literals = count;
    uint32_t pointers = 0;
    uint32_t misses = 0;

    memset(a->heads, 0, sizeof a->heads);
    for (uint32_t at = 1; at + least <= count;) {
        uint64_t word = word_at(s + ((size_t)at << symbol_log2), symbol_log2);
        uint32_t hash = (uint32_t)((word * 0x9e3779b97f4a7c15u) >> (64 - BALE_AUTO_HASH_LOG2));
        uint32_t candidate = a->heads[hash];
        uint32_t begin = at & ~(piece - 1);
        uint32_t end = begin + piece < count ? begin + piece : count;
        uint32_t n = 0;

        a->heads[hash] = (uint16_t)at;
        if (candidate >= begin && at - candidate <= BALE_AUTO_GPULZ_WINDOW &&
            word_at(s + ((size_t)candidate << symbol_log2), symbol_log2) == word) {
            if (end > at + least + 255)
                end = at + least + 255;
            n = bale_auto_agree(s, candidate << symbol_log2, at << symbol_log2,
                                end << symbol_log2) >>
                symbol_log2;
        }
        if (n < least) {
            at += 1 + (misses++ >> BALE_AUTO_SKIP_LOG2);
            continue;
        }
        pointers++;
        literals -= n;
        at += n;
        misses = 0;
    }
    return (literals << symbol_log2) + 2 * pointers + (literals + pointers + 7) / 8 + tail;
}

uint32_t bale_auto_gpulz(struct bale_auto *a, uint32_t length, unsigned symbol_log2)
{
    switch (symbol_log2) {
    case 1:
        return estimate(a, length, 1);
    case 2:
        return estimate(a, length, 2);
    default:
        return estimate(a, length, 3);
    }
}
