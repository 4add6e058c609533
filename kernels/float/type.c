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

/* Whether the middle window, with the best of the types for it, is what costs say: less than
 * `below`, or decimals. */
static bool is_worth_more(const struct float_steps *steps, const uint8_t *raw, uint32_t length,
                          const struct guess *best, uint32_t below)
{
    const struct float_steps *of = &steps[best->type.size_log2 - 1];

    return best->cost < below ||
           of->has_decimals(window_at(raw, length, 1, FIRST_WINDOWS, FLOAT_FIRST_BYTES) +
                                best->type.lead,
                            &best->type);
}

/* The type that costs least. */
static struct guess best_of(const struct float_layout types[TYPES], uint32_t costs[TYPES][2])
{
    struct guess best = {.cost = UINT32_MAX};

    for (unsigned i = 0; i < 2 * TYPES; i++) {
        const bool is_float = i % 2 == 0;
        if (costs[i / 2][is_float] >= best.cost)
            continue;
        best = (struct guess){.cost = costs[i / 2][is_float], .type = types[i / 2]};
        best.type.is_float = is_float;
    }
    return best;
}

bool float_guess_type(const struct float_steps *steps, const uint8_t *raw, uint32_t length,
                      uint32_t below, struct float_layout *type)
{
    static const uint8_t order[FIRST_WINDOWS] = {1, 0, 2};
    struct float_layout types[TYPES];
    uint32_t costs[TYPES][2] = {0};

    list_types(types);
    for (unsigned w = 0; w < FIRST_WINDOWS; w++) {
        for (unsigned i = 0; i < TYPES; i++)
            try_window(steps, &types[i], raw, length, order[w], FIRST_WINDOWS, FLOAT_FIRST_BYTES,
                       costs[i]);
        if (w == 0) {
            const struct guess best = best_of(types, costs);
            if (!is_worth_more(steps, raw, length, &best, below))
                return false;
        }
    }
    *type = best_of(types, costs).type;
    return true;
}

void float_find_type(const struct float_steps *steps, const uint8_t *raw, uint32_t length,
                     struct float_layout *type)
{
    struct float_layout types[TYPES];
    uint32_t costs[TYPES][2] = {0};

    list_types(types);
    for (unsigned i = 0; i < TYPES; i++)
        for (unsigned w = 0; w < FLOAT_TYPE_WINDOWS; w++)
            try_window(steps, &types[i], raw, length, w, FLOAT_TYPE_WINDOWS, FLOAT_TYPE_BYTES,
                       costs[i]);
    *type = best_of(types, costs).type;
}
