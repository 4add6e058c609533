#include "kernels/fsst/learn.h"

#include <stdlib.h>
#include <string.h>

/* Quarters of the sample that a round looks at: the first rounds find short strings, which are
 * frequent. */
static const uint8_t quarters[] = {1, 1, 2, 4, 4, 4};
enum { ROUNDS = sizeof quarters / sizeof quarters[0], SINGLE_WEIGHT = 3, PAYS = 4 };

struct sample {
    const uint8_t *raw;
    uint32_t raw_length;
    uint32_t length; /* bytes of the sample */
    uint32_t pieces;
};

static struct sample sample_of(const uint8_t *raw, uint32_t raw_length)
{
    uint32_t length = raw_length < FSST_SAMPLE ? raw_length : FSST_SAMPLE;

    return (struct sample){raw, raw_length, length, (length + FSST_PIECE - 1) / FSST_PIECE};
}

/* Where piece i begins, and its length. */
static const uint8_t *piece_of(const struct sample *s, uint32_t i, uint32_t *length)
{
    uint64_t at = (uint64_t)i * FSST_PIECE;

    if (s->raw_length > FSST_SAMPLE)
        at = (uint64_t)i * (s->raw_length - FSST_PIECE) / (FSST_PIECES - 1);
    *length = s->raw_length - at < FSST_PIECE ? (uint32_t)(s->raw_length - at) : FSST_PIECE;
    return s->raw + at;
}

/* ---- Counting -------------------------------------------------------------------------------- */

static void count_pair(struct fsst_learn *l, uint32_t a, uint32_t b)
{
    uint32_t pair = a * FSST_CODES + b;

    if (l->pair[pair]++ == 0)
        l->pairs[l->pair_count++] = pair;
}

/* Parses a piece and returns the bytes that its codes take. A longer symbol is also counted by its
 * first byte, because what precedes it may want no more. */
static uint32_t count_piece(struct fsst_learn *l, const uint8_t *in, uint32_t length)
{
    uint32_t before = FSST_CODES;
    uint32_t cost = 0;

    while (length > 0) {
        fsst_match match = length >= FSST_SYMBOL
                               ? fsst_match_eight(&l->matcher, bale_get64(in))
                               : fsst_match_left(&l->matcher, fsst_load_left(in, length), length);
        uint32_t code = fsst_match_code(match);

        l->once[code]++;
        if (before < FSST_CODES) {
            count_pair(l, before, code);
            if (fsst_match_length(match) > 1)
                count_pair(l, before, FSST_LITERAL + *in);
        }
        before = code;
        cost += code < FSST_LITERAL ? 1 : 2;
        in += fsst_match_length(match);
        length -= fsst_match_length(match);
    }
    return cost;
}

static uint32_t count_sample(struct fsst_learn *l, const struct sample *s, unsigned round)
{
    uint32_t cost = 0;

    memset(l->once, 0, sizeof l->once);
    for (uint32_t i = 0; i < s->pieces; i++) {
        uint32_t length;
        const uint8_t *piece = piece_of(s, i, &length);

        if (i % 4 < quarters[round])
            cost += count_piece(l, piece, length);
    }
    return cost;
}

/* ---- Candidates ------------------------------------------------------------------------------ */

/* Adds the gain to that of the string. */
static void add_candidate(struct fsst_learn *l, uint64_t bytes, uint32_t length, uint32_t gain)
{
    uint32_t at = (uint32_t)((bytes * UINT64_C(0x9e3779b97f4a7c15) + length) >> 51);

    for (; l->string[at] != 0; at = (at + 1) % FSST_STRINGS) {
        struct fsst_candidate *same = &l->candidates[l->string[at] - 1];

        if (same->bytes == bytes && same->length == length) {
            same->gain += gain;
            return;
        }
    }
    l->candidates[l->candidate_count++] = (struct fsst_candidate){bytes, gain, length};
    l->string[at] = (uint16_t)l->candidate_count;
}

static uint64_t code_bytes(const struct fsst_learn *l, uint32_t code, uint32_t *length)
{
    *length = code < FSST_LITERAL ? l->symbols.length[code] : 1;
    return code < FSST_LITERAL ? l->symbols.bytes[code] : code - FSST_LITERAL;
}

static void add_codes(struct fsst_learn *l)
{
    for (uint32_t code = 0; code < FSST_CODES; code++) {
        uint32_t length;
        uint64_t bytes;

        if (l->once[code] == 0)
            continue;
        bytes = code_bytes(l, code, &length);
        add_candidate(l, bytes, length, l->once[code] * (length == 1 ? SINGLE_WEIGHT : length));
    }
}

static void add_pair(struct fsst_learn *l, uint32_t pair)
{
    uint32_t first, second, length;
    uint64_t bytes = code_bytes(l, pair / FSST_CODES, &first);

    if (first == FSST_SYMBOL || l->pair[pair] < FSST_FREQUENT)
        return;
    bytes |= code_bytes(l, pair % FSST_CODES, &second) << 8 * first;
    length = first + second < FSST_SYMBOL ? first + second : FSST_SYMBOL;
    add_candidate(l, bytes, length, l->pair[pair] * length);
}

