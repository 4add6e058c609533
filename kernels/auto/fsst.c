/* Estimates fsst (spec.md, "Estimates"): how many strings that occur often cover pieces of the
 * sample. No table is learnt: a string pays if enough of what was walked through begins with it. */
#include <stdbool.h>
#include <string.h>

#include "kernels/auto/auto.h"

enum { PIECES = 4, SHARE = 160, SINGLE_WEIGHT = 3 };

static const uint8_t lengths[] = {8, 6, 4, 3, 2};

struct walk {
    struct bale_auto *a;
    bool counts;       /* counts what it tries; else it only looks */
    uint32_t walked;   /* bytes so far, or those of all pieces if it only looks */
    uint32_t estimate; /* bytes of the codes */
};

/* The count of the strings with the same hash. */
static uint8_t *count_of(struct bale_auto *a, uint64_t bytes, unsigned length)
{
    return &a->strings[((bytes << (64 - 8 * length)) * 0x9e3779b97f4a7c15u) >>
                       (64 - BALE_AUTO_STRINGS_LOG2)];
}

static bool pays(const struct walk *w, uint32_t count, unsigned weight)
{
    return count * weight * SHARE >= w->walked;
}

static void add(const struct walk *w, uint8_t *count)
{
    if (w->counts && *count < UINT8_MAX)
        ++*count;
}

/* The longest string of two bytes or more that pays, of at most left bytes; 1: none does. */
static unsigned longest(const struct walk *w, uint64_t bytes, uint32_t left)
{
    unsigned best = 1;

    for (size_t i = 0; i < sizeof lengths; i++) {
        unsigned length = lengths[i];
        uint8_t *count;
        if (length > left)
            continue;
        count = count_of(w->a, bytes, length);
        if (best == 1 && *count >= 2 && pays(w, *count, length)) {
            best = length;
            if (!w->counts)
                break;
        }
        add(w, count);
    }
    return best;
}

static void walk_piece(struct walk *w, uint32_t from, uint32_t length)
{
    for (uint32_t at = 0, step; at < length; at += step) {
        uint64_t bytes = bale_get64(w->a->sample + from + at);
        step = longest(w, bytes, length - at);
        w->estimate++;
        if (step == 1) {
            uint8_t *count = count_of(w->a, bytes, 1);
            w->estimate += !pays(w, *count, SINGLE_WEIGHT);
            add(w, count);
        }
        w->walked += w->counts ? step : 0;
    }
}

static void walk_pieces(struct walk *w, uint32_t length)
{
    uint32_t apart = length / BALE_AUTO_PIECE / 8;

    apart = (apart > 0 ? apart : 1) * BALE_AUTO_PIECE;
    for (uint32_t i = 0, at = 0; i < PIECES && at < length; i++, at += apart)
        walk_piece(w, at, length - at < BALE_AUTO_PIECE ? length - at : BALE_AUTO_PIECE);
}

uint32_t bale_auto_fsst(struct bale_auto *a, uint32_t length)
{
    struct walk w = {.a = a, .counts = true};

    memset(a->strings, 0, sizeof a->strings);
    walk_pieces(&w, length);
    w.counts = false;
    w.estimate = 0;
    walk_pieces(&w, length);
    return w.walked > 0 ? (uint32_t)((uint64_t)w.estimate * length / w.walked) : 0;
}
