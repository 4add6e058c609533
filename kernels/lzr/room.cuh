/* lzr on the device: the memory of a block that encodes. */
#ifndef BALE_KERNELS_LZR_ROOM_CUH
#define BALE_KERNELS_LZR_ROOM_CUH

#include "kernels/codec/tables.h"
#include "kernels/codec/warp.cuh"
#include "kernels/lzr/classes.cuh"
#include "kernels/rans/encode.cuh"

namespace bale_lzr
{
using bale_warp::ALL;
using bale_warp::lane;

constexpr unsigned ENCODE_WARPS = 16, ENCODE_THREADS = 32 * ENCODE_WARPS;
constexpr uint32_t PARTS = 4, PART = BALE_CUDA_CELL / PARTS; /* each has a table of its own */
constexpr uint32_t TABLE_LOG2 = 12;
constexpr uint32_t SEGMENT =
    BALE_CUDA_CELL / ENCODE_WARPS; /* a warp's: no match reaches out of it */
constexpr uint32_t MEASURED = 16;  /* a match is measured so far, and extended if it is chosen */
constexpr uint32_t LENGTH_NONE = 3, LENGTH_MOST = LENGTH_NONE + 15; /* as 0 and 15 */
constexpr uint32_t REPEATED_LEAST = 3;         /* of a match with the offset of the one before it */
constexpr uint32_t STRETCH = SEGMENT / 32;     /* bytes that a lane parses, */
constexpr uint32_t MATCHES_MOST = STRETCH / 4; /* and the matches that it takes there, at most */
constexpr uint32_t SEQUENCES_MAX = MATCHES_MOST * ENCODE_THREADS + BALE_CUDA_CELL / RUN_MOST + 2;
constexpr uint32_t ROUNDS_MAX = SEQUENCES_MAX / 32 + 1;
constexpr uint32_t GROUPS_MAX = SEQUENCES_MAX / GROUP + BALE_CUDA_CELL / GROUP_LITERALS + 2;
/* Level 2: the bytes for which a thread finds the cheapest ways, the threads that do, and how many
 * of the last costs they keep. */
constexpr uint32_t LANES = ENCODE_THREADS, LANE = BALE_CUDA_CELL / LANES, REACH = 2 * MEASURED;
constexpr uint32_t BEFORE_BYTES = 16, BEHIND_BYTES = 32; /* around a chunk, that may be read */
constexpr uint32_t WORDS_OVER = 512; /* words: what a stream may take more until that is seen */
constexpr uint32_t TABLES_OF_ALL = LITERAL_TABLES + 3; /* literals, runs, matches, offsets */
constexpr uint32_t TABLE_BYTES = 400;                  /* of a written table, at most */
constexpr uint32_t HEAD_ROOM = 2048;                   /* of all before the words */

/* What is found at each position, and the matches that the parse takes. Lengths are given less
 * LENGTH_NONE, in 4 bits. That of position p is in the word p / 256 * 32 + p % 32. */
struct found {
    uint16_t offset[BALE_CUDA_CELL]; /* before: the hash, then the candidate in its own part */
    uint32_t lengths[BALE_CUDA_CELL / 8];
    /* The k-th of a thread's stretch is number k ENCODE_THREADS + thread: where it begins in the
     * stretch, length << 7, offset << 16. */
    uint32_t matches[MATCHES_MOST * ENCODE_THREADS];
};

/* The scratch of a chunk. What was found is not needed any more when there are sequences. */
struct room {
    /* For each sequence: offset, length << 16, run << 25. Later: its raw bits. */
    uint32_t sequence[SEQUENCES_MAX];
    union {
        found f;
        /* Level 2, for each position: offset, length << 16. Before: notes of hashes, and then of
         * candidates, those of NOTED positions together (note_lane). */
        alignas(16) uint32_t full[BALE_CUDA_CELL];
        struct {
            uint32_t codes[SEQUENCES_MAX]; /* classes: run, match << 8, offset << 16;
                                        bits << 24 */
            uint16_t words[BALE_CUDA_CELL / 2 + WORDS_OVER]; /* of the second stream */
            uint8_t literals[BALE_CUDA_CELL];
            uint8_t table[BALE_CUDA_CELL]; /* of each literal, where there are four */
        };
    };
};

/* An alphabet, as tables are written. */
struct coder_tables {
    bale_rans::coded literal[LITERAL_TABLES][256], run[32], match[64], offset[64];
};

struct encode_shared {
    union {
        uint4 aligned;
        uint32_t words[(BEFORE_BYTES + BALE_CUDA_CELL + BEHIND_BYTES) / 4]; /* the chunk */
        struct { /* when it is not needed any more */
            coder_tables made;
            bale_rans::table_room table[TABLES_OF_ALL];
            uint8_t written[TABLES_OF_ALL][TABLE_BYTES];
            uint32_t written_length[TABLES_OF_ALL];
            uint8_t head[HEAD_ROOM];
        };
    };
    union {
        uint16_t tables[PARTS << TABLE_LOG2];
        uint32_t lengths[BALE_CUDA_CELL / 8];
        /* Level 2: the cost from a position on, for each thread two in a word. */
        uint16_t costs[REACH / 2 * LANES * 2];
        struct {
            uint32_t literal_counts[LITERAL_TABLES][256];
            uint32_t run_counts[RUNS], match_counts[MATCHES], offset_counts[OFFSETS];
            uint32_t round_literal[ROUNDS_MAX + 1]; /* the first of each round, and their end */
            uint32_t groups, group_round[GROUPS_MAX + 1]; /* the first of each group */
            uint64_t cost[LITERAL_TABLES + 1];
            uint32_t stream_words[STREAMS], stream_sequences[STREAMS];
        };
    };
    uint32_t sums[ENCODE_WARPS];
    uint32_t last_sequences[3]; /* of the batch before */
    uint32_t room;

