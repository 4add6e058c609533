/* Making a frame's extent part (spec.md, Choices). */
#include <string.h>

#include "kernels/codec/entropy.h"
#include "kernels/cusz/cusz.h"

/* A frame's elements, chunk by chunk. */
struct frame {
    const uint8_t *raw;
    uint32_t length;
    uint32_t chunk;
    uint8_t lead;
    const struct cusz_width *width;
};

/* The elements of the chunk at byte at. */
static uint32_t elements_at(const struct frame *frame, uint32_t at, const uint8_t **elements)
{
    const uint32_t left = frame->length - at, length = left < frame->chunk ? left : frame->chunk;

    *elements = frame->raw + at + frame->lead;
    return length > frame->lead ? (length - frame->lead) / (uint32_t)frame->width->size : 0;
}

/* How many orders there are to choose from: as many dimensions are known, and one without
 * prediction. */
static unsigned orders_of(const struct bale_field *field, uint32_t chunk_elements,
                          uint32_t strides[CUSZ_ORDERS - 1])
{
    unsigned orders = 2;

    strides[0] = 1;
    for (unsigned i = 1; i < CUSZ_ORDERS - 1 && field->dims[i] > 0; i++) {
        uint64_t stride = field->dims[i - 1];
        if (stride >= chunk_elements || (stride *= strides[i - 1]) >= chunk_elements)
            break;
        strides[i] = (uint32_t)stride;
        orders = i + 2;
    }
    return orders;
}

/* The order that costs least in a sample of all chunks; of equal ones the least. False: too many
 * elements are no multiples. */
static bool choose_order(struct cusz_work *work, const struct frame *frame, unsigned orders,
                         struct cusz_part *part)
{
    uint64_t costs[CUSZ_ORDERS] = {0};
    uint32_t elements = 0, listed = 0;

    for (uint32_t at = 0; at < frame->length; at += frame->chunk) {
        const uint8_t *from;
        const uint32_t count = elements_at(frame, at, &from);
        listed += frame->width->quantise(&part->rounding, from, count, work->words, NULL, 0);
        elements += count;
        frame->width->sample(work->words, count, part->strides, orders, costs);
    }
    part->order = 0;
    for (unsigned i = 1; i < orders; i++)
        if (costs[i] < costs[part->order])
            part->order = (uint8_t)i;
    return elements > 0 && listed <= elements / CUSZ_UNFIT;
}

/* Words of the chunk at byte at, behind the prediction. */
static struct cusz_folded predict_chunk(struct cusz_work *work, const struct frame *frame,
                                        const struct cusz_part *part, uint32_t at)
{
    const uint8_t *from;
    const uint32_t count = elements_at(frame, at, &from);

    if (frame->length > frame->chunk) /* else choose_order() has left them */
        frame->width->quantise(&part->rounding, from, count, work->words, NULL, 0);
    frame->width->predict(work->words, count, part->strides, part->order, part->turned,
                          work->folded, work->others);
    return (struct cusz_folded){work->folded, work->others, count};
}

/* Counts the tokens of all chunks, without runs; and those that zeros would be as runs. */
static void count_tokens(struct cusz_work *work, const struct frame *frame,
                         const struct cusz_part *part, enum bale_field_pipeline pipeline,
                         uint32_t counts[CUSZ_TOKENS], uint32_t runs[CUSZ_RUNS])
{
    for (uint32_t at = 0; at < frame->length; at += frame->chunk) {
        const struct cusz_folded folded = predict_chunk(work, frame, part, at);
        const uint32_t before = counts[0];
        uint32_t more[CUSZ_RUNS] = {0};
        const uint32_t pairs = frame->width->count(&folded, counts, more);
        const uint32_t zeros = counts[0] - before;
        /* Runs of two zeros on average gain nothing. */
        if (pipeline == BALE_PIPELINE_AUTO && pairs <= zeros / 2) {
            runs[0] += zeros;
            continue;
        }
        for (unsigned i = 0; i < CUSZ_RUNS; i++)
            runs[i] += more[i];
    }
}

/* About how many bits Huffman's codes take, in 1/65536: the entropy, but a bit for each token that
 * has more than two fifths of those that are left, and for one that is alone. */
static uint64_t estimate(const uint32_t counts[CUSZ_TOKENS])
{
    uint32_t left[CUSZ_TOKENS], most;
    uint64_t sum = 0, total = 0, bits = 0;

    memcpy(left, counts, sizeof left);
    for (uint32_t i = 0; i < CUSZ_TOKENS; i++) {
        total += left[i];
        sum += left[i] > 0 ? (uint64_t)left[i] * bale_log2_q16(left[i]) : 0;
    }
    for (;;) {
        most = 0;
        for (uint32_t i = 1; i < CUSZ_TOKENS; i++)
            most = left[i] > left[most] ? i : most;
        if (left[most] == total)
            return bits > 0 ? bits : total << 16;
        if ((uint64_t)left[most] * 5 <= total * 2)
            return bits + total * bale_log2_q16((uint32_t)total) - sum;
        bits += total << 16;
        total -= left[most];
        sum -= (uint64_t)left[most] * bale_log2_q16(left[most]);
        left[most] = 0;
    }
}

/* Low bits of a token: of a word, or of a match or a run. */
static unsigned low_bits(uint32_t token, const struct cusz_codes *codes)
{
    if (token >= CUSZ_CLASSES)
        return (token - CUSZ_CLASSES) / 4 + CUSZ_CLASS_LOG2 - 2;
    if (token >= CUSZ_RUNS)
        return 0;
    if (!codes->matches)
        return codes->low_runs ? token : 0;
    if (token == 0 || token == CUSZ_LONGEST)
        return 0;
    return cusz_match_low(token) + (token < CUSZ_FAR ? 0 : CUSZ_DISTANCE_BITS);
}

