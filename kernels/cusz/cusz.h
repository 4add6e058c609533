/* What the parts of codec cusz share (spec.md). Elements are *words* here: of 32 bits for f32 and
 * of 64 for f64, which wrap around. */
#ifndef BALE_KERNELS_CUSZ_CUSZ_H
#define BALE_KERNELS_CUSZ_CUSZ_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/field.h"
#include "kernels/codec/codec.h"
#include "kernels/cusz/sizes.h"
#include "kernels/lzss/lzss.h"
#include "kernels/round/round.h"

/* A canonical code: length 0 for a token without one. */
struct cusz_codes {
    uint16_t code[CUSZ_TOKENS];
    uint8_t length[CUSZ_TOKENS];
    bool matches;  /* what tokens 1 to 15 stand for; else runs of zeros */
    bool low_runs; /* of which low bits follow */
};

/* What is written for a folded word, and for a run of zeros, of which 0 is none: its bits, low ones
 * included, << 5 | their length. */
struct cusz_puts {
    cusz_codeword words[CUSZ_QUICK], runs[CUSZ_QUICK_RUNS];
    uint32_t quick_runs; /* so many are there; one, if runs have no low bits */
};

/* An extent part, taken apart. */
struct cusz_part {
    struct bale_rounding rounding;
    uint8_t order;                     /* of the prediction, 0 to 3 */
    uint8_t segment_log2;              /* of the longest segments */
    uint8_t lead;                      /* bytes of a chunk before its first element */
    bool turned;                       /* words, by the sign of the one before */
    uint32_t strides[CUSZ_ORDERS - 1]; /* elements between those that are subtracted */
    struct cusz_codes codes;
};

/* What CUSZ_LOOK bits stand for, as far as these are whole tokens of small words and short runs: so
 * many bits; so many words; and of these at most two that are not 0, folded, and where they are. If
 * there is only one, it is there twice; if there is none, a 0. */
struct cusz_step {
    uint8_t length, words, at[2], others[2];
};

/* The same for one word of any size: its folded word but for the low bits; how many these are; bits
 * of its token and low bits together, and what is left of 64. */
struct cusz_single {
    uint32_t high;
    uint8_t low, length, left;
};

/* For decoding: by the next CUSZ_LOOK bits length | token << 4, or 0 for longer codes; and what
 * these bits stand for, singles where codes are long, else steps. Of longer codes, by length: those
 * from first on and below end have the tokens from at on. */
struct cusz_table {
    uint16_t look[1 << CUSZ_LOOK];
    union {
        struct cusz_step steps[1 << CUSZ_LOOK];
        struct cusz_single singles[1 << CUSZ_LOOK];
    };
    uint16_t sorted[CUSZ_TOKENS];
    uint32_t first[CUSZ_LENGTH_MAX + 1], end[CUSZ_LENGTH_MAX + 1], at[CUSZ_LENGTH_MAX + 1];
    bool matches, low_runs, has_singles;
};

/* A segment that is being decoded: bits from at to end, and words from begin on. */
struct cusz_segment {
    uint64_t at, end;
    uint32_t begin, count;
};

/* Finds matches in a segment: its words, folded, and what bale_lzss_parse makes of them. */
struct cusz_matcher {
    struct bale_lzss_work lzss;
    uint16_t symbols[1 << CUSZ_SEGMENT_MAX];
};
static_assert(2 << CUSZ_SEGMENT_MAX <= BALE_LZSS_PIECE_MAX, "a segment is a piece");

/* So many words that equal those at a distance before them, or one word: then distance is 0. */
struct cusz_match {
    uint32_t length, distance;
};

static inline struct cusz_match cusz_match_at(const struct cusz_matcher *matcher, uint32_t token)
{
    const uint8_t *payload = matcher->lzss.payload + 2 * (size_t)token;

    if (!(matcher->lzss.flags[token / 8] >> token % 8 & 1))
        return (struct cusz_match){.length = 1};
    return (struct cusz_match){.length = payload[1] + 2u, .distance = payload[0] + 1u};
}

