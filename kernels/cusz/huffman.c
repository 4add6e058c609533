/* Code lengths and canonical codes (spec.md, Codes). */
#include <stdlib.h>
#include <string.h>

#include "kernels/cusz/cusz.h"

struct leaf {
    uint32_t count;
    uint16_t token;
};

static int leaf_compare(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return x->token < y->token ? -1 : 1;
}

/* The two rows that the next two nodes come from: leaves, and nodes that were joined already, both
 * with ascending counts. */
struct rows {
    const struct leaf *leaves;
    uint32_t leaf, leaf_end;
    uint64_t joined[CUSZ_TOKENS];
    uint32_t node, node_end;
    uint16_t parent[2 * CUSZ_TOKENS]; /* of leaf i, and of node leaf_end + i */
};

/* The lesser of the first ones; of equal ones the leaf. */
static uint64_t take(struct rows *rows, uint16_t parent)
{
    if (rows->node == rows->node_end ||
        (rows->leaf < rows->leaf_end &&
         rows->leaves[rows->leaf].count <= rows->joined[rows->node])) {
        rows->parent[rows->leaf] = parent;
        return rows->leaves[rows->leaf++].count;
    }
    rows->parent[rows->leaf_end + rows->node] = parent;
    return rows->joined[rows->node++];
}

/* The lengths of the leaves' codes. Returns the longest. */
static unsigned tree(const struct leaf *leaves, uint32_t count, uint8_t lengths[CUSZ_TOKENS])
{
    struct rows rows = {.leaves = leaves, .leaf_end = count};
    unsigned depth[CUSZ_TOKENS] = {0}, longest = 0;

    for (uint32_t i = 0; i < count - 1; i++) {
        uint64_t sum = take(&rows, (uint16_t)i);
        rows.joined[i] = sum + take(&rows, (uint16_t)i);
        rows.node_end = i + 1;
    }
    for (uint32_t i = count - 2; i-- > 0;)
        depth[i] = depth[rows.parent[count + i]] + 1;
    for (uint32_t i = 0; i < count; i++) {
        unsigned length = depth[rows.parent[i]] + 1;
        lengths[leaves[i].token] = (uint8_t)(length < UINT8_MAX ? length : UINT8_MAX);
        longest = length > longest ? length : longest;
    }
    return longest;
}

void cusz_lengths_huffman(const uint32_t counts[CUSZ_TOKENS], uint8_t lengths[CUSZ_TOKENS])
{
    struct leaf leaves[CUSZ_TOKENS];
    uint32_t count = 0;

    memset(lengths, 0, CUSZ_TOKENS);
    for (uint32_t i = 0; i < CUSZ_TOKENS; i++)
        if (counts[i] > 0)
            leaves[count++] = (struct leaf){counts[i], (uint16_t)i};
    for (;;) {
        qsort(leaves, count, sizeof *leaves, leaf_compare);
        if (tree(leaves, count, lengths) <= CUSZ_LENGTH_MAX)
            return;
        for (uint32_t i = 0; i < count; i++)
            leaves[i].count = (leaves[i].count + 1) / 2;
    }
}

void cusz_lengths_equal(const uint32_t counts[CUSZ_TOKENS], uint8_t lengths[CUSZ_TOKENS])
{
    uint32_t used = 0, shorter;
    unsigned length = 1;

    for (uint32_t i = 0; i < CUSZ_TOKENS; i++)
        used += counts[i] > 0;
    while (1u << length < used)
        length++;
    shorter = (1u << length) - used;
    for (uint32_t i = 0; i < CUSZ_TOKENS; i++) {
        lengths[i] = (uint8_t)(counts[i] == 0 ? 0 : shorter > 0 ? length - 1 : length);
        shorter -= counts[i] > 0 && shorter > 0;
    }
}

bool cusz_codes_make(struct cusz_codes *codes)
{
    uint32_t counts[CUSZ_LENGTH_MAX + 1] = {0}, next[CUSZ_LENGTH_MAX + 1] = {0}, code = 0;

    for (uint32_t i = 0; i < CUSZ_TOKENS; i++)
        counts[codes->length[i]]++;
    counts[0] = 0;
    for (unsigned length = 1; length <= CUSZ_LENGTH_MAX; length++) {
        code = (code + counts[length - 1]) << 1;
        next[length] = code;
    }
    if (code + counts[CUSZ_LENGTH_MAX] != 1u << CUSZ_LENGTH_MAX)
        return false;
    for (uint32_t i = 0; i < CUSZ_TOKENS; i++)
        codes->code[i] = (uint16_t)next[codes->length[i]]++;
    return true;
}

/* Of the bits that are looked up: zeros, and the folded word behind them, or 0. */
struct unit {
    uint8_t length, zeros, word;
};

static struct unit unit_of(const struct cusz_table *table, uint32_t bits)
{
    const uint32_t mask = (1u << CUSZ_LOOK) - 1;
    struct unit unit = {.length = 0};

