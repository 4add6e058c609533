/* Estimates lz4 and zstd:1 (spec.md, "Parse", "Estimates" and "Closer look"). */
#include <stdbool.h>
#include <string.h>

#include "kernels/auto/auto.h"
#include "kernels/codec/entropy.h"

enum {
    MATCH_MIN = 4,      /* lz4's */
    ZSTD_MATCH_MIN = 6, /* zstd:1's, except for repeated distances */
    WORD = 8,           /* bytes that a hash of zstd:1's matches reads */
    CHECK = 2048,       /* bytes after which a closer look first asks whether it may end */
    SHARE = 16,         /* bytes of each SHARE_OF that count for entropy in a closer look at many */
    SHARE_OF = 64,
    ZSTD_BITS = 5, /* of a match, for its lengths and the kind of its distance */
};

struct parse {
    uint32_t literals; /* lz4's */
    uint32_t sequences;
    uint32_t length_bytes; /* lz4's extra bytes for long literal runs and matches */
    uint32_t zstd_literals;
    uint32_t zstd_bits; /* of its sequences */
};

static void count_literals(struct bale_auto *a, const uint8_t *s, uint32_t from, uint32_t to)
{
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
}

static void add_lz4_literals(struct parse *parse, uint32_t run)
{
    parse->literals += run;
    if (run >= 15)
        parse->length_bytes += (run - 15) / 255 + 1;
}

static void add_zstd_literals(struct bale_auto *a, struct parse *parse, uint32_t from, uint32_t to)
{
    count_literals(a, a->sample, from, to);
    parse->zstd_literals += to - from;
}

/* A greedy LZ parse that writes nothing. */
static struct parse parse_sample(struct bale_auto *a, uint32_t length)
{
    const uint8_t *s = a->sample;
    struct parse parse = {0};
    uint32_t anchor = 0;      /* behind the last match */
    uint32_t zstd_anchor = 0; /* behind the last match that zstd takes */
    uint32_t last = 0;        /* its distance */
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
            at += 1 + (misses++ >> BALE_AUTO_SKIP_LOG2);
            continue;
        }
        uint32_t n = MATCH_MIN + bale_auto_agree(s, candidate + MATCH_MIN, at + MATCH_MIN, length);
        uint32_t distance = at - candidate;
        add_lz4_literals(&parse, at - anchor);
        parse.sequences++;
        if (n >= 19)
            parse.length_bytes += (n - 19) / 255 + 1;
        if (n >= ZSTD_MATCH_MIN || distance == last) {
            add_zstd_literals(a, &parse, zstd_anchor, at);
            parse.zstd_bits += ZSTD_BITS;
            if (distance != last)
                parse.zstd_bits += 31u - (uint32_t)__builtin_clz(distance);
            last = distance;
            zstd_anchor = at + n;
        }
        at += n;
        anchor = at;
        misses = 0;
    }
    add_lz4_literals(&parse, length - anchor);
    add_zstd_literals(a, &parse, zstd_anchor, length);
    return parse;
}

/* Bytes of the literals after order-0 entropy coding. */
static uint32_t entropy_coded(const struct bale_auto *a, uint32_t literals)
{
    uint32_t counts[256];

    for (uint32_t i = 0; i < 256; i++)
        counts[i] = a->counts[0][i] + a->counts[1][i] + a->counts[2][i] + a->counts[3][i];
    return bale_entropy_bytes(counts, literals);
}

struct bale_auto_lz bale_auto_lz(struct bale_auto *a, uint32_t length)
{
    struct parse parse = parse_sample(a, length);

    return (struct bale_auto_lz){
        .lz4 = parse.literals + 3 * parse.sequences + parse.length_bytes,
        .zstd = entropy_coded(a, parse.zstd_literals) + parse.zstd_bits / 8,
        .literals = parse.zstd_literals,
    };
}

/* The first bytes of a match of zstd:1. */
static uint64_t six_at(const uint8_t *s)
{
    return bale_get64(s) << 8 * (WORD - ZSTD_MATCH_MIN);
}

/* A parse as zstd:1's. */
struct closer {
    struct bale_auto *a;
    const uint8_t *raw;
    uint32_t share; /* of each SHARE_OF bytes, those whose literals count for entropy */
    uint32_t literals, counted;
    uint32_t bits; /* of sequences */
};

/* Adds literals. A share of them is counted, spread so that every byte of an element is in it. */
static void add_share(struct closer *c, uint32_t from, uint32_t to)
{
    for (uint32_t at = from / SHARE_OF * SHARE_OF; at < to; at += SHARE_OF) {
        const uint32_t begin = at > from ? at : from, end = at + c->share < to ? at + c->share : to;
        if (begin >= end)
            continue;
        count_literals(c->a, c->raw, begin, end);
        c->counted += end - begin;
    }
    c->literals += to - from;
}

/* Whether what was parsed needs that. */
static bool needs(const struct closer *c, uint64_t bytes)
{
    uint64_t its = c->literals;

    if (c->counted > 0)
        its = its * entropy_coded(c->a, c->counted) / c->counted;
    its += c->bits / 8;
    return its + its / 32 >= bytes;
}

bool bale_auto_zstd_needs(struct bale_auto *a, const uint8_t *raw, uint32_t length, uint64_t bytes)
{
    /* If there are few bytes, all are counted: their entropy would be underrated otherwise. */
    struct closer c = {.a = a, .raw = raw, .share = length < BALE_AUTO_CLOSER ? SHARE_OF : SHARE};
    uint32_t last = 0, misses = 0, anchor = 0, at = 1, check = CHECK;

    memset(a->heads, 0, sizeof a->heads);
    memset(a->counts, 0, sizeof a->counts);
    while (at + WORD <= length) {
        uint64_t six = six_at(raw + at);
        uint32_t hash = (uint32_t)((six * 0x9e3779b97f4a7c15u) >> (64 - BALE_AUTO_HASH_LOG2));
        uint32_t candidate = a->heads[hash];
        bool again = last > 0 && bale_get32(raw + at - last) == bale_get32(raw + at);
        a->heads[hash] = (uint16_t)at;
        if (at >= check) {
            add_share(&c, anchor, at);
            anchor = at;
            check = 4 * at;
            if (needs(&c, bytes))
                return true;
        }
        if (again)
            candidate = at - last;
        if (!again && six_at(raw + candidate) != six) {
            at += 1 + (misses++ >> BALE_AUTO_SKIP_LOG2);
            continue;
        }
        add_share(&c, anchor, at);
        c.bits += ZSTD_BITS;
        if (at - candidate != last)
            c.bits += 31u - (uint32_t)__builtin_clz(at - candidate);
        last = at - candidate;
        at += bale_auto_agree(raw, candidate, at, length);
        anchor = at;
        misses = 0;
    }
    add_share(&c, anchor, length);
    return needs(&c, bytes);
}