/* Of a match of CUSZ_MATCH_FEW words or more. */
static inline uint32_t cusz_match_token(struct cusz_match match)
{
    const uint32_t log2 = 31u - (uint32_t)__builtin_clz(match.length - CUSZ_MATCH_LESS);

    if (match.distance == 1 && match.length == CUSZ_MATCH_MOST)
        return CUSZ_LONGEST;
    return match.distance == 1 ? log2 : log2 + CUSZ_FAR - 1;
}

/* How many low bits of a match's length follow its token. */
static inline unsigned cusz_match_low(uint32_t token)
{
    return token == CUSZ_LONGEST ? 0 : token < CUSZ_FAR ? token : token - CUSZ_FAR + 1;
}

/* The shortest match that is written as one. */
static inline uint32_t cusz_match_least(const struct cusz_codes *codes)
{
    return codes->length[1] ? CUSZ_MATCH_FEW : CUSZ_MATCH_MANY;
}

/* A bit string that is read from its highest bit on. */
struct cusz_bits {
    const uint8_t *bytes;
    uint32_t length; /* bytes */
};

/* A chunk's words behind the prediction, folded, perhaps turned before, and a bit for each that is
 * not 0, the first one lowest; bits behind the last word are 0. */
struct cusz_folded {
    const void *words;
    const uint64_t *others;
    uint32_t count;
};

/* What depends on the width of words; the arrays of words are of that width. */
struct cusz_width {
    size_t size;
    /* The multiples of count elements, into words, and the positions of those that are none,
     * ascending, into list. Returns how many those are; list gets most at most. */
    uint32_t (*quantise)(const struct bale_rounding *rounding, const uint8_t *elements,
                         uint32_t count, void *words, uint32_t *list, uint32_t most);
    /* What struct cusz_folded says, behind the prediction of the first order strides. */
    void (*predict)(const void *words, uint32_t count, const uint32_t *strides, unsigned order,
                    bool turned, void *folded, uint64_t *others);
    /* Undoes the folding, turning and prediction. */
    void (*sum)(void *words, uint32_t count, const uint32_t *strides, unsigned order, bool turned);
    /* Adds the cost of a sample to costs, for each of orders. */
    void (*sample)(const void *words, uint32_t count, const uint32_t *strides, unsigned orders,
                   uint64_t costs[CUSZ_ORDERS]);
    /* Adds how often tokens occur, without runs; and how often those of runs would. Returns how
     * many zeros are followed by one. */
    uint32_t (*count)(const struct cusz_folded *folded, uint32_t tokens[CUSZ_TOKENS],
                      uint32_t runs[CUSZ_RUNS]);
    /* The same with matches of CUSZ_MATCH_FEW words and more, and of CUSZ_MATCH_MANY. */
    void (*count_matches)(struct cusz_matcher *matcher, const struct cusz_folded *folded,
                          uint32_t few[CUSZ_TOKENS], uint32_t many[CUSZ_TOKENS]);
    /* Writes segments of 2^segment_log2 words to out, and the bits of each to lengths. Returns the
     * bytes, CUSZ_NO_ROOM or CUSZ_TOO_LONG. matcher: for codes with matches. */
    int64_t (*encode)(struct cusz_matcher *matcher, const struct cusz_codes *codes,
                      const struct cusz_puts *puts, const struct cusz_folded *folded,
                      unsigned segment_log2, uint8_t *lengths, uint8_t *out, size_t room);
    /* Segments of exactly their bits, CUSZ_BESIDE side by side, those with no words are none.
     * Words are 0 before, and folded then. If one is corrupt, CUSZ_SLACK words behind it may be overwritten. */
    bool (*decode)(const struct cusz_table *table, struct cusz_bits in,
                   const struct cusz_segment segments[CUSZ_BESIDE], void *words);
    /* The elements of count words. */
    void (*restore)(const struct bale_rounding *rounding, const void *words, uint32_t count,
                    uint8_t *elements);
};
enum { CUSZ_NO_ROOM = -1, CUSZ_TOO_LONG = -2 };

