/* The worked example of kernels/fsst/spec.md, and its rules of learning and matching done again in
 * the simplest way: without slots to look into, tables or order in the counting. */
#include <stdlib.h>

#include "format/err.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

enum {
    ITEMS = 511,
    MOST = 200000,
    CANDIDATES_MAX = 20000,
    SAMPLE = 16384,
    PIECE = 64,
    SPLIT = 512
};

static struct bale_scratch *scratch;
static const struct bale_codec *codec;

/* ---- The rules, done again ------------------------------------------------------------------- */

struct string {
    uint8_t bytes[8];
    uint32_t length;
    uint64_t gain;
};

struct table {
    struct string symbols[255];
    uint32_t count;
};

static struct string candidates[CANDIDATES_MAX];
static uint32_t candidate_count;
static uint32_t once[ITEMS], after[ITEMS][ITEMS]; /* literals, then symbols */

static uint64_t number_of(const struct string *s)
{
    uint64_t number = 0;

    for (uint32_t i = 0; i < s->length; i++)
        number |= (uint64_t)s->bytes[i] << 8 * i;
    return number;
}

static bool same_slot(const struct string *a, const struct string *b)
{
    uint32_t of_a, of_b;
    unsigned shift = a->length == 2 ? 23 : 22;

    if ((a->length > 3 ? 3 : a->length) != (b->length > 3 ? 3 : b->length))
        return false;
    if (a->length == 1)
        return a->bytes[0] == b->bytes[0];
    of_a = (uint32_t)(number_of(a) & (a->length == 2 ? 0xffff : 0xffffff)) * 0x9e3779b1u;
    of_b = (uint32_t)(number_of(b) & (b->length == 2 ? 0xffff : 0xffffff)) * 0x9e3779b1u;
    return of_a >> shift == of_b >> shift;
}

/* -1: a literal. */
static int longest(const struct table *t, const uint8_t *in, uint32_t left)
{
    int best = -1;

    for (uint32_t c = 0; c < t->count; c++) {
        const struct string *s = &t->symbols[c];
        if (s->length <= left && s->bytes[0] == in[0] && memcmp(s->bytes, in, s->length) == 0 &&
            (best < 0 || s->length > t->symbols[best].length))
            best = (int)c;
    }
    return best;
}

static struct string string_of(const struct table *t, uint32_t item)
{
    if (item >= 256)
        return t->symbols[item - 256];
    return (struct string){.bytes = {(uint8_t)item}, .length = 1};
}

static uint32_t count_piece(const struct table *t, const uint8_t *in, uint32_t length)
{
    uint32_t cost = 0, before = ITEMS;

    while (length > 0) {
        int code = longest(t, in, length);
        uint32_t item = code < 0 ? *in : 256 + (uint32_t)code;
        uint32_t step = code < 0 ? 1 : t->symbols[code].length;

        once[item]++;
        if (before < ITEMS) {
            after[before][item]++;
            if (step > 1)
                after[before][*in]++;
        }
        before = item;
        cost += code < 0 ? 2 : 1;
        in += step;
        length -= step;
    }
    return cost;
}

static void add(const struct string *s, uint64_t gain)
{
    for (uint32_t i = 0; i < candidate_count; i++)
        if (candidates[i].length == s->length && candidates[i].bytes[0] == s->bytes[0] &&
            memcmp(candidates[i].bytes, s->bytes, s->length) == 0) {
            candidates[i].gain += gain;
            return;
        }
    REQUIRE(candidate_count < CANDIDATES_MAX);
    candidates[candidate_count] = *s;
    candidates[candidate_count++].gain = gain;
}

static void make_candidates(const struct table *t, bool pairs)
{
    candidate_count = 0;
    for (uint32_t a = 0; a < ITEMS; a++) {
        struct string first;

        if (once[a] == 0)
            continue;
        first = string_of(t, a);
        add(&first, (uint64_t)once[a] * (first.length == 1 ? 3 : first.length));
        for (uint32_t b = 0; pairs && first.length < 8 && b < ITEMS; b++) {
            struct string both = first, second;

            if (after[a][b] < 6)
                continue;
            second = string_of(t, b);
            for (uint32_t i = 0; i < second.length && both.length < 8; i++)
                both.bytes[both.length++] = second.bytes[i];
            add(&both, (uint64_t)after[a][b] * both.length);
        }
    }
}

