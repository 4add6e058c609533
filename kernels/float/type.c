#include "kernels/float/learn.h"

enum {
    FIRST_WINDOWS = 3, /* in which all types are tried */
    TYPES = 28,        /* sizes, places and byte orders */
    BEHIND = 16,       /* bytes behind a window that may be read: the lead, and an element */
};

/* A type, and what it takes. */
struct guess {
    uint32_t cost;
    struct float_layout type;
};

static const uint8_t *window_at(const uint8_t *raw, uint32_t length, unsigned window,
                                unsigned windows, unsigned bytes)
{
    return raw + (uint64_t)(length - bytes - BEHIND) * window / (windows - 1) / 8 * 8;
}

/* Adds what a window takes, as integers and as floats. */
static void try_window(const struct float_steps *steps, const struct float_layout *type,
                       const uint8_t *raw, uint32_t length, unsigned window, unsigned windows,
                       unsigned bytes, uint32_t costs[2])
{
    const struct float_steps *of = &steps[type->size_log2 - 1];
    const uint64_t range = length - bytes - BEHIND;

    of->try_type(raw + range * window / (windows - 1) / 8 * 8 + type->lead, bytes, type->big_endian,
                 costs);
}

/* All types, in the order in which the first of equal ones is taken. */
static void list_types(struct float_layout types[TYPES])
{
    static const uint8_t sizes[FLOAT_SIZES] = {2, 3, 1};
    unsigned count = 0;

    for (unsigned i = 0; i < FLOAT_SIZES; i++)
        for (unsigned n = 0; n < 2u << sizes[i]; n++)
            types[count++] = (struct float_layout){
                .size_log2 = sizes[i], .lead = (uint8_t)(n / 2), .big_endian = n % 2 != 0};
}

/* Puts a guess behind those of guesses[] that cost no more, as far as there is room. */
static void insert(struct guess guesses[FLOAT_GUESSES], const struct guess *its)
{
    unsigned at = FLOAT_GUESSES;

    while (at > 0 && its->cost < guesses[at - 1].cost)
        at--;
    for (unsigned i = FLOAT_GUESSES - 1; i > at; i--)
        guesses[i] = guesses[i - 1];
    if (at < FLOAT_GUESSES)
        guesses[at] = *its;
}

/* Whether the middle window, with the best of the types for it, is what costs say: less than `below`, or
 * decimals. */
static bool is_worth_more(const struct float_steps *steps, const uint8_t *raw, uint32_t length,
                          const struct guess *best, uint32_t below)
{
    const struct float_steps *of = &steps[best->type.size_log2 - 1];

    return best->cost < below ||
           of->has_decimals(window_at(raw, length, 1, FIRST_WINDOWS, FLOAT_FIRST_BYTES) +
                                best->type.lead,
                            &best->type);
}

/* The best types by what they cost, the best one first. */
static void rank(const struct float_layout types[TYPES], uint32_t costs[TYPES][2],
                 struct guess guesses[FLOAT_GUESSES])
{
    for (unsigned i = 0; i < FLOAT_GUESSES; i++)
        guesses[i].cost = UINT32_MAX;
    for (unsigned i = 0; i < 2 * TYPES; i++) {
        const bool is_float = i % 2 == 0;
        struct guess its = {.cost = costs[i / 2][is_float], .type = types[i / 2]};
        its.type.is_float = is_float;
        insert(guesses, &its);
    }
}

/* The best types by a first look, the best one first. False: the middle window shows that none is
 * worth more. */
static bool guess_types(const struct float_steps *steps, const uint8_t *raw, uint32_t length,
                        uint32_t below, struct guess guesses[FLOAT_GUESSES])
{
    static const uint8_t order[FIRST_WINDOWS] = {1, 0, 2};
    struct float_layout types[TYPES];
    uint32_t costs[TYPES][2] = {0};

    list_types(types);
    for (unsigned w = 0; w < FIRST_WINDOWS; w++) {
        for (unsigned i = 0; i < TYPES; i++)
            try_window(steps, &types[i], raw, length, order[w], FIRST_WINDOWS, FLOAT_FIRST_BYTES,
                       costs[i]);
        if (w > 0)
            continue;
        rank(types, costs, guesses);
        if (!is_worth_more(steps, raw, length, &guesses[0], below))
            return false;
    }
    rank(types, costs, guesses);
    return true;
}

bool float_guess_type(const struct float_steps *steps, const uint8_t *raw, uint32_t length,
                      uint32_t below, struct float_layout *type)
{
    struct guess guesses[FLOAT_GUESSES];

    if (!guess_types(steps, raw, length, below, guesses))
        return false;
    *type = guesses[0].type;
    return true;
}

void float_find_type(const struct float_steps *steps, const uint8_t *raw, uint32_t length,
                     struct float_layout *type)
{
    struct guess guesses[FLOAT_GUESSES];
    uint32_t least = UINT32_MAX;

    (void)guess_types(steps, raw, length, UINT32_MAX, guesses);
    for (unsigned i = 0; i < FLOAT_GUESSES; i++) {
        uint32_t costs[2] = {0, 0}, its;
        for (unsigned w = 0; w < FLOAT_TYPE_WINDOWS; w++)
            try_window(steps, &guesses[i].type, raw, length, w, FLOAT_TYPE_WINDOWS,
                       FLOAT_TYPE_BYTES, costs);
        its = costs[guesses[i].type.is_float];
        if (its < least) {
            least = its;
            *type = guesses[i].type;
        }
    }
}