extern const struct cusz_width cusz_width_f32, cusz_width_f64;
#ifdef __x86_64__
extern const struct cusz_width cusz_width_f32_avx2, cusz_width_f64_avx2;
#endif

/* Those that this processor can do, the fastest first: i from 0 until NULL. They make the same. */
const struct cusz_width *cusz_width_at(enum bale_round_type type, size_t i);

static inline const struct cusz_width *cusz_width_of(const struct bale_rounding *rounding)
{
    return cusz_width_at(rounding->type, 0);
}

/* Code lengths: of Huffman's codes for counts, or of nearly equal ones for those above zero. At
 * least two counts are above zero. */
void cusz_lengths_huffman(const uint32_t counts[CUSZ_TOKENS], uint8_t lengths[CUSZ_TOKENS]);
void cusz_lengths_equal(const uint32_t counts[CUSZ_TOKENS], uint8_t lengths[CUSZ_TOKENS]);

/* The canonical codes of the lengths in codes. False: they do not make exactly one code. */
bool cusz_codes_make(struct cusz_codes *codes);
void cusz_table_make(const struct cusz_codes *codes, struct cusz_table *table);
void cusz_puts_make(const struct cusz_codes *codes, struct cusz_puts *puts);

/* The token of a folded word that is not zero; *extra: how many of its low bits follow. */
static inline uint32_t cusz_token(uint64_t folded, unsigned *extra)
{
    unsigned log2;

    *extra = 0;
    if (folded < CUSZ_LITERALS)
        return CUSZ_RUNS - 1 + (uint32_t)folded;
    log2 = 63u - (unsigned)__builtin_clzll(folded);
    *extra = log2 - 2;
    return CUSZ_CLASSES + 4 * (log2 - CUSZ_CLASS_LOG2) + ((uint32_t)(folded >> *extra) & 3);
}

/* Writes a part of at most CUSZ_PART bytes; returns its length. */
uint32_t cusz_part_write(const struct cusz_part *part, uint8_t out[static CUSZ_PART]);

/* BALE_OK or BALE_E_CORRUPT. */
int cusz_part_read(struct bale_extent_part bytes, struct cusz_part *part);

/* Working memory of one thread. */
struct cusz_work {
    struct cusz_part part;
    struct cusz_table table;
    struct cusz_puts puts;
    uint8_t bytes[CUSZ_PART]; /* that part was made of */
    uint32_t length;          /* 0: of none */
    bool has_table, has_puts; /* made of part */
    uint32_t list[CUSZ_CHUNK / 4 / CUSZ_LISTED];
    uint64_t words[CUSZ_CHUNK / 8 + CUSZ_SLACK];
    uint64_t folded[CUSZ_CHUNK / 8];
    uint64_t others[CUSZ_CHUNK / 4 / 64];
    struct cusz_matcher matcher;
};

/* Makes a part of what is known and of the frame's bytes. False: the codec is not for them. */
bool cusz_learn(struct cusz_work *work, const struct bale_field *field, uint64_t offset,
                uint32_t chunk_size, const uint8_t *raw, uint32_t raw_length,
                struct cusz_part *part);

/* What bale_codec says of encode and decode. */
int64_t cusz_encode(struct cusz_work *work, const struct cusz_part *part, const uint8_t *raw,
                    uint32_t raw_length, uint8_t *out, uint32_t capacity);
int cusz_decode(struct cusz_work *work, const struct cusz_part *part, const uint8_t *in,
                uint32_t length, uint8_t *raw, uint32_t raw_length, struct bale_wanted wanted);

#endif
