/* LZSS (lzss.cuh): from raw cells to packed ones. */
#ifndef BALE_KERNELS_LZSS_LZSS_ENCODE_CUH
#define BALE_KERNELS_LZSS_LZSS_ENCODE_CUH

#include "kernels/lzss/lzss.cuh"

namespace bale_lzss
{
/* A warp goes through a piece 32 symbols at a time: it chains them to those before them that begin
 * alike, has each lane find its symbol's match if a token may begin there, and takes those matches
 * that the parse reaches. What a piece becomes waits in the lane's memory until the chunk's other
 * pieces are done, for where it goes follows from their sizes. */
constexpr uint32_t HEADS_LOG2 = 10;
constexpr uint32_t BACK = 256; /* symbols: the largest window, and more */
constexpr uint32_t RING = 512; /* back, 32 more, and a power of two */

/* A piece's flags, then its payload. */
__host__ __device__ constexpr uint32_t flag_room(uint32_t piece_log2)
{
    return 1u << piece_log2 >> 3;
}

__host__ __device__ constexpr uint32_t piece_room(uint32_t piece_log2)
{
    return (1u << piece_log2) + flag_room(piece_log2);
}

constexpr size_t SCRATCH = piece_room(BALE_CUDA_CHUNK_LOG2_MAX); /* bytes for a chunk */

/* A warp's shared memory. */
template <unsigned LOG2> struct alignas(16) desk {
    static constexpr uint32_t MOST = 255 + LEAST<LOG2>; /* symbols of a match */
    static constexpr uint32_t TILE = LOG2 <= 1 ? 512 : 256;

    uint16_t heads[1u << HEADS_LOG2]; /* last position of each hash, and 1; 0: none */
    uint8_t links[RING];              /* symbols to the one before in the chain; 0: none */
    /* Symbols from tile - BACK on; load32 may read behind them. */
    alignas(16) uint8_t data[((BACK + TILE + MOST) << LOG2) + 32];
};

template <unsigned LOG2> constexpr unsigned ENCODE_WARPS = LOG2 <= 2 ? 8 : 4;

/* What a piece has become so far. */
struct parse {
    uint32_t start; /* the next token's symbol */
    uint32_t tokens;
    uint32_t payload; /* bytes */
    uint32_t word;    /* flags that are not written yet */
};

template <unsigned LOG2> class piece_encoder
{
    using desk_type = desk<LOG2>;
    using symbol_type = typename symbol<LOG2>::type;

  public:
    __device__ piece_encoder(desk_type *desk, const uint8_t *raw, uint32_t count, uint32_t window,
                             uint8_t *flags, uint8_t *payload)
        : desk_(desk), raw_(raw), count_(count), window_(window), flags_((uint32_t *)flags),
          payload_(payload)
    {
    }

    __device__ parse run()
    {
        parse p = {};

        for (uint32_t k = lane(); k < sizeof desk_->heads / 4; k += 32)
            ((uint32_t *)desk_->heads)[k] = 0;
        for (tile_ = 0; tile_ < count_; tile_ += desk_type::TILE) {
            __syncwarp();
            load();
            __syncwarp();
            const uint32_t end = min(tile_ + desk_type::TILE, count_);
            for (uint32_t base = tile_; base < end; base += 32) {
                link(base + lane());
                if (p.start < base + 32)
                    take(&p, base);
            }
        }
        if (p.tokens % 32 != 0 && lane() == 0)
            flags_[p.tokens / 32] = p.word;
        return p;
    }

  private:
    /* The tile, what is before it in the window, and what is behind it that a match may reach. */
    __device__ void load()
    {
        const uint32_t begin = (tile_ < BACK ? 0 : tile_ - BACK) << LOG2;
        const uint32_t end = min(tile_ + desk_type::TILE + desk_type::MOST, count_) << LOG2;

        for (uint32_t at = begin + 16 * lane(); at < end; at += 16 * 32)
            *(uint4 *)(desk_->data + (at + (BACK << LOG2) - (tile_ << LOG2))) =
                *(const uint4 *)(raw_ + at);
    }

    __device__ const uint8_t *at(uint32_t i) const
    {
        return desk_->data + ((i + BACK - tile_) << LOG2);
    }

    __device__ symbol_type symbol_at(const uint8_t *place, uint32_t i) const
    {
        return ((const symbol_type *)place)[i];
    }

    /* Of the symbols that a match has at least. */
    __device__ uint32_t hash(uint32_t i) const
    {
        uint32_t key = load32(at(i));

        if (LOG2 == 0)
            key &= 0xffffff;
        if (LOG2 == 3)
            key = key * 2246822519u + load32(at(i) + 4);
        return key * 2654435761u >> (32 - HEADS_LOG2);
    }

    /* Position i of this lane, of 32 that follow one another. */
    __device__ void link(uint32_t i)
    {
        const bool can = i + LEAST<LOG2> <= count_;
        const uint32_t h = can ? hash(i) : (1u << HEADS_LOG2) + lane();
        const uint32_t peers = __match_any_sync(ALL, h);
        const uint32_t before = peers & lower_lanes();
        const uint32_t head = can ? desk_->heads[h] : 0;
        uint32_t distance = head > 0 ? i + 1 - head : 0;

        if (before != 0)
            distance = lane() - (31 - __clz((int)before));
        __syncwarp();
        if (can && peers >> lane() == 1)
            desk_->heads[h] = (uint16_t)(i + 1);
        desk_->links[i % RING] = (uint8_t)(distance <= window_ ? distance : 0);
        __syncwarp();
    }

    /* Symbols in which a and b agree, most at most. */
    __device__ uint32_t agree(const uint8_t *a, const uint8_t *b, uint32_t most) const
    {
        const uint32_t bytes = most << LOG2;
        uint32_t n = 0;

        for (; n < bytes; n += 4) {
            const uint32_t differ = load32(a + n) ^ load32(b + n);
            if (differ != 0) {
                n += (uint32_t)(__ffs((int)differ) - 1) / 8;
                break;
            }
        }
        return min(n, bytes) >> LOG2;
    }

    /* The longest match at i, the nearest of these; *distance 0: there is none. */
    __device__ uint32_t find(uint32_t i, uint32_t *distance) const
    {
        const uint32_t most = min(count_ - i, desk_type::MOST);
        const uint8_t *here = at(i);
        uint32_t best = LEAST<LOG2> - 1;
        uint32_t step = desk_->links[i % RING];

        *distance = 0;
        for (uint32_t d = step; step != 0 && d <= window_; d += step) {
            const uint8_t *there = here - (d << LOG2);
            if (symbol_at(there, best) == symbol_at(here, best)) {
                const uint32_t length = agree(here, there, most);
                if (length > best) {
                    best = length;
                    *distance = d;
                }
                if (best == most)
                    break;
            }
            step = desk_->links[(i - d) % RING];
        }
        return best;
    }

    /* Takes the tokens that begin in the 32 symbols from base on. */
    __device__ void take(parse *p, uint32_t base)
    {
        const uint32_t i = base + lane(), end = min(base + 32, count_);
        uint32_t distance = 0, length = 1, reached = 0;

        if (i >= p->start && i < count_)
            length = find(i, &distance);
        const uint32_t next = distance != 0 ? length : 1;
        const uint32_t matches = __ballot_sync(ALL, distance != 0);
        while (p->start < end) {
            const uint32_t k = p->start - base;
            reached |= 1u << k;
            put_flag(p, matches >> k & 1);
            p->start += __shfl_sync(ALL, next, (int)k);
        }
        const uint32_t pointers = reached & matches, literals = reached & ~matches;
        if (reached >> lane() & 1)
            put_token(p->payload + POINTER * (uint32_t)__popc(pointers & lower_lanes()) +
                          ((uint32_t)__popc(literals & lower_lanes()) << LOG2),
                      i, distance, length);
        p->payload += POINTER * (uint32_t)__popc(pointers) + ((uint32_t)__popc(literals) << LOG2);
    }

    __device__ void put_flag(parse *p, uint32_t flag)
    {
        p->word |= flag << p->tokens % 32;
        p->tokens++;
        if (p->tokens % 32 != 0)
            return;
        if (lane() == 0)
            flags_[p->tokens / 32 - 1] = p->word;
        p->word = 0;
    }

    __device__ void put_token(uint32_t to, uint32_t i, uint32_t distance, uint32_t length)
    {
        if (distance != 0) {
            payload_[to] = (uint8_t)(distance - 1);
            payload_[to + 1] = (uint8_t)(length - LEAST<LOG2>);
        } else {
            for (uint32_t b = 0; b < 1u << LOG2; b++)
                payload_[to + b] = at(i)[b];
        }
    }

    desk_type *desk_;
    const uint8_t *raw_;
    uint32_t count_; /* symbols */
    uint32_t window_;
    uint32_t *flags_;
    uint8_t *payload_;
    uint32_t tile_ = 0; /* first symbol */
};

/* scratch: SCRATCH bytes for each chunk. */
template <typename CODEC, unsigned LOG2>
__global__ void __launch_bounds__(32 * ENCODE_WARPS<LOG2>)
    encode(const cuda_chunk *chunks, cuda_lists lists, uint8_t *scratch)
{
    constexpr uint32_t WARPS = ENCODE_WARPS<LOG2>;
    extern __shared__ uint4 room[];
    __shared__ sizes s;
    const uint32_t c = blockIdx.x, warp = threadIdx.x / 32;
    const geometry g = CODEC::of(chunks[c].parameter);
    const uint32_t limit = chunks[c].limit;

    if (g.symbol_log2 != LOG2)
        return;
    const cut parts = cut_of<LOG2>(g, chunks[c].raw_length);
    const uint8_t *raw = lists.raw + (size_t)c * BALE_CUDA_CELL;
    uint8_t *out = lists.packed + c * lists.packed_cell;
    uint8_t *rooms = scratch + c * SCRATCH;

    for (uint32_t k = warp; k < parts.pieces; k += WARPS) {
        uint8_t *flags = rooms + k * piece_room(g.piece_log2);
        piece_encoder<LOG2> piece((desk<LOG2> *)room + warp, raw + parts.begin(k),
                                  parts.bytes(k) >> LOG2, g.window, flags,
                                  flags + flag_room(g.piece_log2));
        const parse p = piece.run();
        if (lane() == 0) {
            s.tokens[k] = p.tokens;
            s.payload[k] = p.payload;
        }
        __syncwarp();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        place_flags(&s, parts.pieces);
        place_payloads(&s, parts.pieces);
    }
    __syncthreads();
    const uint32_t total = s.payload[parts.pieces] + parts.tail;
    if (threadIdx.x == 0) {
        lists.packed_lengths[c] = total <= limit ? total : 0;
        lists.statuses[c] = 0;
    }
    if (total > limit)
        return;
    for (uint32_t k = warp; k < parts.pieces; k += WARPS) {
        const uint8_t *flags = rooms + k * piece_room(g.piece_log2);
        if (lane() < 2)
            out[2 * k + lane()] = (uint8_t)((s.tokens[k] - 1) >> 8 * lane());
        copy_bytes(out + s.flags[k], flags, s.flags[k + 1] - s.flags[k], lane(), 32);
        copy_bytes(out + s.payload[k], flags + flag_room(g.piece_log2),
                   s.payload[k + 1] - s.payload[k], lane(), 32);
    }
    copy_bytes(out + s.payload[parts.pieces], raw + parts.body, parts.tail, threadIdx.x,
               blockDim.x);
}
} // namespace bale_lzss

#endif