static int by_gain(const void *a, const void *b)
{
    const struct string *x = a, *y = b;

    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return number_of(x) < number_of(y) ? -1 : 1;
}

static int by_code(const void *a, const void *b)
{
    const struct string *x = a, *y = b;

    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return number_of(x) < number_of(y) ? -1 : 1;
}

/* The best candidates first, and of one slot only the best. */
static void choose(struct table *t)
{
    qsort(candidates, candidate_count, sizeof candidates[0], by_gain);
    t->count = 0;
    for (uint32_t i = 0; i < candidate_count && t->count < 255; i++) {
        bool taken = false;
        for (uint32_t s = 0; s < t->count; s++)
            taken = taken || same_slot(&t->symbols[s], &candidates[i]);
        if (!taken)
            t->symbols[t->count++] = candidates[i];
    }
}

static void finish(struct table *t, uint32_t length, uint32_t sampled, uint32_t capacity)
{
    uint32_t used = 8, kept = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        struct string s = t->symbols[i];
        if (s.gain * length < (uint64_t)4 * s.length * sampled)
            continue;
        used += s.length;
        if (used > capacity)
            break;
        t->symbols[kept++] = s;
    }
    t->count = kept;
    qsort(t->symbols, kept, sizeof t->symbols[0], by_code);
}

static void reference_learn(struct table *t, const uint8_t *raw, uint32_t length)
{
    static const uint32_t quarters[] = {1, 1, 2, 4, 4, 4};
    uint32_t sampled = length < SAMPLE ? length : SAMPLE, cost = 0;

    t->count = 0;
    for (int round = 0; round < 6; round++) {
        memset(once, 0, sizeof once);
        memset(after, 0, sizeof after);
        cost = 0;
        for (uint32_t i = 0; i * PIECE < sampled; i++) {
            uint64_t at = length <= SAMPLE ? i * PIECE : (uint64_t)i * (length - PIECE) / 255;
            if (i % 4 < quarters[round])
                cost +=
                    count_piece(t, raw + at, length - at < PIECE ? (uint32_t)(length - at) : PIECE);
        }
        make_candidates(t, round < 5);
        choose(t);
    }
    finish(t, length, sampled, length / 8);
    if (cost > sampled - sampled / 32)
        t->count = 0;
}

static uint32_t reference_part(const struct table *t, uint8_t *out)
{
    uint32_t at = 8;

    if (t->count == 0)
        return 0;
    memset(out, 0, 8);
    for (uint32_t c = 0; c < t->count; c++) {
        out[t->symbols[c].length - 1]++;
        memcpy(out + at, t->symbols[c].bytes, t->symbols[c].length);
        at += t->symbols[c].length;
    }
    return at;
}

/* The codes of a chunk, without the lengths before them. */
static uint32_t reference_codes(const struct table *t, const uint8_t *raw, uint32_t length,
                                uint8_t *out)
{
    uint32_t to = 0;

    for (uint32_t at = 0; at < length;) {
        uint32_t left = SPLIT - at % SPLIT < length - at ? SPLIT - at % SPLIT : length - at;
        int code = longest(t, raw + at, left);

        out[to++] = (uint8_t)code;
        if (code < 0)
            out[to++] = raw[at];
        at += code < 0 ? 1 : t->symbols[code].length;
    }
    return to;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* Words that begin alike, with numbers and bytes of any value between. */
static void fill(uint64_t seed, uint8_t *raw, uint32_t length)
{
    static const char *const words[] = {"interest", "interesting", "internal", "in",       "into",
                                        "the ",     "then ",       "there",    "\xc3\xa4", "1996-"};
    uint64_t state = seed;

    for (uint32_t at = 0; at < length;) {
        uint64_t random = data_next(&state);
        const char *word = words[random % 10];
        size_t some = strlen(word);

        if (random >> 32 & 7) {
            some = some < length - at ? some : length - at;
            memcpy(raw + at, word, some);
            at += (uint32_t)some;
        } else {
            raw[at++] = (uint8_t)(random >> 40);
        }
    }
}

static const struct bale_field none;

static void check_one(const uint8_t *raw, uint32_t length)
{
    static uint8_t part[4096], expected[4096], out[MOST], codes[2 * MOST];
    static struct table table;
    void *work = bale_scratch_work(scratch, codec->id);
    uint32_t most = length / 8 < sizeof part ? length / 8 : (uint32_t)sizeof part;
    int64_t got = codec->learn(work, 0, &none, 0, BALE_CELL, raw, length, part, most);

    reference_learn(&table, raw, length);
    uint32_t wanted = reference_part(&table, expected);
    if (!CHECK_EQ(got, wanted) || !CHECK_EQ_MEM(part, expected, wanted)) {
        fprintf(stderr, "    %u bytes\n", length);
        return;
    }
    if (wanted == 0)
        return;
    got = codec->encode(work, 0, (struct bale_extent_part){part, wanted}, raw, length, out,
                        length - 1);
    if (got == 0)
        return;
    uint32_t used = reference_codes(&table, raw, length, codes);
    uint32_t head = 3 + ((length + SPLIT - 1) / SPLIT * out[2] + 7) / 8;
    if (CHECK_EQ(got, head + used))
        CHECK_EQ_MEM(out + head, codes, used);
}

static void test_reference(void)
{
    static const uint32_t lengths[] = {1,    7,     64,    100,   511,   512,    513,
                                       4096, 16383, 16384, 16385, 70000, 131072, MOST};
    static uint8_t raw[MOST];

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        fill(i, raw, lengths[i]);
        check_one(raw, lengths[i]);
        for (int kind = 0; kind < DATA_KINDS; kind++) {
            data_fill((enum data_kind)kind, i, raw, lengths[i]);
            check_one(raw, lengths[i]);
        }
    }
}

