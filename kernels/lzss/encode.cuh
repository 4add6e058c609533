/* LZSS (lzss.cuh): encoding raw cells to packed ones. */
#ifndef BALE_KERNELS_LZSS_ENCODE_CUH
#define BALE_KERNELS_LZSS_ENCODE_CUH

#include "kernels/codec/shared.cuh"
#include "kernels/lzss/sets.cuh"

namespace bale_lzss
{
/* A warp goes through a piece 32 symbols at a time, a lane for each.
 *
 * Matches are found without a search. one(i) is the set of distances at which symbol i occurs;
 * two(i) = one(i) & one(i + 1) is the set for the two symbols from i on, four(i) = two(i) & two(i +
 * 2), and eight(i) likewise. A match of less than eight symbols is put together from these, the
 * longer part first, and its distance is the least in the set that is left. Longer matches are
 * rarely reached by the parse; then all lanes measure one together. The cost does not depend on the
 * bytes.
 *
 * two(i) needs the symbol behind i, and eight(i) seven, so the parse is seven symbols behind. */
constexpr uint32_t BEHIND = 7;
constexpr unsigned ENCODE_WARPS = 4;

/* A piece's flags, then its payload. */
__host__ __device__ constexpr uint32_t flag_room(uint32_t piece_log2)
{
    return 1u << piece_log2 >> 3;
}

__host__ __device__ constexpr uint32_t piece_room(uint32_t piece_log2)
{
    return (1u << piece_log2) + flag_room(piece_log2);
}

/* The size of an encoded piece. */
struct piece_size {
    uint32_t tokens;
    uint32_t payload; /* bytes */
};

/* The scratch of a chunk: room for each encoded piece, until the pieces' offsets are known, and
 * then their sizes. */
constexpr size_t ROOMS = piece_room(BALE_CUDA_CHUNK_LOG2_MAX);
constexpr size_t SCRATCH = ROOMS + PIECES_MAX * sizeof(piece_size);

__device__ inline piece_size *sizes_of(uint8_t *scratch, uint32_t chunk)
{
    return (piece_size *)(scratch + chunk * SCRATCH + ROOMS);
}

/* The shared memory of a warp that encodes. */
template <unsigned LOG2, unsigned WORDS> struct alignas(16) encoder_shared {
    set_ring<WORDS> one, two, four;
    typename equal_symbols<LOG2, WORDS>::type symbols;
};

template <unsigned LOG2, unsigned WORDS> class piece_encoder
{
    using shared_type = encoder_shared<LOG2, WORDS>;
    using symbol_type = typename symbol<LOG2>::type;
    using set_type = distances<WORDS>;
    static constexpr uint32_t SYMBOL = 1u << LOG2;

    /* The token that would begin at this lane's symbol. */
    struct match {
        uint32_t length; /* 0: a literal */
        uint32_t distance;
        set_type eight; /* if not empty, the match is not measured yet */
    };

  public:
    __device__ piece_encoder(shared_type *encoder_shared, const uint8_t *raw, uint32_t count,
                             uint32_t window, uint8_t *flags, uint8_t *payload)
        : shared_(encoder_shared), raw_(raw), count_(count), window_(within<WORDS>(window)),
          flags_((uint32_t *)flags), payload_(payload)
    {
    }

    __device__ piece_size encode()
    {
        symbol_type before = 0, x = load(lane());

        shared_->symbols.clear();
        __syncwarp();
        for (uint32_t base = 0; base < count_ + BEHIND; base += 32) {
            const symbol_type next = load(base + 32 + lane());
            const match m = find(base, x);
            const symbol_type own = of_lane(lane() >= 32 - BEHIND ? before : x, lane() - BEHIND);
            emit_tokens(base - BEHIND, own, m);
            before = x;
            x = next;
        }
        if (size_.tokens % 32 != 0 && lane() == 0)
            flags_[size_.tokens / 32] = word_;
        return size_;
    }

  private:
    __device__ symbol_type load(uint32_t i) const
    {
        return i < count_ ? ((const symbol_type *)raw_)[i] : 0;
    }

    static __device__ symbol_type of_lane(symbol_type value, uint32_t from)
    {
        if constexpr (LOG2 == 3)
            return __shfl_sync(ALL, (unsigned long long)value, (int)(from % 32));
        else
            return (symbol_type)__shfl_sync(ALL, (uint32_t)value, (int)(from % 32));
    }

    /* The matches at base - BEHIND + lane(); x is the symbol at base + lane(). */
    __device__ match find(uint32_t base, symbol_type x)
    {
        const uint32_t i = base + lane(), at = i - BEHIND;
        const set_type one = shared_->symbols.next(base / 32, x, i < count_) & window_;

        shared_->one.put(i, one);
        __syncwarp();
        const set_type two = one & shared_->one.get(i - 1);
        shared_->two.put(i - 1, two);
        __syncwarp();
        const set_type four = two & shared_->two.get(i - 3);
        shared_->four.put(i - 3, four);
        __syncwarp();
        set_type some = shared_->four.get(at);
        const set_type eight = some & four;
        uint32_t length = some.any() ? 4 : 0;
#pragma unroll
        for (unsigned k = 0; k < WORDS; k++)
            some.word[k] |= length != 0 ? 0 : ALL;
        length += narrow(&some, shared_->two.get(at + length)) ? 2 : 0;
        length += narrow(&some, shared_->one.get(at + length)) ? 1 : 0;
        __syncwarp();
        return match{length < LEAST<LOG2> ? 0 : length, some.least(), eight};
    }

    static __device__ bool narrow(set_type *some, const set_type &more)
    {
        const set_type both = *some & more;
        const bool any = both.any();

        *some = choose(any, both, *some);
        return any;
    }

    /* Emits the tokens that begin in the 32 symbols from first on; x and m are this lane's. */
    __device__ void emit_tokens(uint32_t first, symbol_type x, match m)
    {
        constexpr uint32_t OUT = 512; /* marks a chain that leaves the 32 symbols */
        const uint32_t end = min(32u, count_ - first);
        const bool is_long = m.eight.any();
        const uint32_t next = lane() + (m.length != 0 ? m.length : 1);
        /* The tokens in the chain from this symbol on, and where it stops: at a long match, or
         * outside. */
        uint32_t way = 1u << lane(), stop = is_long ? lane() : next >= end ? next | OUT : next;
        uint32_t reached = 0, at = start_ - first;

        if (at >= end)
            return;
#pragma unroll
        for (unsigned round = 0; round < 5; round++) {
            const uint32_t more = __shfl_sync(ALL, way, (int)(stop % 32));
            const uint32_t beyond = __shfl_sync(ALL, stop, (int)(stop % 32));
            if (stop < 32) {
                way |= more;
                stop = beyond;
            }
        }
        while (at < end) {
            reached |= __shfl_sync(ALL, way, (int)at);
            at = __shfl_sync(ALL, stop, (int)at);
            if (at < 32) {
                const uint32_t distance_and_length = measure_match(first, at, m.eight);
                if (lane() == at) {
                    m.length = distance_and_length >> 8;
                    m.distance = distance_and_length & 255;
                }
                at += distance_and_length >> 8;
            }
            at %= OUT;
        }
        start_ = first + at;
        emit(reached, x, m);
    }

    /* Measures the match of eight or more symbols at first + at, whose distances lane at has:
     * each lane tries one distance. Returns the length * 256 + the distance. */
    __device__ uint32_t measure_match(uint32_t first, uint32_t at, const set_type &eight) const
    {
        const uint32_t i = first + at, most = min(count_ - i, 255 + LEAST<LOG2>);
        const uint8_t *here = raw_ + ((size_t)(i + 8) << LOG2);
        uint32_t best =
            0; /* length * 256 + 256 - distance: of equal lengths the nearest is the greatest */

#pragma unroll
        for (unsigned k = 0; k < WORDS; k++) {
            const uint32_t word = __shfl_sync(ALL, eight.word[k], (int)at);
            if (word == 0 || best >> 8 == most)
                continue;
            const uint32_t distance = 32 * k + 32 - lane();
            const uint32_t own = word >> lane() & 1
                                     ? (8 + agree<LOG2>(here, here - (distance << LOG2), most - 8))
                                               << 8 |
                                           (256 - distance)
                                     : 0;
            best = max(best, __reduce_max_sync(ALL, own));
        }
        return (best & ~255u) | (256 - (best & 255));
    }

    __device__ void emit(uint32_t reached, symbol_type x, const match &m)
    {
        const bool taken = reached >> lane() & 1, pointer = taken && m.length != 0;
        const uint32_t pointers = __ballot_sync(ALL, pointer), literals = reached & ~pointers;
        const uint32_t rank = (uint32_t)__popc(reached & lower_lanes());
        uint8_t *to = payload_ + size_.payload +
                      POINTER * (uint32_t)__popc(pointers & lower_lanes()) +
                      ((uint32_t)__popc(literals & lower_lanes()) << LOG2);

        if (pointer)
            put_pointer(to, m.distance - 1, m.length - LEAST<LOG2>);
        else if (taken)
            put_literal(to, x);
        put_flags(__reduce_or_sync(ALL, pointer ? 1u << rank : 0), (uint32_t)__popc(reached));
        size_.payload +=
            POINTER * (uint32_t)__popc(pointers) + ((uint32_t)__popc(literals) << LOG2);
    }

    /* With symbols of two bytes and more every token begins at an even byte. */
    static __device__ void put_pointer(uint8_t *to, uint32_t distance, uint32_t length)
    {
        if constexpr (LOG2 == 0) {
            to[0] = (uint8_t)distance;
            to[1] = (uint8_t)length;
        } else {
            *(uint16_t *)to = (uint16_t)(distance | length << 8);
        }
    }

    static __device__ void put_literal(uint8_t *to, symbol_type x)
    {
        if constexpr (LOG2 == 0) {
            to[0] = x;
        } else {
#pragma unroll
            for (unsigned b = 0; b < SYMBOL / 2; b++)
                ((uint16_t *)to)[b] = (uint16_t)(x >> 16 * b);
        }
    }

    /* Appends the flags of count tokens. */
    __device__ void put_flags(uint32_t flags, uint32_t count)
    {
        const uint32_t at = size_.tokens % 32;

        word_ |= flags << at;
        if (at + count >= 32) {
            if (lane() == 0)
                flags_[size_.tokens / 32] = word_;
            word_ = at != 0 ? flags >> (32 - at) : 0;
        }
        size_.tokens += count;
    }

    shared_type *shared_;
    const uint8_t *raw_;
    uint32_t count_; /* symbols */
    set_type window_;
    uint32_t *flags_;
    uint8_t *payload_;
    uint32_t start_ = 0; /* the next token's symbol */
    uint32_t word_ = 0;  /* flags that are not written yet */
    piece_size size_ = {};
};

/* Words of a set for a window: there are kernels for 1, 4 and 8. */
__host__ __device__ inline unsigned words_of(uint32_t window)
{
    return window <= 32 ? 1 : window <= 128 ? 4 : 8;
}

/* For the chunks with this size of symbols and sets: a warp for each piece, and so many blocks
 * for each chunk. */
template <typename CODEC, unsigned LOG2, unsigned WORDS>
__global__ void __launch_bounds__(32 * ENCODE_WARPS)
    encode_pieces(const cuda_chunk *chunks, uint32_t blocks, const uint8_t *cells, uint8_t *scratch)
{
    const uint32_t c = blockIdx.x / blocks, warp = threadIdx.x / 32;
    const uint32_t k = blockIdx.x % blocks * ENCODE_WARPS + warp;
    const geometry g = CODEC::of(chunks[c].parameter);
    const cut parts = cut_of(g, chunks[c].raw_length);

    if (g.symbol_log2 != LOG2 || words_of(g.window) != WORDS || k >= parts.pieces)
        return;
    uint8_t *flags = scratch + c * SCRATCH + k * piece_room(g.piece_log2);
    piece_encoder<LOG2, WORDS> piece((encoder_shared<LOG2, WORDS> *)bale_shared::memory + warp,
                                     cells + (size_t)c * BALE_CUDA_CELL + parts.begin(k),
                                     parts.bytes(k) >> LOG2, g.window, flags,
                                     flags + flag_room(g.piece_log2));
    const piece_size size = piece.encode();
    if (lane() == 0)
        sizes_of(scratch, c)[k] = size;
}

constexpr unsigned JOIN_WARPS = 8;

/* A block for each chunk: joins its pieces to one stream. */
template <typename CODEC>
__global__ void __launch_bounds__(32 * JOIN_WARPS)
    join_pieces(const cuda_chunk *chunks, cuda_lists lists, uint8_t *scratch)
{
    __shared__ sizes s;
    const uint32_t c = blockIdx.x;
    const geometry g = CODEC::of(chunks[c].parameter);
    const cut parts = cut_of(g, chunks[c].raw_length);
    const piece_size *made = sizes_of(scratch, c);
    const uint8_t *rooms = scratch + c * SCRATCH;
    uint8_t *out = lists.packed + c * lists.packed_cell;

    for (uint32_t k = threadIdx.x; k < parts.pieces; k += blockDim.x) {
        s.tokens[k] = made[k].tokens;
        s.flags[k] = flag_bytes(made[k].tokens);
        s.payload[k] = made[k].payload;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        const uint32_t flags_end =
            bale_warp::offsets_from_sizes(s.flags, parts.pieces, 2 * parts.pieces);
        bale_warp::offsets_from_sizes(s.payload, parts.pieces, flags_end);
    }
    __syncthreads();
    const uint32_t total = s.payload[parts.pieces] + parts.tail;
    const bool fits = total <= chunks[c].limit;
    if (threadIdx.x == 0) {
        lists.packed_lengths[c] = fits ? total : 0;
        lists.statuses[c] = 0;
    }
    if (!fits)
        return;
    for (uint32_t k = threadIdx.x / 32; k < parts.pieces; k += JOIN_WARPS) {
        const uint8_t *flags = rooms + k * piece_room(g.piece_log2);
        if (lane() < 2)
            out[2 * k + lane()] = (uint8_t)((s.tokens[k] - 1) >> 8 * lane());
        bale_bytes::copy_to_unaligned(out + s.flags[k], flags, s.flags[k + 1] - s.flags[k]);
        bale_bytes::copy_to_unaligned(out + s.payload[k], flags + flag_room(g.piece_log2),
                                      s.payload[k + 1] - s.payload[k]);
    }
    bale_bytes::copy_strided(out + s.payload[parts.pieces],
                             lists.raw + (size_t)c * BALE_CUDA_CELL + parts.body, parts.tail,
                             threadIdx.x, blockDim.x);
}
} // namespace bale_lzss

#endif
