#include "kernels/lzr/emit.h"

#include "format/bytes.h"

void lzr_emit_init(struct lzr_emit *e, const struct lzr_rounds *rounds)
{
    memset(e, 0, sizeof *e);
    e->rounds = rounds;
}

/* The counts of classes of runs, match lengths and offsets. */
struct counts {
    uint32_t of[3][256];
};

static inline void count_sequence(struct counts *counts, const struct lzr_coded *coded, uint32_t i)
{
    counts->of[0][coded->run[i]]++;
    counts->of[1][coded->match[i]]++;
    counts->of[2][coded->offset[i]]++;
}

void lzr_emit_classes(struct lzr_emit *e, const struct lzr_found *found)
{
    /* A count in one place would wait for what it just wrote. */
    struct counts even = {0}, odd = {0};
    uint32_t i = 0;

    e->rounds->classify(found, &e->coded);
    for (; i + 1 < found->count; i += 2) {
        count_sequence(&even, &e->coded, i);
        count_sequence(&odd, &e->coded, i + 1);
    }
    if (i < found->count)
        count_sequence(&even, &e->coded, i);
    for (unsigned class = 0; class < LZR_CLASSES; class ++) {
        e->run_counts[class] = even.of[0][class] + odd.of[0][class];
        e->match_counts[class] = even.of[1][class] + odd.of[1][class];
        e->offset_counts[class] = even.of[2][class] + odd.of[2][class];
    }
}

static void end_group(struct lzr_emit *e, uint32_t sequence, uint32_t literal)
{
    e->groups++;
    e->group_sequence[e->groups] = sequence;
    e->group_literal[e->groups] = literal;
}

static void cut_groups(struct lzr_emit *e, const struct lzr_found *found)
{
    uint32_t literal = 0, from = 0, from_literal = 0;

    e->groups = 0;
    e->group_sequence[0] = e->group_literal[0] = 0;
    for (uint32_t at = 0; at < found->count; at += LZR_ROUND) {
        uint32_t end = at + LZR_ROUND < found->count ? at + LZR_ROUND : found->count;
        for (uint32_t i = at; i < end; i++)
            literal += found->runs[i];
        if (end - from == LZR_GROUP || end == found->count ||
            literal - from_literal >= LZR_GROUP_LITERALS) {
            end_group(e, end, literal);
            from = end;
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

/* Begins a stream whose last group is this one. Returns how many of its literals are carried. */
static uint32_t begin_stream(struct lzr_emit *e, unsigned index, uint32_t group,
                             struct bale_rans_stream *stream)
{
    uint16_t carry[BALE_RANS_LANES] = {0};
    uint32_t n = e->group_literal[group + 1] - e->group_literal[group];
    uint32_t carried = n < LZR_CARRIED ? n : LZR_CARRIED;

    for (uint32_t q = 0; q < carried; q++) {
        uint8_t byte = (uint8_t)e->literals[e->group_literal[group + 1] - carried + q];
        carry[q % BALE_RANS_LANES] |= (uint16_t)(byte << (q < BALE_RANS_LANES ? 0 : 8));
    }
    bale_rans_encode_begin(stream, e->words[index], carry);
    return carried;
}

/* Encodes the groups, from the last turn to the first. Sets the bytes of each stream's words, 0 if
 * it has no groups. */
static void encode_streams(struct lzr_emit *e, unsigned streams, uint32_t bytes[LZR_STREAMS])
{
    struct lzr_part part[LZR_STREAMS] = {0};
    const uint32_t turns = (e->groups + streams - 1) / streams;

    for (unsigned s = 0; s < LZR_STREAMS; s++)
        part[s].stream.top = e->words[s]; /* steps of no lane write there, too */
    for (uint32_t turn = turns; turn-- > 0;) {
        for (unsigned s = 0; s < streams; s++) {
            uint32_t group = turn * streams + s, carried = 0, literal;
            part[s].first = part[s].end = 0;
            if (group >= e->groups)
                continue;
            if (group + streams >= e->groups)
                carried = begin_stream(e, s, group, &part[s].stream);
            part[s].first = e->group_sequence[group];
            part[s].end = e->group_sequence[group + 1];
            literal = e->group_literal[group];
            e->rounds->steps->encode(&part[s].stream, e->literal_symbols, LZR_LITERAL_BITS,
                                     e->literals + literal,
                                     e->group_literal[group + 1] - carried - literal);
        }
        e->rounds->encode(&e->coded, &e->symbols, part);
    }
    for (unsigned s = 0; s < streams; s++) {
        bytes[s] = 0;
        if (s >= e->groups)
            continue;
        bale_rans_encode_end(&part[s].stream);
        bytes[s] = (uint32_t)(part[s].stream.top - e->words[s]);
    }
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
        out += bale_rans_table_write(lzr_literals, e->counts + (size_t)256 * t,
                                     e->literal_symbols + (size_t)256 * t, out);
    out += bale_rans_table_write(lzr_runs, e->run_counts, e->symbols.runs, out);
    out += bale_rans_table_write(lzr_matches, e->match_counts, e->symbols.matches, out);
    out += bale_rans_table_write(lzr_offsets, e->offset_counts, e->symbols.offsets, out);
    if ((out - e->head) % 2 != 0)
        *out++ = 0;
    return (uint32_t)(out - e->head);
}

uint32_t lzr_emit(struct lzr_emit *e, const struct lzr_found *found, const uint8_t *raw,
                  uint32_t raw_length, uint8_t *out, uint32_t capacity)
{
    unsigned streams = raw_length < LZR_TWO_STREAMS ? 1 : 2;
    uint32_t head, bytes[LZR_STREAMS] = {0};
    bool four;

    if (lzr_emit_is_hopeless(e, found, raw, raw_length, capacity))
        return 0;
    lzr_emit_classes(e, found);
    four = lzr_emit_literals(e, found, raw, raw_length);
    cut_groups(e, found);
    head = write_head(e, four, streams);
    encode_streams(e, streams, bytes);
    if (head + bytes[0] + bytes[1] > capacity)
        return 0;
    if (streams == 2)
        bale_put16(e->head + 5, (uint16_t)(bytes[0] / 2));
    memcpy(out, e->head, head);
    memcpy(out + head, e->words[0], bytes[0]);
    memcpy(out + head + bytes[0], e->words[1], bytes[1]);
    return head + bytes[0] + bytes[1];
}
