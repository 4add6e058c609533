/* LZSS (lzss.cuh): decoding packed cells to raw ones. */
#ifndef BALE_KERNELS_LZSS_DECODE_CUH
#define BALE_KERNELS_LZSS_DECODE_CUH

#include "kernels/codec/shared.cuh"
#include "kernels/lzss/lzss.cuh"

namespace bale_lzss
{
/* The bytes are hostile. The flags give the length of each payload, so all pieces begin at once.
 * A warp decodes 64 tokens at a time to shared memory, which has room for the whole chunk. */
constexpr unsigned DECODE_WARPS = 16;
constexpr unsigned DECODE_BLOCKS = 3; /* of a multiprocessor: as many as its shared memory allows */

/* By a warp: the bytes of a piece's payload, by its flags. *wrong: set if spare bits are not
 * zero. */
template <unsigned LOG2>
__device__ inline uint32_t payload_of(const uint8_t *flags, uint32_t tokens, bool *wrong)
{
    const uint32_t bytes = flag_bytes(tokens);
    uint32_t pointers = 0;

    for (uint32_t b = lane(); b < bytes; b += 32)
        pointers += (uint32_t)__popc(flags[b]);
    pointers = __reduce_add_sync(ALL, pointers);
    *wrong |= tokens % 8 != 0 && flags[bytes - 1] >> tokens % 8 != 0;
    return POINTER * pointers + ((tokens - pointers) << LOG2);
}

/* An integer for the payloads of two tokens, one behind the other. */
template <unsigned LOG2> struct payload_pair {
    using type = uint32_t;
};
template <> struct payload_pair<2> {
    using type = uint64_t;
};
template <> struct payload_pair<3> {
    using type = unsigned __int128;
};

/* A lane's two tokens, as they are stored. */
template <unsigned LOG2> struct stored {
    using pair = typename payload_pair<LOG2>::type;
    static constexpr unsigned WORDS = sizeof(pair) / 4;

    bale_bytes::unaligned_words<WORDS> bytes;
    uint32_t pointers; /* bit i: token i is a pointer */

    __device__ pair payloads() const
    {
        pair both = 0;
#pragma unroll
        for (unsigned k = 0; k < WORDS; k++)
            both |= (pair)bytes.word(k) << 32 * k;
        return both;
    }
};

template <unsigned LOG2>
__device__ inline uint32_t payload_bytes(uint32_t tokens, uint32_t pointers)
{
    return (tokens << LOG2) + pointers * (POINTER - (1u << LOG2));
}

/* By a warp: reads a piece's tokens, 64 at a time. */
template <unsigned LOG2> class reader
{
    static constexpr uint32_t GROUP =
        1024; /* tokens whose flags the lanes have loaded, one word each */

  public:
    /* flags, payload: their offsets in the stream. */
    __device__ reader(const uint32_t *in, uint32_t flags, uint32_t payload, uint32_t tokens)
        : in_(in), flags_(flags), payload_(payload), tokens_(tokens)
    {
    }

    /* The next tokens; there may be none. */
    __device__ stored<LOG2> next()
    {
        if (first_ % GROUP == 0)
            flag_word_ = load_flags();
        const uint32_t own = 2 * lane(), word = first_ / 32 % 32;
        const uint64_t pointers = (uint64_t)__shfl_sync(ALL, flag_word_, (int)word + 1) << 32 |
                                  __shfl_sync(ALL, flag_word_, (int)word);
        const uint32_t before = (uint32_t)__popcll(pointers & ((1ull << own) - 1));
        stored<LOG2> made;
        made.pointers = (uint32_t)(pointers >> own) & 3;
        made.bytes.load(
            in_, payload_ + payload_bytes<LOG2>(own, before),
            payload_bytes<LOG2>(tokens_left(first_ + own, 2), (uint32_t)__popc(made.pointers)));
        payload_ += payload_bytes<LOG2>(64, (uint32_t)__popcll(pointers));
        first_ += 64;
        return made;
    }

  private:
    /* How many tokens there are from first on, most at most. */
    __device__ uint32_t tokens_left(uint32_t first, uint32_t most) const
    {
        return first < tokens_ ? min(tokens_ - first, most) : 0;
    }

    __device__ uint32_t load_flags() const
    {
        const uint32_t first = first_ + 32 * lane(), count = tokens_left(first, 32);
        bale_bytes::unaligned_words<1> flags;

        flags.load(in_, flags_ + first / 8, flag_bytes(count));
        return flags.word(0) & (count < 32 ? (1u << count) - 1 : ALL);
    }

    const uint32_t *in_;
    uint32_t flags_, payload_;
    uint32_t tokens_, first_ = 0;
    uint32_t flag_word_ = 0;
};

struct token {
    uint32_t length;   /* symbols; 0: no token */
    uint32_t distance; /* of a pointer, else 0 */
    uint32_t position; /* of the first symbol that it stands for */
};

template <unsigned LOG2> __device__ inline token token_of(uint32_t payload, bool live, bool pointer)
{
    if (!pointer)
        return token{live, 0, 0};
    return token{(payload >> 8 & 255) + LEAST<LOG2>, (payload & 255) + 1, 0};
}

/* 1 << at; 0 for 32 and more. */
__device__ inline uint32_t bit(uint32_t at)
{
    return __funnelshift_lc(0, 1, at);
}

/* Copies the symbols of pointers from begin to end, a lane for each symbol, 32 together. A
 * symbol equals the one at its source. That may be one of the 32 and belong to a pointer too,
 * and then the symbol equals the one at the source's source. After five rounds of doubling, each
 * chain ends at a literal, which is written already, or before the 32. Several sets of 32 are
 * processed side by side, because each step waits for the one before; more sets cost registers,
 * and work on symbols beyond the end. */
template <typename T>
__device__ inline void copy_matches(T *out, token a, token b, uint32_t begin, uint32_t end)
{
    constexpr unsigned SETS = sizeof(T) == 1 ? 2 : 3;
    const uint32_t distances = a.distance | b.distance << 16;
    uint32_t before = 0; /* tokens that begin before the set */

    for (uint32_t base = begin; base < end; base += 32 * SETS) {
        uint32_t begins[SETS], distance[SETS], from[SETS], target[SETS];
        bool inside = false;
#pragma unroll
        for (unsigned n = 0; n < SETS; n++) {
            const uint32_t first = base + 32 * n;
            begins[n] = __reduce_or_sync(ALL, bit(a.position - first) | bit(b.position - first));
        }
#pragma unroll
        for (unsigned n = 0; n < SETS; n++) {
            const uint32_t own = before + (uint32_t)__popc(begins[n] & ((2u << lane()) - 1)) - 1;
            const uint32_t two = __shfl_sync(ALL, distances, (int)(own / 2));
            distance[n] = own % 2 != 0 ? two >> 16 : two & 0xffff;
            from[n] = lane() - distance[n];
            inside |= from[n] < lane();
            before += (uint32_t)__popc(begins[n]);
        }
        if (__any_sync(ALL, inside)) {
#pragma unroll
            for (unsigned n = 0; n < SETS; n++)
                target[n] = from[n] < 32 ? from[n] : lane();
#pragma unroll
            for (unsigned round = 0; round < 5; round++)
#pragma unroll
                for (unsigned n = 0; n < SETS; n++)
                    target[n] = __shfl_sync(ALL, target[n], (int)target[n]);
#pragma unroll
            for (unsigned n = 0; n < SETS; n++)
                from[n] = __shfl_sync(ALL, from[n], (int)target[n]);
        }
#pragma unroll
        for (unsigned n = 0; n < SETS; n++) {
            const uint32_t first = base + 32 * n;
            if (distance[n] != 0 && first + lane() < end)
                out[first + lane()] = out[first + from[n]];
            __syncwarp();
        }
    }
}

/* By a warp: decodes a piece to out. True: it has count symbols. The next tokens are loaded
 * while these are decoded. */
template <unsigned LOG2>
__device__ inline bool decode_piece(reader<LOG2> in, uint32_t tokens, uint32_t window,
                                    typename symbol<LOG2>::type *out, uint32_t count)
{
    using T = typename symbol<LOG2>::type;
    stored<LOG2> next = in.next();
    uint32_t done = 0;

    for (uint32_t first = 0; first < tokens; first += 64) {
        const stored<LOG2> now = next;
        next = in.next();
        const auto both = now.payloads();
        const uint32_t own = first + 2 * lane();
        const bool a_live = own < tokens, a_points = (now.pointers & 1) != 0;
        const bool b_live = own + 1 < tokens, b_points = (now.pointers & 2) != 0;
        const auto second = a_points ? both >> 8 * POINTER : both >> (8 << LOG2);
        token a = token_of<LOG2>((uint32_t)both, a_live, a_points);
        token b = token_of<LOG2>((uint32_t)second, b_live, b_points);
        const uint32_t begin = done, upto = done + bale_warp::inclusive_sum(a.length + b.length);
        b.position = upto - b.length;
        a.position = b.position - a.length;
        done = __shfl_sync(ALL, upto, 31);
        if (done > count || __any_sync(ALL, a.distance > min(a.position, window) ||
                                                b.distance > min(b.position, window)))
            return false;
        if (a_live && !a_points)
            out[a.position] = (T)both;
        if (b_live && !b_points)
            out[b.position] = (T)second;
        __syncwarp();
        if (__any_sync(ALL, now.pointers != 0))
            copy_matches(out, a, b, begin, done);
    }
    return done == count;
}

/* By a block: finds the offsets of all pieces in the stream. False, for all threads: the stream
 * has another length. */
template <unsigned LOG2>
__device__ inline bool find_pieces(const uint8_t *in, uint32_t length, cut parts, sizes *s)
{
    bool wrong = false;

    if (length < 2 * parts.pieces + parts.tail)
        return false;
    for (uint32_t k = threadIdx.x; k < parts.pieces; k += blockDim.x) {
        s->tokens[k] = (in[2 * k] | (uint32_t)in[2 * k + 1] << 8) + 1;
        s->flags[k] = flag_bytes(s->tokens[k]);
    }
    __syncthreads();
    if (threadIdx.x < 32)
        wrong =
            bale_warp::offsets_from_sizes(s->flags, parts.pieces, 2 * parts.pieces) + parts.tail >
            length;
    if (__syncthreads_or(wrong))
        return false;
    for (uint32_t k = threadIdx.x / 32; k < parts.pieces; k += blockDim.x / 32) {
        const uint32_t bytes = payload_of<LOG2>(in + s->flags[k], s->tokens[k], &wrong);
        if (lane() == 0)
            s->payload[k] = bytes;
    }
    __syncthreads();
    if (threadIdx.x < 32)
        wrong |= bale_warp::offsets_from_sizes(s->payload, parts.pieces, s->flags[parts.pieces]) +
                     parts.tail !=
                 length;
    return !__syncthreads_or(wrong);
}

/* to: a cell for each chunk. Chunks without a stream are skipped. */
template <typename CODEC, unsigned LOG2>
__global__ void __launch_bounds__(32 * DECODE_WARPS, DECODE_BLOCKS)
    decode(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    __shared__ sizes s;
    const uint32_t c = blockIdx.x;
    const geometry g = CODEC::of(chunks[c].parameter);
    const uint8_t *in = (const uint8_t *)lists.decode_from[c];
    const uint32_t length = (uint32_t)lists.decode_from_lengths[c];

    if (length == 0 || g.symbol_log2 != LOG2)
        return;
    const uint32_t raw_length = chunks[c].raw_length;
    const cut parts = cut_of(g, raw_length);
    uint8_t *out = (uint8_t *)bale_shared::memory;
    bool wrong = !find_pieces<LOG2>(in, length, parts, &s);

    for (uint32_t k = threadIdx.x / 32; !wrong && k < parts.pieces; k += DECODE_WARPS)
        wrong = !decode_piece<LOG2>(
            reader<LOG2>((const uint32_t *)in, s.flags[k], s.payload[k], s.tokens[k]), s.tokens[k],
            g.window, (typename symbol<LOG2>::type *)(out + parts.begin(k)),
            parts.bytes(k) >> LOG2);
    wrong = __syncthreads_or(wrong);
    if (threadIdx.x == 0) {
        lists.statuses[c] = wrong;
        lists.decoded_lengths[c] = wrong ? 0 : raw_length;
    }
    if (wrong)
        return;
    uint8_t *cell = (uint8_t *)to[c];
    bale_bytes::copy_aligned(cell, out, parts.body);
    bale_bytes::copy_strided(cell + parts.body, in + length - parts.tail, parts.tail, threadIdx.x,
                             blockDim.x);
}
} // namespace bale_lzss

#endif
