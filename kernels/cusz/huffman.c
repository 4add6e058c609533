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
    for (uint32_t i = 0; i < CUSZ_LITERALS; i++) {
        const uint32_t token = i ? CUSZ_RUNS - 1 + i : 0;
        codes->literal[i] = (cusz_codeword)codes->code[token] << 4 | codes->length[token];
    }
    return true;
}

/* What a table has of a token, besides the length of its code. */
static uint32_t entry(uint32_t token)
{
    const uint32_t folded = token < CUSZ_RUNS ? 0 : token - CUSZ_RUNS + 1;
    const uint32_t word = (folded >> 1 ^ (0u - (folded & 1))) & UINT16_MAX;

    if ((token > 0 && token < CUSZ_RUNS) || token >= CUSZ_CLASSES)
        return token << 5;
    return word << 16 | token << 5 | CUSZ_SINGLE;
}

void cusz_table_make(const struct cusz_codes *codes, struct cusz_table *table)
{
    uint32_t at = 0;

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
                    length | entry(i);
        }
    }
}