/* About how many bits tokens take, in 1/65536. */
static uint64_t estimate_all(const uint32_t counts[CUSZ_TOKENS], const struct cusz_codes *codes)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < CUSZ_TOKENS; i++)
        bits += (uint64_t)counts[i] * low_bits(i, codes);
    return estimate(counts) + (bits << 16);
}

/* Makes codes for counts, which get those of runs instead of zeros where the pipeline has them. */
static void choose_codes(enum bale_field_pipeline pipeline, uint32_t counts[CUSZ_TOKENS],
                         const uint32_t runs[CUSZ_RUNS], struct cusz_codes *codes)
{
    const struct cusz_codes single = {.low_runs = false}, with_low = {.low_runs = true};
    uint32_t with_runs[CUSZ_TOKENS];

    memcpy(with_runs, counts, sizeof with_runs);
    memcpy(with_runs, runs, CUSZ_RUNS * sizeof *runs);
    if (pipeline == BALE_PIPELINE_AUTO)
        pipeline = estimate_all(with_runs, &with_low) < estimate_all(counts, &single)
                       ? BALE_PIPELINE_RLE_HUFFMAN
                       : BALE_PIPELINE_HUFFMAN;
    codes->low_runs = pipeline != BALE_PIPELINE_HUFFMAN;
    if (!codes->low_runs) {
        counts[0]++;
        counts[CUSZ_RUNS]++;
    } else {
        memcpy(counts, with_runs, sizeof with_runs);
        for (unsigned i = 0; i < CUSZ_RUNS; i++)
            counts[i]++;
    }
    if (pipeline == BALE_PIPELINE_RLE)
        cusz_lengths_equal(counts, codes->length);
    else
        cusz_lengths_huffman(counts, codes->length);
    cusz_codes_make(codes);
}

/* Makes codes for tokens with matches, long ones only or short ones, too. */
static void learn_matches(struct cusz_work *work, const struct frame *frame, struct cusz_part *part)
{
    uint32_t few[CUSZ_TOKENS] = {0}, many[CUSZ_TOKENS] = {0};
    const uint32_t *counts = few;

    for (uint32_t at = 0; at < frame->length; at += frame->chunk) {
        const struct cusz_folded folded = predict_chunk(work, frame, part, at);
        frame->width->count_matches(&work->matcher, &folded, few, many);
    }
    for (uint32_t i = 0; i < CUSZ_RUNS; i++) {
        few[i]++;
        many[i] += i < CUSZ_FAR ? i == 0 || i > 2 : i > CUSZ_FAR + 1;
    }
    if (estimate_all(many, &part->codes) <= estimate_all(few, &part->codes))
        counts = many;
    cusz_lengths_huffman(counts, part->codes.length);
    cusz_codes_make(&part->codes);
    part->segment_log2 = CUSZ_PIECE_LOG2;
}

/* The most elements that take CUSZ_SEGMENT_BITS on average. */
static uint8_t choose_segment(const uint32_t counts[CUSZ_TOKENS], const struct cusz_codes *codes,
                              uint32_t elements)
{
    uint8_t log2 = CUSZ_SEGMENT_MAX;
    uint64_t bits = 0;

    for (uint32_t i = 0; i < CUSZ_TOKENS; i++)
        bits += (uint64_t)counts[i] * (codes->length[i] + low_bits(i, codes));
    while (log2 > CUSZ_SEGMENT_MIN && bits << log2 > (uint64_t)elements * CUSZ_SEGMENT_BITS)
        log2--;
    return log2;
}

bool cusz_learn(struct cusz_work *work, const struct bale_field *field, uint64_t offset,
                uint32_t chunk_size, const uint8_t *raw, uint32_t raw_length,
                struct cusz_part *part)
{
    const enum bale_field_pipeline pipeline = (enum bale_field_pipeline)field->pipeline;
    const bool f64 = field->type == BALE_FIELD_F64;
    struct frame frame = {.raw = raw, .length = raw_length, .chunk = chunk_size};
    uint32_t counts[CUSZ_TOKENS] = {0}, runs[CUSZ_RUNS] = {0};
    unsigned orders;

    if ((field->type != BALE_FIELD_F32 && !f64) || frame.chunk > CUSZ_CHUNK ||
        bale_rounding_make(&part->rounding, f64 ? BALE_ROUND_F64 : BALE_ROUND_F32,
                           field->big_endian, field->step) < 0)
        return false;
    frame.width = cusz_width_of(&part->rounding);
    /* Bytes to the next element; the array's begin may be behind them. */
    frame.lead = (uint8_t)((field->offset - offset) % frame.width->size);
    part->lead = frame.lead;
    orders = orders_of(field, frame.chunk / (uint32_t)frame.width->size, part->strides);
    if (!choose_order(work, &frame, orders, part))
        return false;
    part->codes.matches = pipeline == BALE_PIPELINE_GPULZ_HUFFMAN;
    part->turned = !part->codes.matches;
    part->codes.low_runs = false;
    if (part->codes.matches) {
        learn_matches(work, &frame, part);
        return true;
    }
    count_tokens(work, &frame, part, pipeline, counts, runs);
    choose_codes(pipeline, counts, runs, &part->codes);
    part->segment_log2 =
        choose_segment(counts, &part->codes, raw_length / (uint32_t)frame.width->size);
    return true;
}
