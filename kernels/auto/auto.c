#include "kernels/auto/auto.h"

#include <string.h>

#include "format/bytes.h"
#include "kernels/scratch.h"

enum {
    MATCH_MIN = 4,
    SKIP_LOG2 = 4, /* after 2^this misses in a row the probe takes longer steps */
};

/* What a greedy parse of the sample found. */
struct parse {
    uint32_t literals;
    uint32_t sequences;
    uint32_t length_bytes; /* LZ4's extra bytes for long literal runs and matches */
};

/* log2(n) in 1/65536, n > 0, to within 0.01: mantissa f, log2(1 + f) = f + 0.344 f (1 - f). */
static uint32_t log2_q16(uint32_t n)
{
    uint32_t exponent = 31u - (uint32_t)__builtin_clz(n);
    uint32_t f = ((n << (31u - exponent)) >> 15) & 0xffffu;
    uint32_t bow = (f * (65536u - f)) >> 16;

    return (exponent << 16) + f + ((bow * 22544u) >> 16);
}

/* Copies the pieces, spread evenly with both ends included, and returns the sample's length. */
static uint32_t gather(struct bale_auto *a, const uint8_t *raw, uint32_t raw_length)
{
    uint32_t pieces = raw_length / (16u << 10);

    if (raw_length <= BALE_AUTO_PIECE * BALE_AUTO_PIECES_MIN) {
        memcpy(a->sample, raw, raw_length);
        return raw_length;
    }
    if (pieces < BALE_AUTO_PIECES_MIN)
        pieces = BALE_AUTO_PIECES_MIN;
    if (pieces > BALE_AUTO_PIECES_MAX)
        pieces = BALE_AUTO_PIECES_MAX;
    for (uint32_t i = 0; i < pieces; i++) {
        uint64_t at = (uint64_t)(raw_length - BALE_AUTO_PIECE) * i / (pieces - 1);
        memcpy(a->sample + i * BALE_AUTO_PIECE, raw + at, BALE_AUTO_PIECE);
    }
    return pieces * BALE_AUTO_PIECE;
}

static void add_literals(struct bale_auto *a, struct parse *parse, uint32_t from, uint32_t to)
{
    const uint8_t *s = a->sample;
    uint32_t i = from;

    for (; to - i >= 8; i += 8) {
        uint64_t word = bale_get64(s + i);
        a->counts[0][word & 255]++;
        a->counts[1][word >> 8 & 255]++;
        a->counts[2][word >> 16 & 255]++;
        a->counts[3][word >> 24 & 255]++;
        a->counts[0][word >> 32 & 255]++;
        a->counts[1][word >> 40 & 255]++;
        a->counts[2][word >> 48 & 255]++;
        a->counts[3][word >> 56]++;
    }
    for (; i < to; i++)
        a->counts[0][s[i]]++;
    parse->literals += to - from;
    if (to - from >= 15)
        parse->length_bytes += (to - from - 15) / 255 + 1;
}

static uint32_t match_length(const uint8_t *s, uint32_t candidate, uint32_t at, uint32_t end)
{
    uint32_t n = MATCH_MIN;

    for (; at + n + sizeof(uint64_t) <= end; n += (uint32_t)sizeof(uint64_t)) {
        uint64_t differ = bale_get64(s + candidate + n) ^ bale_get64(s + at + n);
        if (differ != 0)
            return n + (uint32_t)__builtin_ctzll(differ) / 8;
    }
    while (at + n < end && s[candidate + n] == s[at + n])
        n++;
    return n;
}

/* A greedy LZ parse that writes nothing. */
static struct parse parse_sample(struct bale_auto *a, uint32_t length)
{
    const uint8_t *s = a->sample;
    struct parse parse = {0};
    uint32_t anchor = 0;
    uint32_t at = 1;
    uint32_t misses = 0;

    memset(a->heads, 0, sizeof a->heads);
    memset(a->counts, 0, sizeof a->counts);
    while (at + MATCH_MIN <= length) {
        uint32_t word = bale_get32(s + at);
        uint32_t hash = (word * 2654435761u) >> (32 - BALE_AUTO_HASH_LOG2);
        uint32_t candidate = a->heads[hash];
        a->heads[hash] = (uint16_t)at;
        if (bale_get32(s + candidate) != word) {
            at += 1 + (misses++ >> SKIP_LOG2);
            continue;
        }
        uint32_t n = match_length(s, candidate, at, length);
        add_literals(a, &parse, anchor, at);
        parse.sequences++;
        if (n >= 19)
            parse.length_bytes += (n - 19) / 255 + 1;
        at += n;
        anchor = at;
        misses = 0;
    }
    add_literals(a, &parse, anchor, length);
    return parse;
}

/* Bytes of the literals after order-0 entropy coding; never more than the literals. */
static uint32_t entropy_coded(const struct bale_auto *a, uint32_t literals)
{
    uint64_t bits_q16 = 0;
    uint32_t bytes;

    if (literals == 0)
        return 0;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t n = a->counts[0][i] + a->counts[1][i] + a->counts[2][i] + a->counts[3][i];
        if (n > 0)
            bits_q16 += (uint64_t)n * log2_q16(n);
    }
    bits_q16 = (uint64_t)literals * log2_q16(literals) - bits_q16;
    bytes = (uint32_t)(bits_q16 >> 19);
    return bytes < literals ? bytes : literals;
}

static struct bale_setting choose(struct bale_scratch *scratch, const uint8_t *raw,
                                  uint32_t raw_length)
{
    uint32_t length = gather(scratch->choice, raw, raw_length);
    struct parse parse = parse_sample(scratch->choice, length);
    uint32_t lz4 = parse.literals + 3 * parse.sequences + parse.length_bytes;
    uint32_t zstd = entropy_coded(scratch->choice, parse.literals) + 5 * parse.sequences / 2;

    if (zstd >= length - length / 20)
        return (struct bale_setting){.codec = BALE_CODEC_STORE};
    if (lz4 <= zstd + zstd / 32)
        return (struct bale_setting){.codec = BALE_CODEC_LZ4};
    return (struct bale_setting){.codec = BALE_CODEC_ZSTD, .parameter = 1};
}

struct bale_setting bale_auto_choose(struct bale_scratch *scratch, struct bale_setting setting,
                                     const uint8_t *raw, uint32_t raw_length)
{
    const struct bale_codec *codec = bale_codec_find(setting.codec);

    if (setting.codec == BALE_CODEC_AUTO)
        return choose(scratch, raw, raw_length);
    if (codec && codec->choose)
        setting.parameter = codec->choose(scratch, setting.parameter, raw, raw_length);
    return setting;
}