/* Makes the candidates, and leaves the pairs counted no more. */
static void add_candidates(struct fsst_learn *l, bool pairs)
{
    l->candidate_count = 0;
    add_codes(l);
    for (uint32_t i = 0; i < l->pair_count; i++) {
        if (pairs)
            add_pair(l, l->pairs[i]);
        l->pair[l->pairs[i]] = 0;
    }
    l->pair_count = 0;
    memset(l->string, 0, sizeof l->string);
}

/* ---- Choosing -------------------------------------------------------------------------------- */

static bool is_better(const struct fsst_candidate *a, const struct fsst_candidate *b)
{
    if (a->gain != b->gain)
        return a->gain > b->gain;
    if (a->length != b->length)
        return a->length > b->length;
    return a->bytes < b->bytes;
}

static uint32_t slot_of(const struct fsst_candidate *c)
{
    if (c->length == 1)
        return (uint32_t)c->bytes;
    if (c->length == 2)
        return 256 + fsst_pair_slot(c->bytes);
    return 256 + FSST_PAIRS + fsst_long_slot(c->bytes);
}

/* Keeps the best candidate of each slot, in any order. */
static void keep_best_of_slots(struct fsst_learn *l)
{
    uint32_t kept = 0;

    memset(l->slot, 0, sizeof l->slot);
    for (uint32_t i = 0; i < l->candidate_count; i++) {
        const struct fsst_candidate *c = &l->candidates[i];
        uint16_t *slot = &l->slot[slot_of(c)];

        if (*slot == 0)
            *slot = (uint16_t)++kept;
        else if (!is_better(c, &l->candidates[*slot - 1]))
            continue;
        l->candidates[*slot - 1] = *c; /* which is at i or before it, and was looked at */
    }
    l->candidate_count = kept;
}

static void swap(struct fsst_candidate *a, struct fsst_candidate *b)
{
    struct fsst_candidate c = *a;

    *a = *b;
    *b = c;
}

/* Moves the best FSST_SYMBOLS candidates to the front, in any order. */
static void keep_best(struct fsst_learn *l)
{
    struct fsst_candidate *all = l->candidates;
    uint32_t from = 0, to = l->candidate_count;

    while (to - from > 1 && to > FSST_SYMBOLS) {
        uint32_t end = from;

        swap(&all[from + (to - from) / 2], &all[to - 1]);
        for (uint32_t i = from; i + 1 < to; i++)
            if (is_better(&all[i], &all[to - 1]))
                swap(&all[i], &all[end++]);
        swap(&all[end],
             &all[to - 1]); /* the best before end, then the one they were compared with */
        if (end < FSST_SYMBOLS)
            from = end + 1;
        else
            to = end;
        if (from >= FSST_SYMBOLS)
            break;
    }
    if (l->candidate_count > FSST_SYMBOLS)
        l->candidate_count = FSST_SYMBOLS;
}

static void take_candidates(struct fsst_learn *l)
{
    l->symbols.count = l->candidate_count;
    for (uint32_t i = 0; i < l->candidate_count; i++) {
        l->symbols.bytes[i] = l->candidates[i].bytes;
        l->symbols.length[i] = (uint8_t)l->candidates[i].length;
    }
    fsst_matcher_build(&l->matcher, &l->symbols);
}

/* ---- The last round -------------------------------------------------------------------------- */

static int compare_gain(const void *a, const void *b)
{
    return is_better(a, b) ? -1 : is_better(b, a);
}

static int compare_code(const void *a, const void *b)
{
    const struct fsst_candidate *x = a, *y = b;

    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Drops what does not pay for its bytes in the part, and what has no room there. */
static void drop(struct fsst_learn *l, const struct sample *s, uint32_t capacity)
{
    uint32_t kept = 0, length = FSST_PART_HEAD;

    qsort(l->candidates, l->candidate_count, sizeof l->candidates[0], compare_gain);
    for (uint32_t i = 0; i < l->candidate_count; i++) {
        const struct fsst_candidate c = l->candidates[i];

        if ((uint64_t)c.gain * s->raw_length < (uint64_t)PAYS * c.length * s->length)
            continue;
        length += c.length;
        if (length > capacity)
            break;
        l->candidates[kept++] = c;
    }
    l->candidate_count = kept;
    qsort(l->candidates, kept, sizeof l->candidates[0], compare_code);
}

void fsst_learn(struct fsst_learn *l, const uint8_t *raw, uint32_t raw_length, uint32_t capacity,
                struct fsst_symbols *symbols)
{
    struct sample s = sample_of(raw, raw_length);
    uint32_t cost = 0;

    l->candidate_count = 0;
    take_candidates(l);
    for (unsigned round = 0; round < ROUNDS; round++) {
        cost = count_sample(l, &s, round);
        add_candidates(l, round + 1 < ROUNDS);
        keep_best_of_slots(l);
        keep_best(l);
        if (round + 1 < ROUNDS)
            take_candidates(l);
    }
    drop(l, &s, capacity);
    if (cost > s.length - s.length / 32)
        l->candidate_count = 0;
    take_candidates(l);
    *symbols = l->symbols;
}
