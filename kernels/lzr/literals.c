/* The literals of an encoder, and whether they get one table or four (spec.md, "Encoder"). */
#include "kernels/codec/entropy.h"
#include "kernels/lzr/emit.h"

enum {
    STRIDE = 16,   /* bytes that are copied at once */
    SAMPLE = 4096, /* bytes by which a chunk is given up */
};

static void collect(struct lzr_emit *e, const struct lzr_found *found, const uint8_t *raw,
                    uint32_t raw_length)
{
    uint8_t *literals = e->literals;
    uint32_t at = 0;

    for (uint32_t i = 0; i < found->count; i++) {
        uint32_t run = found->runs[i];
        if (run <= STRIDE && raw_length - at >= STRIDE)
            memcpy(literals, raw + at, STRIDE);
        else
            memcpy(literals, raw + at, run);
        literals += run;
        at += run + found->lengths[i];
    }
    e->literal_count = found->literals;
}

/* The table of each literal, where there are four. */
static void collect_tables(struct lzr_emit *e, const struct lzr_found *found)
{
    uint8_t *table = e->table;
    uint32_t at = 0;

    for (uint32_t i = 0; i < found->count; i++) {
        uint32_t run = found->runs[i];
        lzr_set_tables(table, at, run);
        table += run;
        at += run + found->lengths[i];
    }
}

/* What literals cost with a table of their own, in 1/65536 bit: their entropy, and 5 bits for each
 * value that occurs. */
static uint64_t table_cost(const uint32_t counts[256])
{
    uint64_t sum = 0, table = 0;
    uint32_t total = 0;

    for (unsigned i = 0; i < 256; i++)
        if (counts[i] > 0) {
            total += counts[i];
            sum += (uint64_t)counts[i] * bale_log2_q16(counts[i]);
            table += 5u << 16;
        }
    return total > 0 ? (uint64_t)total * bale_log2_q16(total) - sum + table : 0;
}

/* Counts bytes by their tables, or anyhow if table is NULL, but not all in one place: that would wait
 * for what it just wrote. */
static void count_bytes(const uint8_t *bytes, const uint8_t *table, uint32_t count,
                        uint32_t counts[LZR_TABLES][256])
{
    memset(counts, 0, LZR_TABLES * sizeof *counts);
    if (table)
        for (uint32_t i = 0; i < count; i++)
            counts[table[i]][bytes[i]]++;
    else
        for (uint32_t i = 0; i < count; i++)
            counts[i % LZR_TABLES][bytes[i]]++;
}

/* The sum of four counts. */
static void add_up(const uint32_t counts[LZR_TABLES][256], uint32_t all[256])
{
    for (unsigned i = 0; i < 256; i++)
        all[i] = counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i];
}

bool lzr_emit_literals(struct lzr_emit *e, const struct lzr_found *found, const uint8_t *raw,
                       uint32_t raw_length)
{
    uint32_t all[256];
    uint64_t four = 0;
    bool many = found->literals > raw_length / 8;

    collect(e, found, raw, raw_length);
    if (many)
        collect_tables(e, found);
    count_bytes(e->literals, many ? e->table : NULL, e->literal_count, e->counts);
    add_up(e->counts, all);
    for (unsigned t = 0; many && t < LZR_TABLES; t++)
        four += table_cost(e->counts[t]);
    if (many && four < table_cost(all))
        return true;
    memcpy(e->counts[0], all, sizeof all);
    return false;
}

bool lzr_emit_is_hopeless(struct lzr_emit *e, const struct lzr_found *found, const uint8_t *raw,
                          uint32_t raw_length, uint32_t capacity)
{
    uint32_t words = raw_length / LZR_TABLES;
    uint64_t bits = 0;

    if (found->literals < capacity || raw_length < SAMPLE)
        return false;
    memset(e->counts, 0, sizeof e->counts);
    for (uint32_t i = 0; i < SAMPLE / LZR_TABLES; i++) {
        const uint8_t *word = raw + (uint64_t)i * words / (SAMPLE / LZR_TABLES) * LZR_TABLES;
        for (unsigned t = 0; t < LZR_TABLES; t++)
            e->counts[t][word[t]]++;
    }
    /* n values of 256 that are all as likely seem to take less than they do, by 255 / 2 n / ln 2
     * bits each. */
    for (unsigned t = 0; t < LZR_TABLES; t++)
        bits += bale_entropy_bits(e->counts[t], SAMPLE / LZR_TABLES) + (184u << 16);
    return bits / SAMPLE * found->literals > (uint64_t)capacity << 19;
}