    for (;;) {
        const uint32_t entry = table->look[bits << unit.length & mask];
        const uint32_t token = entry >> 4, length = entry & 15;
        unsigned low = 0;
        uint32_t run;
        if (length == 0 || unit.length + length > CUSZ_LOOK || token >= CUSZ_CLASSES)
            return unit;
        if (token >= CUSZ_RUNS) {
            unit.length = (uint8_t)(unit.length + length);
            unit.word = (uint8_t)(token - CUSZ_RUNS + 1);
            return unit;
        }
        if (table->matches && token > 0)
            return unit;
        low = table->low_runs ? token : 0;
        if (unit.length + length + low > CUSZ_LOOK)
            return unit;
        run = (1u << token) + ((bits << (unit.length + length) & mask) >> (CUSZ_LOOK - low));
        if (unit.zeros + run > CUSZ_STEP_ZEROS)
            return unit;
        unit.length = (uint8_t)(unit.length + length + low);
        unit.zeros = (uint8_t)(unit.zeros + run);
    }
}

static void make_steps(struct cusz_table *table)
{
    struct unit units[1 << CUSZ_LOOK];

    for (uint32_t i = 0; i < 1u << CUSZ_LOOK; i++)
        units[i] = unit_of(table, i);
    for (uint32_t i = 0; i < 1u << CUSZ_LOOK; i++) {
        const struct unit one = units[i];
        const struct unit two = units[i << one.length & ((1u << CUSZ_LOOK) - 1)];
        struct cusz_step step = {.length = one.length, .words = one.zeros};
        if (one.word > 0) {
            step.words++;
            step.at[0] = step.at[1] = one.zeros;
            step.others[0] = step.others[1] = one.word;
        }
        if (one.word > 0 && one.length + two.length <= CUSZ_LOOK) {
            step.length = (uint8_t)(step.length + two.length);
            step.words = (uint8_t)(step.words + two.zeros);
            if (two.word > 0) {
                step.at[1] = step.words++;
                step.others[1] = two.word;
            }
        }
        table->steps[i] = step;
    }
}

/* Codes that are looked up have a single, but for runs and matches. */
static void make_singles(struct cusz_table *table)
{
    for (uint32_t i = 0; i < 1u << CUSZ_LOOK; i++) {
        const uint32_t token = table->look[i] >> 4, length = table->look[i] & 15;
        const bool is_class = token >= CUSZ_CLASSES;
        const unsigned low = is_class ? (token - CUSZ_CLASSES) / 4 + CUSZ_CLASS_LOG2 - 2 : 0;
        struct cusz_single single = {.left = 63};
        if (length > 0 && (token == 0 || token >= CUSZ_RUNS) && length + low <= CUSZ_SINGLE_BITS)
            single = (struct cusz_single){
                .high = is_class ? (4 + (token - CUSZ_CLASSES) % 4) << low
                        : token  ? token - CUSZ_RUNS + 1
                                 : 0,
                .low = (uint8_t)low,
                .length = (uint8_t)(length + low),
                .left = (uint8_t)(64 - length - low),
            };
        table->singles[i] = single;
    }
}

void cusz_table_make(const struct cusz_codes *codes, struct cusz_table *table)
{
    uint32_t at = 0, bits = 0;

    for (uint32_t i = 0; i < CUSZ_TOKENS; i++)
        bits += (uint32_t)codes->length[i] << (CUSZ_LENGTH_MAX - codes->length[i]);
    memset(table->look, 0, sizeof table->look);
    table->matches = codes->matches;
    table->low_runs = codes->low_runs;
    for (unsigned length = 1; length <= CUSZ_LENGTH_MAX; length++) {
        table->first[length] = table->end[length] = 0;
        table->at[length] = at;
        for (uint32_t i = 0; i < CUSZ_TOKENS; i++) {
            if (codes->length[i] != length)
                continue;
            if (table->at[length] == at)
                table->first[length] = codes->code[i];
            table->end[length] = codes->code[i] + 1u;
            table->sorted[at++] = (uint16_t)i;
            for (uint32_t rest = 0; length <= CUSZ_LOOK && rest >> (CUSZ_LOOK - length) == 0;
                 rest++)
                table->look[((uint32_t)codes->code[i] << (CUSZ_LOOK - length)) + rest] =
                    (uint16_t)(length | i << 4);
        }
    }
    table->has_singles = bits > CUSZ_STEP_BITS << CUSZ_LENGTH_MAX;
    if (table->has_singles)
        make_singles(table);
    else
        make_steps(table);
}

void cusz_puts_make(const struct cusz_codes *codes, struct cusz_puts *puts)
{
    for (uint32_t i = 0; i < CUSZ_QUICK; i++) {
        unsigned extra = 0;
        const uint32_t token = i ? cusz_token(i, &extra) : 0, low = i & ((1u << extra) - 1);
        puts->words[i] = ((cusz_codeword)codes->code[token] << extra | low) << 5 |
                         (codes->length[token] + extra);
    }
    puts->runs[0] = 0;
    puts->quick_runs = codes->low_runs ? CUSZ_QUICK_RUNS : 1;
    for (uint32_t i = 1; i < puts->quick_runs; i++) {
        const unsigned token = 31u - (unsigned)__builtin_clz(i);
        puts->runs[i] = ((cusz_codeword)codes->code[token] << token | (i - (1u << token))) << 5 |
                        (codes->length[token] + token);
    }
}
