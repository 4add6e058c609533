#include "kernels/lzr/emit.h"

#include <stdbool.h>
#include <string.h>

#include "format/bytes.h"
#include "kernels/codec/entropy.h"

enum {
    STRIDE = 16,   /* bytes that are copied at once */
    SAMPLE = 4096, /* literals by which something is decided */
};

void lzr_emit_init(struct lzr_emit *e, const struct bale_rans_steps *steps)
{
    e->steps = steps;
    for (unsigned run = 0; run < LZR_RUN; run++) {
        e->class_of_run[run] = (uint8_t)lzr_class_of_run(run);
        e->bits_of_run[run] = lzr_run_class(e->class_of_run[run]).bits;
    }
    for (unsigned i = 0; i < LZR_SHORT; i++)
        e->class_of_length[i] = (uint8_t)lzr_class_of_length(LZR_MATCH_MIN + i);
    for (unsigned c = 0; c < LZR_MATCH_CLASSES; c++)
        e->bits_of_match[c] = lzr_match_class(c).bits;
}

static void next_offset(uint16_t last[LZR_REPEATS], uint16_t offset)
{
    last[2] = last[1];
    last[1] = last[0];
    last[0] = offset;
}

static uint32_t low_bits(uint32_t value, unsigned bits)
{
    return value & ((1u << bits) - 1);
}

/* Appends a sequence that has fewer than LZR_RUN literals and a match. */
static void add(struct lzr_emit *e, unsigned run, unsigned length, unsigned offset,
                const uint16_t last[LZR_REPEATS])
{
    uint32_t at = e->sequences++, value = length - LZR_MATCH_MIN;
    unsigned run_class = e->class_of_run[run], run_bits = e->bits_of_run[run];
    unsigned match_class =
        value < LZR_SHORT ? e->class_of_length[value] : lzr_class_of_length(length);
    unsigned bits = offset < 4 ? 0 : lzr_log2(offset) - 2;
    unsigned offset_class = lzr_class_of_offset(offset);
    uint32_t raw;

    offset_class = offset == last[2] ? 2 : offset_class;
    offset_class = offset == last[1] ? 1 : offset_class;
    offset_class = offset == last[0] ? 0 : offset_class;
    bits = offset_class < LZR_REPEATS ? 0 : bits;
    raw = low_bits(offset, bits) | low_bits(value, e->bits_of_match[match_class]) << bits;
    bits += e->bits_of_match[match_class];
    e->raw[at] = raw | low_bits(run, run_bits) << bits;
    e->raw_bits[at] = (uint8_t)(bits + run_bits);
    e->runs[at] = (uint8_t)run;
    e->run_class[at] = (uint8_t)run_class;
    e->match_class[at] = (uint8_t)match_class;
    e->offset_class[at] = (uint8_t)offset_class;
    e->run_counts[run_class]++;
    e->match_counts[match_class]++;
    e->offset_counts[offset_class]++;
}

/* Appends a sequence without a match. */
static void add_run(struct lzr_emit *e, unsigned run)
{
    uint32_t at = e->sequences++;
    unsigned class = run == LZR_RUN ? LZR_RUN_ONLY : e->class_of_run[run];

    e->runs[at] = (uint8_t)run;
    e->run_class[at] = (uint8_t) class;
    e->run_counts[class]++;
    e->match_class[at] = run == LZR_RUN ? LZR_ABSENT : LZR_MATCH_NONE;
    e->match_counts[LZR_MATCH_NONE] += run != LZR_RUN;
    e->offset_class[at] = LZR_ABSENT;
    e->raw_bits[at] = lzr_run_class(class).bits;
    e->raw[at] = low_bits(run, e->raw_bits[at]);
}

void lzr_emit_count(struct lzr_emit *e, const struct lzr_found *found, uint32_t count)
{
    uint16_t last[LZR_REPEATS];

    e->sequences = e->literal_count = 0;
    memset(e->run_counts, 0, sizeof e->run_counts);
    memset(e->match_counts, 0, sizeof e->match_counts);
    memset(e->offset_counts, 0, sizeof e->offset_counts);
    memcpy(last, lzr_first_offsets, sizeof last);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t run = found[i].literals;
        e->literal_count += run;
        for (; run >= LZR_RUN; run -= LZR_RUN) {
            add_run(e, LZR_RUN);
            next_offset(last, last[0]);
        }
        if (found[i].length > 0)
            add(e, run, found[i].length, found[i].offset, last);
        else if (run > 0)
            add_run(e, run);
        next_offset(last, found[i].length > 0 ? found[i].offset : last[0]);
    }
}