    /* Four bytes of the chunk from p on; p may be up to BEFORE_BYTES below 0. */
    __device__ uint32_t bytes(uint32_t p) const
    {
        const uint32_t at = p + BEFORE_BYTES;

        return __funnelshift_r(words[at / 4], words[at / 4 + 1], 8 * (at % 4));
    }

    __device__ uint32_t byte(uint32_t p) const
    {
        return ((const uint8_t *)words)[p + BEFORE_BYTES];
    }
};

static_assert(sizeof(uint16_t) * (PARTS << TABLE_LOG2) == BALE_CUDA_CELL / 2, "the same memory");

/* By a block: the exclusive sum; *total: of all. */
__device__ inline uint32_t block_sum(uint32_t value, uint32_t *sums, uint32_t *total)
{
    const uint32_t warp = threadIdx.x / 32, upto = bale_warp::inclusive_sum(value);

    if (lane() == 31)
        sums[warp] = upto;
    __syncthreads();
    const uint32_t of_warp = lane() < ENCODE_WARPS ? sums[lane()] : 0;
    const uint32_t before = __reduce_add_sync(ALL, lane() < warp ? of_warp : 0);
    *total = __reduce_add_sync(ALL, of_warp);
    __syncthreads();
    return before + upto - value;
}

/* By a block: the greatest of the threads before; *total: of all. 0 if there is none. */
__device__ inline uint32_t block_max(uint32_t value, uint32_t *sums, uint32_t *total)
{
    const uint32_t warp = threadIdx.x / 32;
    uint32_t upto = value;

    for (uint32_t by = 1; by < 32; by *= 2) {
        const uint32_t other = __shfl_up_sync(ALL, upto, by);
        if (lane() >= by)
            upto = max(upto, other);
    }
    if (lane() == 31)
        sums[warp] = upto;
    __syncthreads();
    const uint32_t of_warp = lane() < ENCODE_WARPS ? sums[lane()] : 0;
    const uint32_t before = __reduce_max_sync(ALL, lane() < warp ? of_warp : 0);
    *total = __reduce_max_sync(ALL, of_warp);
    __syncthreads();
    const uint32_t left = __shfl_up_sync(ALL, upto, 1);
    return max(before, lane() > 0 ? left : 0);
}
} // namespace bale_lzr

#endif
