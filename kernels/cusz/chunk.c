/* Chunks (spec.md, Chunk). */
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "kernels/cusz/cusz.h"

/* Where everything lies in a chunk. */
struct layout {
    uint32_t lead, elements, tail; /* raw bytes, and between them elements */
    uint32_t segments, listed;
    size_t lengths, bits, list; /* in the stored bytes; those of list are its own length */
};

/* False: the chunk has no elements. */
static bool lay_out(const struct cusz_part *part, uint32_t raw_length, unsigned segment_log2,
                    uint32_t listed, struct layout *to)
{
    const uint32_t size = (uint32_t)bale_rounding_width(&part->rounding);

    if (raw_length < part->lead + size)
        return false;
    to->lead = part->lead;
    to->elements = (raw_length - part->lead) / size;
    to->tail = raw_length - part->lead - to->elements * size;
    to->segments = ((to->elements - 1) >> segment_log2) + 1;
    to->listed = listed;
    to->lengths = 1u + (listed ? 4u : 0u) + to->lead + to->tail;
    to->bits = to->lengths + 2 * (size_t)to->segments;
    to->list = (size_t)listed * (4 + size);
    return true;
}

int64_t cusz_encode(struct cusz_work *work, const struct cusz_part *part, const uint8_t *raw,
                    uint32_t raw_length, uint8_t *out, uint32_t capacity)
{
    const struct cusz_width *width = cusz_width_of(&part->rounding);
    unsigned segment_log2 = part->segment_log2;
    const uint8_t *elements = raw + part->lead;
    struct cusz_folded folded = {.words = work->folded, .others = work->others};
    struct layout l;
    uint32_t listed;
    int64_t bits;
    uint8_t *at;

    if (!lay_out(part, raw_length, segment_log2, 0, &l))
        return 0;
    listed = width->quantise(&part->rounding, elements, l.elements, work->words, work->list,
                             l.elements / CUSZ_LISTED);
    if (listed > l.elements / CUSZ_LISTED)
        return 0;
    folded.count = l.elements;
    width->predict(work->words, l.elements, part->strides, part->order, part->turned, work->folded,
                   work->others);
    do {
        lay_out(part, raw_length, segment_log2, listed, &l);
        if (l.bits + l.list > capacity)
            return 0;
        bits = width->encode(&work->matcher, &part->codes, &work->puts, &folded, segment_log2,
                             out + l.lengths, out + l.bits, capacity - l.bits - l.list);
    } while (bits == CUSZ_TOO_LONG && segment_log2-- > CUSZ_SEGMENT_MIN);
    if (bits < 0)
        return 0;
    out[0] = (uint8_t)(segment_log2 | (listed ? CUSZ_HAS_LIST : 0));
    if (listed)
        bale_put32(out + 1, listed);
    at = out + l.lengths - l.lead - l.tail;
    memcpy(at, raw, l.lead);
    memcpy(at + l.lead, raw + raw_length - l.tail, l.tail);
    at = out + l.bits + bits;
    for (uint32_t i = 0; i < listed; i++) {
        bale_put32(at + 4 * (size_t)i, work->list[i]);
        memcpy(at + 4 * (size_t)listed + i * width->size, elements + work->list[i] * width->size,
               width->size);
    }
    return (int64_t)(l.bits + l.list) + bits;
}

/* Puts the listed elements below end in their places. */
static int put_listed(const struct layout *l, const uint8_t *list, size_t size, uint32_t end,
                      uint8_t *elements)
{
    for (uint32_t i = 0; i < l->listed; i++) {
        const uint32_t position = bale_get32(list + 4 * (size_t)i);
        if (position >= l->elements || (i > 0 && position <= bale_get32(list + 4 * (size_t)i - 4)))
            return BALE_E_CORRUPT;
        if (position < end)
            memcpy(elements + position * size, list + 4 * (size_t)l->listed + i * size, size);
    }
    return BALE_OK;
}

/* Decodes the segments that begin before element end to words. */
static int decode_segments(struct cusz_work *work, const struct cusz_width *width,
                           const struct layout *l, unsigned segment_log2, const uint8_t *lengths,
                           struct cusz_bits in, uint32_t end)
{
    struct cusz_segment beside[CUSZ_BESIDE] = {{0}};
    uint64_t at = 0, next;

    memset(work->words, 0, end * width->size);
    for (uint32_t i = 0; i < l->segments; i++, at = next) {
        const uint32_t begin = i << segment_log2, left = l->elements - begin;
        const uint32_t count = left >> segment_log2 ? 1u << segment_log2 : left;
        next = at + bale_get16(lengths + 2 * (size_t)i);
        if (next > (uint64_t)in.length * 8)
            return BALE_E_CORRUPT;
        if (begin < end)
            beside[i % CUSZ_BESIDE] = (struct cusz_segment){at, next, begin, count};
        if (i % CUSZ_BESIDE < CUSZ_BESIDE - 1 && i + 1 < l->segments)
            continue;
        if (!width->decode(&work->table, in, beside, work->words))
            return BALE_E_CORRUPT;
        memset(beside, 0, sizeof beside);
    }
    if ((at + 7) / 8 != in.length || (at % 8 && in.bytes[at / 8] & (0xff >> at % 8)))
        return BALE_E_CORRUPT;
    return BALE_OK;
}

int cusz_decode(struct cusz_work *work, const struct cusz_part *part, const uint8_t *in,
                uint32_t length, uint8_t *raw, uint32_t raw_length, struct bale_wanted wanted)
{
    const struct cusz_width *width = cusz_width_of(&part->rounding);
    const unsigned segment_log2 = in[0] & (CUSZ_HAS_LIST - 1);
    const uint8_t *sides;
    struct layout l;
    uint32_t listed = 0, end;
    int err;

    if (in[0] & CUSZ_HAS_LIST) {
        listed = length >= 5 ? bale_get32(in + 1) : 0;
        if (listed == 0)
            return BALE_E_CORRUPT;
    }
    if (segment_log2 < CUSZ_SEGMENT_MIN || segment_log2 > CUSZ_SEGMENT_MAX ||
        !lay_out(part, raw_length, segment_log2, listed, &l) || listed > l.elements ||
        l.bits + l.list > length)
        return BALE_E_CORRUPT;
    end = wanted.to > l.lead ? (uint32_t)((wanted.to - l.lead + width->size - 1) / width->size) : 0;
    end = end < l.elements ? end : l.elements;
    err =
        decode_segments(work, width, &l, segment_log2, in + l.lengths,
                        (struct cusz_bits){in + l.bits, (uint32_t)(length - l.bits - l.list)}, end);
    if (err < 0)
        return err;
    width->sum(work->words, end, part->strides, part->order, part->turned);
    sides = in + l.lengths - l.lead - l.tail;
    memcpy(raw, sides, l.lead);
    memcpy(raw + raw_length - l.tail, sides + l.lead, l.tail);
    width->restore(&part->rounding, work->words, end, raw + l.lead);
    return put_listed(&l, in + length - l.list, width->size, end, raw + l.lead);
}
