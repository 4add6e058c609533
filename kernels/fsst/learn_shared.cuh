/* fsst on the device: what a block has in shared memory while it learns (learn.cuh). */
#ifndef BALE_KERNELS_FSST_LEARN_SHARED_CUH
#define BALE_KERNELS_FSST_LEARN_SHARED_CUH

#include "kernels/codec/shared.cuh"
#include "kernels/fsst/block.cuh"
#include "kernels/fsst/sample.cuh"

namespace bale_fsst
{
constexpr uint32_t ROUNDS = 6, SINGLE_WEIGHT = 3, PAYS = 4, FREQUENT = 6;
constexpr uint32_t ITEMS = 2 * LITERAL;
/* A piece has as many pairs as bytes, less one, so that the table is never full: a symbol of two
 * bytes or more counts twice. A word is the pair, and in the low bits its count; 0 is an empty one. */
constexpr uint32_t PAIR_WORDS_LOG2 = 14, PAIR_WORDS = 1u << PAIR_WORDS_LOG2, COUNT_BITS = 14;
constexpr uint32_t FREQUENT_MOST = SAMPLE / FREQUENT;
constexpr uint32_t CANDIDATES = ITEMS + FREQUENT_MOST;
constexpr uint32_t STRINGS_LOG2 = 12, STRINGS = 1u << STRINGS_LOG2;
/* A candidate's rank: its gain, and in the low bits its length. */
constexpr uint32_t LENGTH_BITS = 4, LENGTH_MASK = (1u << LENGTH_BITS) - 1;
/* Ranks fall into bins, in their order: a bin has a 32nd of the ranks with the same highest bit.
 * Gains of all candidates together are below 2^19. */
constexpr uint32_t BIN_BITS = 5, RANK_BITS = 19 + LENGTH_BITS;
constexpr uint32_t BINS = (RANK_BITS - BIN_BITS + 1) << BIN_BITS;
constexpr uint32_t OF_THREAD = (SLOTS + LEARN_THREADS - 1) / LEARN_THREADS;

static_assert(PIECES * (PIECE - 1) < 1u << COUNT_BITS, "no pair occurs more often");
static_assert(BINS <= LEARN_THREADS, "a thread for a bin");
static_assert(4 * SYMBOLS <= LEARN_THREADS, "four threads for a symbol");
static_assert(PIECES * (PIECE - 1) < PAIR_WORDS && CANDIDATES < STRINGS, "the tables end a search");

/* The strings that may become symbols, while pairs are not counted. */
struct candidates {
    unsigned long long bytes[CANDIDATES];
    uint32_t gain[CANDIDATES];
    uint8_t length[CANDIDATES]; /* 0: there is none */
    uint32_t string[STRINGS];   /* by their hash: the number plus 1 */
};

/* Finding the best of what the slots have. */
struct selection {
    unsigned long long bytes[SLOTS]; /* those in the border's bin */
    uint32_t rank[SLOTS];
    uint32_t count;
    uint32_t bin[BINS]; /* what its candidates weigh */
    uint32_t border;    /* the first bin for which there is no room; BINS: there is room for all */
    uint32_t above;     /* what those in better bins weigh */
};

struct learn_shared {
    union {
        uint4 aligned;
        uint32_t pairs[PAIR_WORDS];
        candidates c;
        selection best;
    };
    union {
        parsed p;
        uint32_t frequent[FREQUENT_MOST]; /* words of pairs */
    };
    unsigned long long slot_bytes[SLOTS]; /* the best candidate's */
    uint32_t slot_rank[SLOTS];            /* 0: there is none */
    matcher m;
    sample s;
    uint32_t once[ITEMS];
    uint32_t sums[WARPS_MAX];
    uint32_t frequent_count;
    uint32_t cost;       /* of the last round's parse */
    uint32_t most_steps; /* of its pieces */
};

static_assert(sizeof(learn_shared) <= 163 << 10, "what a block may have on an A100");
} // namespace bale_fsst

#endif
