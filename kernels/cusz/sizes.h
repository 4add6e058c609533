/* The numbers of spec.md, for the CPU's code and the device's. tests/bench/paper-cusz compiles the
 * codec with others, in a program of its own, to show what they are worth. */
#ifndef BALE_KERNELS_CUSZ_SIZES_H
#define BALE_KERNELS_CUSZ_SIZES_H

#include <stdint.h>

#ifndef BALE_CUSZ_SEGMENT_BITS
#define BALE_CUSZ_SEGMENT_BITS 1600
#define BALE_CUSZ_CODEWORD 32
#endif

/* A code and its length in a table, in memory. */
#if BALE_CUSZ_CODEWORD == 64
typedef uint64_t cusz_codeword;
#else
typedef uint32_t cusz_codeword;
#endif

enum {
    CUSZ_CHUNK = 1 << 20, /* bytes of a chunk at most */
    CUSZ_RUNS = 16,       /* tokens 0 to 15: zeros, a power of two or from that on */
    CUSZ_LITERALS = 128,  /* folded differences below it have tokens of their own */
    CUSZ_CLASSES = CUSZ_RUNS + CUSZ_LITERALS - 1, /* the first token of those above */
    CUSZ_CLASS_LOG2 = 7,                          /* log2 of CUSZ_LITERALS */
    CUSZ_TOKENS = CUSZ_CLASSES + 4 * (64 - CUSZ_CLASS_LOG2),
    CUSZ_LENGTH_MAX = 15,  /* bits of a code */
    CUSZ_LOOK = 11,        /* bits of a code that are looked up at once */
    CUSZ_QUICK = 1024,     /* folded words below it are counted and written from tables */
    CUSZ_QUICK_RUNS = 64,  /* the same of zeros in a run */
    CUSZ_BESIDE = 2,       /* segments that a core decodes side by side */
    CUSZ_STEPS = 5,        /* of CUSZ_LOOK bits, in a word of 64 at any bit */
    CUSZ_STEP_BITS = 5,    /* codes of so many bits on average, or fewer, are decoded in steps */
    CUSZ_STEP_ZEROS = 126, /* zeros at most before each of a step's two words */
    CUSZ_SINGLES = 2,      /* the same of words of any size, */
    CUSZ_SINGLE_BITS = 28, /* that have so many bits at most */
    CUSZ_SLACK = CUSZ_STEPS * 2 * (CUSZ_STEP_ZEROS + 1),
    CUSZ_SEGMENT_MIN = 8, /* log2 of the elements of a segment */
    CUSZ_SEGMENT_MAX = 15,
    CUSZ_SEGMENT_BITS = BALE_CUSZ_SEGMENT_BITS, /* a segment takes at most so many on average */
    CUSZ_PIECE_LOG2 = 11,                       /* of a segment with matches */
    CUSZ_ORDERS = 4,
    CUSZ_HEAD = 10, /* bytes of a part before strides and codebook */
    CUSZ_PART = CUSZ_HEAD + 2 * 4 + CUSZ_TOKENS,
    CUSZ_LISTED = 8,          /* one of so many elements of a chunk may be listed at most */
    CUSZ_UNFIT = 16,          /* and of a frame, none of whose chunks has the codec otherwise */
    CUSZ_SAMPLE_EVERY = 1024, /* of so many elements */
    CUSZ_SAMPLE_RUN = 64,     /* the first ones, if all are there, are in the sample */
};

/* In a part's first byte. */
enum {
    CUSZ_F64 = 1,
    CUSZ_BIG_ENDIAN = 2,
    CUSZ_ORDER_AT = 2,
    CUSZ_SEGMENT_AT = 4,
    CUSZ_MATCHES = 128,
};

/* In its second byte, beside the lead. */
enum { CUSZ_TURNED = 64, CUSZ_LOW_RUNS = 128 };

/* Matches, where the part has CUSZ_MATCHES. */
enum {
    CUSZ_FAR = 8,            /* tokens 8 to 14: at another distance than 1 */
    CUSZ_LONGEST = 15,       /* this token: CUSZ_MATCH_MOST words, at distance 1 */
    CUSZ_MATCH_LESS = 2,     /* what lengths are coded without */
    CUSZ_MATCH_MOST = 257,   /* words */
    CUSZ_MATCH_FEW = 4,      /* the least words of a match */
    CUSZ_MATCH_MANY = 16,    /* the same, if token 1 has no code */
    CUSZ_SYMBOL_MAX = 65535, /* a segment with such a folded word or a greater one has none */
    CUSZ_DISTANCE_BITS = 8,
};

enum { CUSZ_HAS_LIST = 128 }; /* in a chunk's first byte */

#endif