/* spec.md's. */
static void test_example(void)
{
    static const uint8_t part[] = {1,   0,   1,   0,   0,   0,   0,   1,   'q', 'x',
                                   'y', 'z', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
    uint8_t stored[27] = {0x18, 0, 0}, raw[165], back[165], out[164];
    const struct bale_extent_part shared = {part, sizeof part};
    void *work = bale_scratch_work(scratch, codec->id);

    memset(stored + 3, 2, 20);
    memcpy(stored + 23, "\x01\x00\xff!", 4);
    for (int i = 0; i < 20; i++)
        memcpy(raw + 8 * i, "abcdefgh", 8);
    memcpy(raw + 160, "xyzq!", 5);
    CHECK_EQ(codec->decode(work, 0, shared, stored, sizeof stored, back, sizeof back, 4096,
                           (struct bale_wanted){0, sizeof back}),
             BALE_OK);
    CHECK_EQ_MEM(back, raw, sizeof raw);
    CHECK_EQ(codec->encode(work, 0, shared, raw, sizeof raw, out, sizeof out), sizeof stored);
    CHECK_EQ_MEM(out, stored, sizeof stored);
    CHECK_EQ(codec->encode(work, 0, shared, raw, sizeof raw, out, sizeof stored), sizeof stored);
    CHECK_EQ(codec->encode(work, 0, shared, raw, sizeof raw, out, sizeof stored - 1), 0);
}

/* Another table in between changes nothing. */
static void test_purity(void)
{
    static uint8_t raw[70000], other[70000], part[2][4096], out[2][70000];
    void *work = bale_scratch_work(scratch, codec->id);
    struct bale_extent_part first, second;
    int64_t length;

    fill(1, raw, sizeof raw);
    data_fill(DATA_TEXT, 1, other, sizeof other);
    first = (struct bale_extent_part){part[0],
                                      (uint32_t)codec->learn(work, 0, &none, 0, BALE_CELL, raw,
                                                             sizeof raw, part[0], sizeof part[0])};
    length = codec->encode(work, 0, first, raw, sizeof raw, out[0], sizeof raw - 1);
    CHECK(length > 0);
    second = (struct bale_extent_part){part[1], (uint32_t)codec->learn(work, 0, &none, 0, BALE_CELL,
                                                                       other, sizeof other, part[1],
                                                                       sizeof part[1])};
    CHECK(codec->encode(work, 0, second, other, sizeof other, out[1], sizeof other - 1) > 0);
    CHECK_EQ(codec->encode(work, 0, first, raw, sizeof raw, out[1], sizeof raw - 1), length);
    CHECK_EQ_MEM(out[1], out[0], (size_t)length);
    CHECK_EQ(codec->learn(work, 0, &none, 0, BALE_CELL, raw, sizeof raw, part[1], sizeof part[1]),
             first.length);
    CHECK_EQ_MEM(part[1], part[0], first.length);
}

int main(void)
{
    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    codec = bale_codec_find(BALE_CODEC_FSST);
    test_example();
    test_reference();
    test_purity();
    bale_scratch_destroy(scratch);
    return check_result();
}