/* Collects the literals. */
static void collect(struct lzr_emit *e, const struct lzr_found *found, uint32_t count,
                    const uint8_t *raw, uint32_t raw_length)
{
    uint8_t *literals = e->literals;
    uint32_t at = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t run = found[i].literals;
        if (run <= STRIDE && raw_length - at >= STRIDE)
            memcpy(literals, raw + at, STRIDE);
        else
            memcpy(literals, raw + at, run);
        literals += run;
        at += run + found[i].length;
    }
}

/* The table of each of the first limit literals, where there are four. */
static void collect_tables(struct lzr_emit *e, const struct lzr_found *found, uint32_t limit)
{
    uint32_t at = 0, literal = 0;

    for (; literal < limit; literal += found->literals, at += found->length, found++)
        for (uint32_t end = at + found->literals, from = literal; at < end;) {
            uint32_t take = end - at < LZR_RUN ? end - at : LZR_RUN;
            lzr_set_tables(e->table + from, at);
            from += take;
            at += take;
        }
}

/* What count literals cost with a table of their own, in 1/65536 bit. */
struct table_cost {
    uint64_t literals; /* their entropy */
    uint64_t table;    /* 5 bits for each value that occurs */
};

static struct table_cost table_cost(const uint32_t counts[256])
{
    struct table_cost cost = {0};
    uint64_t sum = 0;
    uint32_t total = 0;

    for (unsigned i = 0; i < 256; i++)
        if (counts[i] > 0) {
            total += counts[i];
            sum += (uint64_t)counts[i] * bale_log2_q16(counts[i]);
            cost.table += 5u << 16;
        }
    if (total > 0)
        cost.literals = (uint64_t)total * bale_log2_q16(total) - sum;
    return cost;
}

/* Counts the first limit literals by their tables. */
static void count_by_table(struct lzr_emit *e, const struct lzr_found *found, uint32_t limit)
{
    collect_tables(e, found, limit);
    memset(e->counts, 0, sizeof e->counts);
    for (uint32_t i = 0; i < limit; i++)
        e->counts[e->table[i]][e->literals[i]]++;
}

/* Counts the first limit literals. Four counts at a time: one would wait for what it just wrote. */
static void count_all(struct lzr_emit *e, uint32_t all[256], uint32_t limit)
{
    memset(e->counts, 0, sizeof e->counts);
    for (uint32_t i = 0; i < limit; i++)
        e->counts[i % LZR_TABLES][e->literals[i]]++;
    for (unsigned i = 0; i < 256; i++)
        all[i] = e->counts[0][i] + e->counts[1][i] + e->counts[2][i] + e->counts[3][i];
}

/* Whether four tables are better, from the first literals. */
static bool choose_four(struct lzr_emit *e, const struct lzr_found *found, uint32_t raw_length)
{
    uint32_t all[256], limit = e->literal_count < SAMPLE ? e->literal_count : SAMPLE;
    struct table_cost one, four = {0};

    if (e->literal_count <= raw_length / 8)
        return false;
    count_all(e, all, limit);
    one = table_cost(all);
    count_by_table(e, found, limit);
    for (unsigned t = 0; t < LZR_TABLES; t++) {
        struct table_cost of_table = table_cost(e->counts[t]);
        four.literals += of_table.literals;
        four.table += of_table.table;
    }
    return four.literals / limit * e->literal_count + four.table <
           one.literals / limit * e->literal_count + one.table;
}

/* Counts the literals: all of them in counts[0], or by their tables if that is better. Returns
 * whether it is. */
static bool count_literals(struct lzr_emit *e, const struct lzr_found *found, uint32_t raw_length)
{
    uint32_t all[256];
    bool four = choose_four(e, found, raw_length);

    if (four) {
        count_by_table(e, found, e->literal_count);
    } else {
        count_all(e, all, e->literal_count);
        memcpy(e->counts[0], all, sizeof all);
    }
    return four;
}

/* Whether a chunk that is nearly all literals is likely to take more than capacity, with four tables,
 * by a sample of it. */
