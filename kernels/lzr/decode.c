#include "kernels/lzr/decode.h"

#include "format/bytes.h"
#include "format/err.h"
#include "kernels/lzr/groups.h"

/* The class's values begin at m << bits, beyond `least`. */
static uint16_t meaning(struct lzr_class class, unsigned least)
{
    return (uint16_t)((class.base - least) >> class.bits << 4 | class.bits);
}

void lzr_decode_init(struct lzr_decode *d, const struct lzr_rounds *rounds)
{
    d->rounds = rounds;
    for (unsigned c = 0; c < LZR_RUN_ONLY; c++)
        d->run_meanings[c] = meaning(lzr_run_class(c), 0);
    d->run_meanings[LZR_RUN_ONLY] = LZR_RUN_FLAG;
    d->match_meanings[LZR_MATCH_NONE] = 0;
    for (unsigned c = LZR_MATCH_NONE + 1; c < LZR_MATCH_CLASSES; c++)
        d->match_meanings[c] = LZR_LENGTH_FLAG | meaning(lzr_match_class(c), LZR_MATCH_MIN);
    for (unsigned c = 0; c < LZR_OFFSET_CLASSES; c++)
        d->offset_meanings[c] =
            c < LZR_REPEATS ? (uint16_t)(c << 8) : meaning(lzr_offset_class(c), 0);
    memset(d->literals, 0, sizeof d->literals);
}

/* Reads a table at *at and moves it on. */
static bool read_table(struct bale_rans_alphabet alphabet, const uint8_t *in, uint32_t length,
                       uint32_t *at, struct bale_rans_frequencies *read)
{
    int64_t bytes = bale_rans_table_read(alphabet, in + *at, length - *at, read);

    if (bytes < 0)
        return false;
    *at += (uint32_t)bytes;
    return true;
}

static bool read_tables(struct lzr_chunk *c, const uint8_t *in, uint32_t length, uint32_t *at)
{
    struct lzr_decode *d = c->decode;
    struct lzr_class_tables *tables = &d->tables;
    struct bale_rans_frequencies read;

    for (unsigned t = 0; t < (c->four ? LZR_TABLES : 1); t++) {
        if (!read_table(lzr_literals, in, length, at, &read))
            return false;
        c->no_literals |= (unsigned)(read.used == 0) << t;
        bale_rans_slots(&read, LZR_LITERAL_BITS, NULL,
                        d->literal_slots + ((size_t)t << LZR_LITERAL_BITS));
    }
    if (!read_table(lzr_runs, in, length, at, &read) || read.used == 0)
        return false;
    d->rounds->make_table(&read, d->run_meanings, &tables->runs);
    if (!read_table(lzr_matches, in, length, at, &read))
        return false;
    tables->no_matches = read.used == 0;
    d->rounds->make_table(&read, d->match_meanings, &tables->matches);
    if (!read_table(lzr_offsets, in, length, at, &read))
        return false;
    tables->no_offsets = read.used == 0;
    d->rounds->make_table(&read, d->offset_meanings, &tables->offsets);
    return true;
}

/* Begins the streams, whose words lie one behind the other. */
static bool begin_streams(struct lzr_chunk *c, const uint32_t words[LZR_STREAMS])
{
    const uint8_t *at = c->decode->words + LZR_BEFORE;

    for (unsigned s = 0; s < LZR_STREAMS; at += 2 * words[s++]) {
        struct lzr_source *source = &c->source[s];
        if (source->sequences > 0) {
            if (!bale_rans_decode_begin(&source->stream, at, 2 * words[s]))
                return false;
            continue;
        }
        if (words[s] != 0)
            return false;
        source->stream.words = source->stream.first = at;
        for (unsigned lane = 0; lane < BALE_RANS_LANES; lane++)
            source->stream.state[lane] = BALE_RANS_LOW;
    }
    return true;
}

static bool read_head(struct lzr_chunk *c, const uint8_t *in, uint32_t length)
{
    uint32_t at = 1, words[LZR_STREAMS] = {0}, bytes;

    if (length < 1 || in[0] > (LZR_FLAG_TWO_STREAMS | LZR_FLAG_FOUR_TABLES))
        return false;
    c->streams = in[0] & LZR_FLAG_TWO_STREAMS ? 2 : 1;
    c->four = (in[0] & LZR_FLAG_FOUR_TABLES) != 0;
    if (length < (c->streams == 2 ? 7 : 3))
        return false;
    for (unsigned s = 0; s < LZR_STREAMS; s++)
        c->source[s].group = &c->decode->groups[s];
    for (unsigned s = 0; s < c->streams; s++, at += 2)
        c->source[s].sequences = bale_get16(in + at);
    if (c->streams == 2) {
        words[0] = bale_get16(in + at);
        at += 2;
    }
    if (c->source[0].sequences == 0 || !read_tables(c, in, length, &at))
        return false;
    if (at % 2 != 0 && (at == length || in[at++] != 0))
        return false;
    bytes = length - at;
    if (bytes % 2 != 0 || bytes < 2 * words[0])
        return false;
    words[c->streams - 1] = bytes / 2 - words[0];
    memcpy(c->decode->words + LZR_BEFORE, in + at, bytes);
    return begin_streams(c, words);
}

/* Decodes the next groups, one of each stream. */
static bool decode_groups(struct lzr_chunk *c)
{
    struct lzr_decode *d = c->decode;

    for (unsigned s = 0; s < LZR_STREAMS; s++) {
        c->source[s].in_group = c->source[s].sequences > 0;
        d->groups[s].sequences = d->groups[s].literal_count = 0;
    }
    if (!d->rounds->decode(&d->tables, c->source) || !lzr_decode_literals(c))
        return false;
    for (unsigned s = 0; s < LZR_STREAMS; s++)
        if (!lzr_write_group(c, s))
            return false;
    return true;
}

int lzr_decode(struct lzr_decode *d, const uint8_t *in, uint32_t length, uint8_t *raw,
               uint32_t raw_length, uint32_t end)
{
    struct lzr_chunk c = {.decode = d, .raw = raw, .raw_length = raw_length};

    if (raw_length > LZR_CHUNK || length > LZR_CHUNK || !read_head(&c, in, length))
        return BALE_E_CORRUPT;
    for (unsigned i = 0; i < LZR_REPEATS; i++)
        d->last[LZR_REPEATS - 1 - i] = lzr_first_offsets[i];
    /* A turn of stream 0 without sequences is the last one. So is one of stream 1, behind which
     * stream 0 has none either. */
    while (c.source[0].sequences > 0) {
        if (!decode_groups(&c))
            return BALE_E_CORRUPT;
        if (end < raw_length && c.at >= end)
            return BALE_OK;
        if (c.streams == 2 && c.source[1].group->sequences == 0 && c.source[0].sequences > 0)
            return BALE_E_CORRUPT;
    }
    return c.at == raw_length && c.source[1].sequences == 0 ? BALE_OK : BALE_E_CORRUPT;
}
