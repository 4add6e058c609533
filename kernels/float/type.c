#include "kernels/float/learn.h"

enum {
    FIRST_WINDOWS = 3, /* in which all types are tried */
    TYPES = 28,        /* sizes, places and byte orders */
    BEHIND = 40, /* bytes behind a window that may be read: the lead, and FLOAT_APART elements */
};

/* A type, and what it takes. */
struct guess {
    uint32_t cost;
    struct float_layout type;
};

/* An extent's bytes, windows of so many bytes in them, and all types. */
struct search {
    const struct float_steps *steps;
    const uint8_t *at[FLOAT_TYPE_WINDOWS];
    unsigned windows, bytes;
    struct float_layout types[TYPES];
    uint16_t decimals[TYPES]; /* their E; 0: they are none */
    uint32_t costs[TYPES][FLOAT_APART][FLOAT_KINDS];
};

/* Where elements of all windows are, by which decimals are looked for, if there is no lead. */
static void list_probes(const struct search *s, unsigned size_log2,
                        const uint8_t *probes[FLOAT_PROBED])
{
    for (unsigned k = 0; k < FLOAT_PROBED; k++) {
        const unsigned element = FLOAT_PROBE_STEP * k % (s->bytes >> size_log2);
        probes[k] = s->at[k * s->windows / FLOAT_PROBED] + ((size_t)element << size_log2);
    }
}

/* All types, those of a size together, in the order in which the first of equal ones is taken. */
static void list_types(struct search *s)
{
    static const uint8_t sizes[FLOAT_SIZES] = {2, 3, 1};
    unsigned count = 0;

    for (unsigned i = 0; i < FLOAT_SIZES; i++)
        for (unsigned n = 0; n < 2u << sizes[i]; n++)
            s->types[count++] = (struct float_layout){
                .size_log2 = sizes[i], .lead = (uint8_t)(n / 2), .big_endian = n % 2 != 0};
}

static void begin_search(struct search *s, const uint8_t *raw, uint32_t length)
{
    const uint64_t range = length - s->bytes - BEHIND;
    const uint8_t *probes[FLOAT_PROBED];

    for (unsigned w = 0; w < s->windows; w++)
        s->at[w] = raw + range * w / (s->windows - 1) / 8 * 8;
    list_types(s);
    for (unsigned i = 0; i < TYPES; i++) {
        if (i == 0 || s->types[i].size_log2 != s->types[i - 1].size_log2)
            list_probes(s, s->types[i].size_log2, probes);
        s->decimals[i] = s->steps[s->types[i].size_log2 - 1].find_decimals(probes, s->types[i].lead,
                                                                           s->types[i].big_endian);
    }
}

/* How far elements are apart, at most. Where components lie beside each other, they mostly begin at
 * a multiple of four bytes. */
static unsigned most_apart(const struct float_layout *type)
{
    return type->lead % 4 == 0 ? FLOAT_APART : 1;
}

static void try_window(struct search *s, unsigned window)
{
    for (unsigned i = 0; i < TYPES; i++) {
        const struct float_layout *type = &s->types[i];
        const struct float_steps *of = &s->steps[type->size_log2 - 1];
        of->try_type(s->at[window] + type->lead, s->bytes, type->big_endian, s->decimals[i],
                     most_apart(type), s->costs[i]);
    }
}

/* What a type costs. Floats may be decimals. Elements that are not neighbours count a sixteenth
 * more, and so do those that do not begin with the chunk: where data is noise, the least of many
 * costs is a lucky one. */
static uint32_t cost_of(const struct search *s, unsigned type, bool is_float)
{
    const unsigned kind = is_float ? FLOAT_AS_FLOATS : FLOAT_AS_INTEGERS;
    const uint32_t as_decimals = s->costs[type][0][FLOAT_AS_DECIMALS];
    uint32_t least = s->costs[type][0][kind];

    for (unsigned k = 1; k < most_apart(&s->types[type]); k++) {
        const uint32_t its = s->costs[type][k][kind];
        least = its + its / 16 < least ? its + its / 16 : least;
    }
    if (is_float && s->decimals[type] > 0 && as_decimals < least)
        least = as_decimals;
    return s->types[type].lead > 0 ? least + least / 16 : least;
}

/* The type that costs least. */
static struct guess best_of(const struct search *s)
{
    struct guess best = {.cost = UINT32_MAX};

    for (unsigned i = 0; i < 2 * TYPES; i++) {
        const bool is_float = i % 2 == 0;
        const uint32_t cost = cost_of(s, i / 2, is_float);
        if (cost >= best.cost)
            continue;
        best = (struct guess){.cost = cost, .type = s->types[i / 2]};
        best.type.is_float = is_float;
    }
    return best;
}

bool float_guess_type(const struct float_steps *steps, const uint8_t *raw, uint32_t length,
                      uint32_t below, struct float_layout *type)
{
    static const uint8_t order[FIRST_WINDOWS] = {1, 0, 2};
    struct search s = {.steps = steps, .windows = FIRST_WINDOWS, .bytes = FLOAT_FIRST_BYTES};

    begin_search(&s, raw, length);
    for (unsigned w = 0; w < FIRST_WINDOWS; w++) {
        try_window(&s, order[w]);
        if (w == 0 && best_of(&s).cost >= below)
            return false;
    }
    *type = best_of(&s).type;
    return true;
}

void float_find_type(const struct float_steps *steps, const uint8_t *raw, uint32_t length,
                     struct float_layout *type)
{
    struct search s = {.steps = steps, .windows = FLOAT_TYPE_WINDOWS, .bytes = FLOAT_TYPE_BYTES};

    begin_search(&s, raw, length);
    for (unsigned w = 0; w < FLOAT_TYPE_WINDOWS; w++)
        try_window(&s, w);
    *type = best_of(&s).type;
}