static bool is_hopeless(struct lzr_emit *e, const uint8_t *raw, uint32_t raw_length,
                        uint32_t capacity)
{
    uint32_t words = raw_length / LZR_TABLES;
    uint64_t bits = 0;

    if (e->literal_count < capacity || raw_length < SAMPLE)
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
        bits += table_cost(e->counts[t]).literals + (184u << 16);
    return bits / SAMPLE * e->literal_count > (uint64_t)capacity << 19;
}

static void end_group(struct lzr_emit *e, uint32_t sequence, uint32_t literal)
{
    e->groups++;
    e->group_sequence[e->groups] = sequence;
    e->group_literal[e->groups] = literal;
}

static void cut_groups(struct lzr_emit *e)
{
    uint32_t literal = 0, from = 0, from_literal = 0;

    e->groups = 0;
    e->group_sequence[0] = e->group_literal[0] = 0;
    for (uint32_t i = 0; i < e->sequences; i++) {
        uint32_t length = i + 1 - from;
        literal += e->runs[i];
        if (length == LZR_GROUP || i + 1 == e->sequences ||
            (length % LZR_ROUND == 0 && literal - from_literal >= LZR_GROUP_LITERALS)) {
            end_group(e, i + 1, literal);
            from = i + 1;
            from_literal = literal;
        }
    }
}

/* The sequences of a stream. */
static uint32_t stream_sequences(const struct lzr_emit *e, unsigned stream, unsigned streams)
{
    uint32_t sum = 0;

    for (uint32_t g = stream; g < e->groups; g += streams)
        sum += e->group_sequence[g + 1] - e->group_sequence[g];
    return sum;
}

/* The raw bits of a round: what a step cannot take, then the rest. */
static void encode_raw(const struct bale_rans_steps *steps, struct bale_rans_stream *stream,
                       const uint32_t raw[LZR_ROUND], const uint8_t bits[LZR_ROUND])
{
    uint8_t first_bits[LZR_ROUND], rest_bits[LZR_ROUND];
    uint32_t first[LZR_ROUND], rest[LZR_ROUND];
    unsigned most = 0;

    for (unsigned i = 0; i < LZR_ROUND; i++)
        most = bits[i] > most ? bits[i] : most;
    if (most <= BALE_RANS_RAW) {
        steps->encode_raw(stream, raw, bits);
        return;
    }
    for (unsigned i = 0; i < LZR_ROUND; i++) {
        first_bits[i] = bits[i] < BALE_RANS_RAW ? bits[i] : BALE_RANS_RAW;
        rest_bits[i] = (uint8_t)(bits[i] - first_bits[i]);
        first[i] = low_bits(raw[i], first_bits[i]);
        rest[i] = raw[i] >> first_bits[i];
    }
    steps->encode_raw(stream, rest, rest_bits);
    steps->encode_raw(stream, first, first_bits);
}

static void encode_round(const struct lzr_emit *e, struct bale_rans_stream *stream, uint32_t at)
{
    const struct bale_rans_steps *steps = e->steps;

    encode_raw(steps, stream, e->raw + at, e->raw_bits + at);
    steps->encode(stream, e->offset_symbols, LZR_CLASS_BITS, e->offset_class + at, LZR_ABSENT);
    steps->encode(stream, e->match_symbols, LZR_CLASS_BITS, e->match_class + at, LZR_ABSENT);
    steps->encode(stream, e->run_symbols, LZR_CLASS_BITS, e->run_class + at, LZR_ABSENT);
}

/* A round of fewer sequences: a copy behind the others that is filled up. */
static void encode_short_round(struct lzr_emit *e, struct bale_rans_stream *stream, uint32_t at,
                               uint32_t count)
{
    uint32_t copy = e->sequences;

    memset(e->raw + copy, 0, LZR_ROUND * sizeof *e->raw);
    memset(e->raw_bits + copy, 0, LZR_ROUND);
    memset(e->run_class + copy, LZR_ABSENT, LZR_ROUND);
    memset(e->match_class + copy, LZR_ABSENT, LZR_ROUND);
    memset(e->offset_class + copy, LZR_ABSENT, LZR_ROUND);
    memcpy(e->raw + copy, e->raw + at, count * sizeof *e->raw);
    memcpy(e->raw_bits + copy, e->raw_bits + at, count);
    memcpy(e->run_class + copy, e->run_class + at, count);
    memcpy(e->match_class + copy, e->match_class + at, count);
    memcpy(e->offset_class + copy, e->offset_class + at, count);
    encode_round(e, stream, copy);
}

