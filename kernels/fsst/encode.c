#include <string.h>

#include "format/bytes.h"
#include "kernels/fsst/match.h"

enum {
    LANES = 4,                                    /* splits that are parsed side by side */
    ROOM = 2 * FSST_SPLIT + sizeof(uint64_t) - 1, /* for the codes of a split, all literals */
};

/* A split that is being parsed. */
struct lane {
    const uint8_t *in;
    const uint8_t *end;
    uint8_t *out; /* the codes so far end here */
    uint8_t codes[ROOM];
};

/* Writes a code, and behind it the byte that it needs if it is the escape. */
static inline uint8_t *put_code(uint8_t *out, uint32_t code, uint8_t byte)
{
    uint32_t literal = code >> 8;

    out[0] = (uint8_t)(code | (0 - literal));
    out[1] = byte;
    return out + 1 + literal;
}

/* Parses one symbol; eight bytes can be read. */
static inline void step_lane(const struct fsst_matcher *m, const uint8_t **in, uint8_t **out)
{
    uint64_t bytes = bale_get64(*in);
    fsst_match match = fsst_match_eight(m, bytes);

    *out = put_code(*out, fsst_match_code(match), (uint8_t)bytes);
    *in += fsst_match_length(match);
}

/* So many steps of each lane. The steps of one lane wait for each other, those of four do not.
 * Copies of the pointers stay in registers, because a code that is written cannot change them. */
static void step_all(const struct fsst_matcher *m, struct lane *lanes, uint32_t steps)
{
    const uint8_t *in[LANES];
    uint8_t *out[LANES];

    for (unsigned i = 0; i < LANES; i++)
        in[i] = lanes[i].in, out[i] = lanes[i].out;
    for (; steps > 0; steps--) {
        step_lane(m, &in[0], &out[0]);
        step_lane(m, &in[1], &out[1]);
        step_lane(m, &in[2], &out[2]);
        step_lane(m, &in[3], &out[3]);
    }
    for (unsigned i = 0; i < LANES; i++)
        lanes[i].in = in[i], lanes[i].out = out[i];
}

/* How many symbols can be parsed of a split before one may reach its end. */
static uint32_t steps_left(const struct lane *lane)
{
    return (uint32_t)(lane->end - lane->in) / FSST_SYMBOL;
}

static void finish_lane(const struct fsst_matcher *m, struct lane *lane)
{
    while (lane->end - lane->in >= FSST_SYMBOL)
        step_lane(m, &lane->in, &lane->out);
    while (lane->in < lane->end) {
        uint32_t left = (uint32_t)(lane->end - lane->in);
        fsst_match match = fsst_match_left(m, fsst_load_left(lane->in, left), left);

        lane->out = put_code(lane->out, fsst_match_code(match), *lane->in);
        lane->in += fsst_match_length(match);
    }
}

/* Parses up to LANES splits. */
static void parse(const struct fsst_matcher *m, struct lane *lanes, unsigned count)
{
    while (count == LANES) {
        uint32_t steps = steps_left(&lanes[0]);

        for (unsigned i = 1; i < LANES; i++)
            steps = steps_left(&lanes[i]) < steps ? steps_left(&lanes[i]) : steps;
        if (steps == 0)
            break;
        step_all(m, lanes, steps);
    }
    for (unsigned i = 0; i < count; i++)
        finish_lane(m, &lanes[i]);
}

/* The least length of a split, and the bits of the others' differences from it. */
struct range {
    uint32_t least;
    unsigned width;
};

static struct range range_of(const uint16_t *lengths, uint32_t splits)
{
    uint32_t most = lengths[0];
    struct range range = {.least = lengths[0]};

    for (uint32_t i = 1; i < splits; i++) {
        range.least = lengths[i] < range.least ? lengths[i] : range.least;
        most = lengths[i] > most ? lengths[i] : most;
    }
    while ((most - range.least) >> range.width > 0)
        range.width++;
    return range;
}

static void put_lengths(const uint16_t *lengths, uint32_t splits, struct range range, uint8_t *out)
{
    uint64_t bits = 0;
    unsigned have = 0;

    bale_put16(out, (uint16_t)range.least);
    out[2] = (uint8_t)range.width;
    out += FSST_HEAD;
    for (uint32_t i = 0; i < splits; i++) {
        bits |= (uint64_t)(lengths[i] - range.least) << have;
        for (have += range.width; have >= 8; have -= 8, bits >>= 8)
            *out++ = (uint8_t)bits;
    }
    if (have > 0)
        *out = (uint8_t)bits;
}

/* Encodes the splits from first on, up to LANES, to out. Returns the bytes that their codes take,
 * or more than room. */
static uint32_t encode_splits(const struct fsst_matcher *m, uint16_t *lengths, const uint8_t *raw,
                              uint32_t raw_length, uint32_t first, uint8_t *out, uint32_t room)
{
    uint32_t splits = fsst_splits(raw_length) - first, used = 0;
    uint32_t count = splits < LANES ? splits : LANES;
    struct lane lanes[LANES];

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (first + i) * FSST_SPLIT, left = raw_length - at;
        lanes[i].in = raw + at;
        lanes[i].end = raw + at + (left < FSST_SPLIT ? left : FSST_SPLIT);
        lanes[i].out = lanes[i].codes;
    }
    parse(m, lanes, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t length = (uint32_t)(lanes[i].out - lanes[i].codes);
        lengths[first + i] = (uint16_t)length;
        if (length <= room - used)
            memcpy(out + used, lanes[i].codes, length);
        used += length;
        if (used > room)
            break;
    }
    return used;
}

/* The codes go behind the head, and make way when the lengths' width is known. */
int64_t fsst_encode(const struct fsst_matcher *m, uint16_t *lengths, const uint8_t *raw,
                    uint32_t raw_length, uint8_t *out, uint32_t capacity)
{
    uint32_t splits = fsst_splits(raw_length), used = FSST_HEAD, size;
    struct range range;

    if (capacity < FSST_HEAD)
        return 0;
    for (uint32_t first = 0; first < splits; first += LANES) {
        used += encode_splits(m, lengths, raw, raw_length, first, out + used, capacity - used);
        if (used > capacity)
            return 0;
    }
    range = range_of(lengths, splits);
    size = fsst_lengths_size(splits, range.width);
    if (size > capacity - used)
        return 0;
    memmove(out + FSST_HEAD + size, out + FSST_HEAD, used - FSST_HEAD);
    put_lengths(lengths, splits, range, out);
    return used + size;
}
