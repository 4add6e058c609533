/* The extent part (spec.md). */
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "kernels/cusz/cusz.h"

/* A sequence of half bytes, the lower one of each byte first. */
struct halves {
    uint8_t *bytes;
    uint32_t count;
};

static void add(struct halves *to, unsigned half)
{
    if (to->count % 2 == 0)
        to->bytes[to->count / 2] = 0;
    to->bytes[to->count / 2] |= (uint8_t)(half << to->count % 2 * 4);
    to->count++;
}

/* Lengths, up to the last that is not zero; behind a zero, how many more zeros follow. */
static uint32_t write_lengths(const uint8_t lengths[CUSZ_TOKENS], uint8_t *out)
{
    struct halves to = {.bytes = out};
    uint32_t end = CUSZ_TOKENS;

    while (lengths[end - 1] == 0)
        end--;
    for (uint32_t i = 0; i < end; i++) {
        unsigned more = 0;
        add(&to, lengths[i]);
        if (lengths[i] > 0)
            continue;
        while (more < 15 && lengths[i + 1] == 0) {
            more++;
            i++;
        }
        add(&to, more);
    }
    return (to.count + 1) / 2;
}

static bool read_lengths(const uint8_t *in, uint32_t length, uint8_t lengths[CUSZ_TOKENS])
{
    uint32_t token = 0;

    memset(lengths, 0, CUSZ_TOKENS);
    for (uint32_t i = 0; i < 2 * length; i++) {
        const unsigned half = in[i / 2] >> i % 2 * 4 & 15;
        if (half == 0 && i + 1 == 2 * length)
            return true; /* padding */
        if (half == 0)
            token += (unsigned)(in[(i + 1) / 2] >> (i + 1) % 2 * 4 & 15), i++;
        if (token >= CUSZ_TOKENS)
            return false;
        lengths[token++] = (uint8_t)half;
    }
    return true;
}

uint32_t cusz_part_write(const struct cusz_part *part, uint8_t out[static CUSZ_PART])
{
    uint32_t length = CUSZ_HEAD;
    uint64_t step;

    memcpy(&step, &part->rounding.step, sizeof step);
    out[0] =
        (uint8_t)((part->rounding.type == BALE_ROUND_F64 ? CUSZ_F64 : 0) |
                  (part->rounding.big_endian ? CUSZ_BIG_ENDIAN : 0) | part->order << CUSZ_ORDER_AT |
                  (part->segment_log2 - CUSZ_SEGMENT_MIN) << CUSZ_SEGMENT_AT |
                  (part->codes.matches ? CUSZ_MATCHES : 0));
    out[1] = (uint8_t)(part->lead | (part->turned ? CUSZ_TURNED : 0) |
                       (part->codes.low_runs ? CUSZ_LOW_RUNS : 0));
    bale_put64(out + 2, step);
    for (unsigned i = 1; i < part->order; i++, length += 4)
        bale_put32(out + length, part->strides[i]);
    return length + write_lengths(part->codes.length, out + length);
}

int cusz_part_read(struct bale_extent_part bytes, struct cusz_part *part)
{
    const uint8_t *in = bytes.bytes;
    uint32_t length = CUSZ_HEAD;
    int err;

    if (bytes.length < CUSZ_HEAD || bytes.length > CUSZ_PART)
        return BALE_E_CORRUPT;
    err = bale_rounding_make(&part->rounding, in[0] & CUSZ_F64 ? BALE_ROUND_F64 : BALE_ROUND_F32,
                             in[0] & CUSZ_BIG_ENDIAN, bale_get64(in + 2));
    part->order = in[0] >> CUSZ_ORDER_AT & 3;
    part->segment_log2 = (uint8_t)((in[0] >> CUSZ_SEGMENT_AT & 7) + CUSZ_SEGMENT_MIN);
    part->lead = (uint8_t)(in[1] & ~(CUSZ_TURNED | CUSZ_LOW_RUNS));
    part->codes.matches = in[0] & CUSZ_MATCHES;
    part->turned = in[1] & CUSZ_TURNED;
    part->codes.low_runs = in[1] & CUSZ_LOW_RUNS;
    part->strides[0] = 1;
    if (err < 0 || part->lead >= bale_rounding_width(&part->rounding) ||
        (part->codes.matches && (part->turned || part->codes.low_runs)))
        return BALE_E_CORRUPT;
    for (unsigned i = 1; i < part->order; i++, length += 4) {
        if (bytes.length < length + 4)
            return BALE_E_CORRUPT;
        part->strides[i] = bale_get32(in + length);
        if (part->strides[i] == 0)
            return BALE_E_CORRUPT;
    }
    if (!read_lengths(in + length, bytes.length - length, part->codes.length))
        return BALE_E_CORRUPT;
    return cusz_codes_make(&part->codes) ? BALE_OK : BALE_E_CORRUPT;
}