static void encode_group(struct lzr_emit *e, struct bale_rans_stream *stream, uint32_t group,
                         uint32_t carried, const uint8_t *table)
{
    uint32_t first = e->group_sequence[group], end = e->group_sequence[group + 1];
    uint32_t literal = e->group_literal[group];

    e->steps->encode_bytes(stream, e->literal_symbols, LZR_LITERAL_BITS, e->literals + literal,
                           table ? table + literal : NULL,
                           e->group_literal[group + 1] - carried - literal);
    for (uint32_t rounds = (end - first + LZR_ROUND - 1) / LZR_ROUND; rounds-- > 0;) {
        uint32_t at = first + rounds * LZR_ROUND;
        if (end - at < LZR_ROUND)
            encode_short_round(e, stream, at, end - at);
        else
            encode_round(e, stream, at);
    }
}

/* Encodes the groups of a stream. Returns the bytes of its words, 0 if it has no groups. */
static uint32_t encode_stream(struct lzr_emit *e, unsigned index, unsigned streams,
                              const uint8_t *table)
{
    struct bale_rans_stream stream;
    uint16_t carry[BALE_RANS_LANES] = {0};
    uint32_t group = index, carried, n;

    if (e->groups <= index)
        return 0;
    while (group + streams < e->groups)
        group += streams;
    n = e->group_literal[group + 1] - e->group_literal[group];
    carried = n < LZR_CARRIED ? n : LZR_CARRIED;
    for (uint32_t q = 0; q < carried; q++) {
        uint8_t byte = e->literals[e->group_literal[group + 1] - carried + q];
        carry[q % BALE_RANS_LANES] |= (uint16_t)(byte << (q < BALE_RANS_LANES ? 0 : 8));
    }
    bale_rans_encode_begin(&stream, e->words[index], carry);
    for (;; group -= streams) {
        encode_group(e, &stream, group, carried, table);
        carried = 0;
        if (group < streams)
            break;
    }
    bale_rans_encode_end(&stream);
    return (uint32_t)(stream.top - e->words[index]);
}

/* Writes the tables behind the numbers; returns the bytes of all. */
static uint32_t write_head(struct lzr_emit *e, bool four, unsigned streams)
{
    uint8_t *out = e->head + 1;

    e->head[0] =
        (uint8_t)((streams == 2 ? LZR_FLAG_TWO_STREAMS : 0) | (four ? LZR_FLAG_FOUR_TABLES : 0));
    for (unsigned s = 0; s < streams; s++, out += 2)
        bale_put16(out, (uint16_t)stream_sequences(e, s, streams));
    if (streams == 2)
        out += 2; /* the words of stream 0 */
    for (unsigned t = 0; t < (four ? LZR_TABLES : 1); t++)
        out += bale_rans_table_write(lzr_literals, e->counts[t],
                                     e->literal_symbols + (size_t)256 * t, out);
    out += bale_rans_table_write(lzr_runs, e->run_counts, e->run_symbols, out);
    out += bale_rans_table_write(lzr_matches, e->match_counts, e->match_symbols, out);
    out += bale_rans_table_write(lzr_offsets, e->offset_counts, e->offset_symbols, out);
    if ((out - e->head) % 2 != 0)
        *out++ = 0;
    return (uint32_t)(out - e->head);
}

uint32_t lzr_emit(struct lzr_emit *e, const struct lzr_found *found, uint32_t count,
                  const uint8_t *raw, uint32_t raw_length, uint8_t *out, uint32_t capacity)
{
    unsigned streams = raw_length < LZR_TWO_STREAMS ? 1 : 2;
    uint32_t head, bytes[LZR_STREAMS] = {0};
    bool four;

    lzr_emit_count(e, found, count);
    if (is_hopeless(e, raw, raw_length, capacity))
        return 0;
    collect(e, found, count, raw, raw_length);
    four = count_literals(e, found, raw_length);
    cut_groups(e);
    head = write_head(e, four, streams);
    for (unsigned s = 0; s < streams; s++)
        bytes[s] = encode_stream(e, s, streams, four ? e->table : NULL);
    if (head + bytes[0] + bytes[1] > capacity)
        return 0;
    if (streams == 2)
        bale_put16(e->head + 5, (uint16_t)(bytes[0] / 2));
    memcpy(out, e->head, head);
    memcpy(out + head, e->words[0], bytes[0]);
    if (bytes[1] > 0)
        memcpy(out + head + bytes[0], e->words[1], bytes[1]);
    return head + bytes[0] + bytes[1];
}
