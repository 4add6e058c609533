/* LZSS (lzss.cuh): from packed cells to raw ones. */
#ifndef BALE_KERNELS_LZSS_LZSS_DECODE_CUH
#define BALE_KERNELS_LZSS_LZSS_DECODE_CUH

#include "kernels/lzss/lzss.cuh"

namespace bale_lzss
{
/* Hostile bytes. The flags say how long each payload is, so all pieces begin at once; a warp decodes
 * 32 tokens at a time, in shared memory, where the whole chunk has room. */
constexpr unsigned DECODE_WARPS = 16;

/* By a warp: bytes of a piece's payload, as its flags say. Spare bits count in *wrong. */
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

/* 32 tokens as they are stored: this lane's payload, byte for byte so that nothing waits for them before they
 * are used, and which of the lanes have pointers. */
template <unsigned LOG2> struct stored {
    uint8_t payload[LOG2 == 0 ? POINTER : 1u << LOG2];
    uint32_t pointers;

    __device__ typename symbol<LOG2>::type literal() const
    {
        typename symbol<LOG2>::type value = 0;

        for (uint32_t b = 0; b < 1u << LOG2; b++)
            value |= (typename symbol<LOG2>::type)payload[b] << 8 * b;
        return value;
    }
};

/* The flags of the token's byte; 0: there is no such token. */
__device__ inline uint32_t flags_at(const uint8_t *flags, uint32_t token, uint32_t tokens)
{
    return token < tokens ? flags[token / 8] : 0;
}

/* The tokens from first on, of which there may be none. Where payloads are moves on. */
template <unsigned LOG2>
__device__ inline stored<LOG2> load(uint32_t flags, uint32_t first, uint32_t tokens,
                                    const uint8_t **payloads)
{
    const bool live = first + lane() < tokens, pointer = (flags >> lane() % 8 & 1) != 0;
    const uint32_t pointers = __ballot_sync(ALL, live && pointer);
    const uint32_t literals = __ballot_sync(ALL, live && !pointer);
    const uint8_t *in = *payloads + POINTER * (uint32_t)__popc(pointers & lower_lanes()) +
                        ((uint32_t)__popc(literals & lower_lanes()) << LOG2);
    const uint32_t bytes = !live ? 0 : pointer ? POINTER : 1u << LOG2;
    stored<LOG2> made = {};

    made.pointers = pointers;
#pragma unroll
    for (uint32_t b = 0; b < sizeof made.payload; b++)
        if (b < bytes)
            made.payload[b] = in[b];
    *payloads += POINTER * (uint32_t)__popc(pointers) + ((uint32_t)__popc(literals) << LOG2);
    return made;
}

/* The token of this lane. */
struct token {
    uint32_t length;   /* symbols; 0: no token */
    uint32_t distance; /* of a pointer, else 0 */
    uint32_t place;    /* first symbol that it stands for */
};

/* The last lane whose token begins at symbol or before; 0, if none does. */
__device__ inline uint32_t token_at(uint32_t place, uint32_t symbol)
{
    uint32_t at = 0;

    for (uint32_t by = 16; by != 0; by /= 2)
        if (__shfl_sync(ALL, place, (int)(at + by)) <= symbol)
            at += by;
    return at;
}

/* By a lane of its own a pointer of so many symbols at most. */
constexpr uint32_t ALONE = 8;

/* By all lanes: the symbols of one lane's pointer. */
template <typename T> __device__ inline void copy_match(T *out, token t, int from)
{
    const uint32_t place = __shfl_sync(ALL, t.place, from);
    const uint32_t distance = __shfl_sync(ALL, t.distance, from);
    const uint32_t length = __shfl_sync(ALL, t.length, from);

    for (uint32_t n = lane(); n < length; n += 32)
        out[place + n] = out[place - distance + (n < distance ? n : n % distance)];
}

/* The pointers' symbols, in rounds: of all pointers that need nothing of one that is left. A pointer may reach into
 * what it stands for: that repeats what is before it. */
template <typename T> __device__ inline void copy_matches(T *out, token t, uint32_t pointers)
{
    const uint32_t from = t.place - t.distance, end = from + min(t.length, t.distance);
    const uint32_t first = __shfl_sync(ALL, t.place, __ffs((int)pointers) - 1);
    uint32_t needs = 0; /* lanes */

    if (__any_sync(ALL, t.distance != 0 && end > first)) {
        const uint32_t a = token_at(t.place, from), b = token_at(t.place, end - 1);
        needs = end > first ? (2u << b) - (1u << a) : 0;
    }
    while (pointers != 0) {
        const bool ready = (pointers >> lane() & 1) != 0 && (needs & pointers) == 0;
        if (ready && t.length <= ALONE)
            for (uint32_t n = 0; n < t.length; n++)
                out[t.place + n] = out[from + n];
        for (uint32_t rest = __ballot_sync(ALL, ready && t.length > ALONE); rest != 0;
             rest &= rest - 1)
            copy_match(out, t, __ffs((int)rest) - 1);
        pointers &= ~__ballot_sync(ALL, ready);
        __syncwarp();
    }
}

/* By a warp: whether the piece's count symbols are at out. What is next is on its way while tokens are
 * decoded. */
template <unsigned LOG2>
__device__ inline bool decode_piece(const uint8_t *flags, const uint8_t *payloads, uint32_t tokens,
                                    uint32_t window, typename symbol<LOG2>::type *out,
                                    uint32_t count)
{
    stored<LOG2> next = load<LOG2>(flags_at(flags, lane(), tokens), 0, tokens, &payloads);
    uint32_t flags_next = flags_at(flags, 32 + lane(), tokens);
    uint32_t done = 0;

    for (uint32_t first = 0; first < tokens; first += 32) {
        const stored<LOG2> now = next;
        next = load<LOG2>(flags_next, first + 32, tokens, &payloads);
        flags_next = flags_at(flags, first + 64 + lane(), tokens);
        token t = {};
        t.length = first + lane() < tokens;
        if (now.pointers >> lane() & 1) {
            t.distance = now.payload[0] + 1u;
            t.length = now.payload[1] + LEAST<LOG2>;
        }
        const uint32_t upto = done + running_sum(t.length);
        t.place = upto - t.length;
        done = __shfl_sync(ALL, upto, 31);
        if (done > count || __any_sync(ALL, t.distance > t.place || t.distance > window))
            return false;
        if (t.length != 0 && t.distance == 0)
            out[t.place] = now.literal();
        __syncwarp();
        if (now.pointers != 0)
            copy_matches(out, t, now.pointers);
    }
    return done == count;
}

/* By a block: where everything is in the stream; false, for all threads: it has another length. */
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
        wrong = place(s->flags, parts.pieces, 2 * parts.pieces) + parts.tail > length;
    if (__syncthreads_or(wrong))
        return false;
    for (uint32_t k = threadIdx.x / 32; k < parts.pieces; k += blockDim.x / 32) {
        const uint32_t bytes = payload_of<LOG2>(in + s->flags[k], s->tokens[k], &wrong);
        if (lane() == 0)
            s->payload[k] = bytes;
    }
    __syncthreads();
    if (threadIdx.x < 32)
        wrong |= place(s->payload, parts.pieces, s->flags[parts.pieces]) + parts.tail != length;
    return !__syncthreads_or(wrong);
}

/* By a block: words, then what is left; both sides begin at one. */
__device__ inline void copy_chunk(uint8_t *to, const uint8_t *from, uint32_t length)
{
    const uint32_t words = length / 16;

    for (uint32_t k = threadIdx.x; k < words; k += blockDim.x)
        ((uint4 *)to)[k] = ((const uint4 *)from)[k];
    copy_bytes(to + 16 * words, from + 16 * words, length % 16, threadIdx.x, blockDim.x);
}

/* to: a cell for each chunk. Those without a stream are left alone. */
template <typename CODEC, unsigned LOG2>
__global__ void __launch_bounds__(32 * DECODE_WARPS)
    decode(const cuda_chunk *chunks, cuda_lists lists, void *const *to)
{
    extern __shared__ uint4 room[];
    __shared__ sizes s;
    const uint32_t c = blockIdx.x;
    const geometry g = CODEC::of(chunks[c].parameter);
    const uint8_t *in = (const uint8_t *)lists.decode_from[c];
    const uint32_t length = (uint32_t)lists.decode_from_lengths[c];

    if (length == 0 || g.symbol_log2 != LOG2)
        return;
    const uint32_t raw_length = chunks[c].raw_length;
    const cut parts = cut_of(g, raw_length);
    uint8_t *out = (uint8_t *)room;
    bool wrong = !find_pieces<LOG2>(in, length, parts, &s);

    for (uint32_t k = threadIdx.x / 32; !wrong && k < parts.pieces; k += DECODE_WARPS)
        wrong = !decode_piece<LOG2>(in + s.flags[k], in + s.payload[k], s.tokens[k], g.window,
                                    (typename symbol<LOG2>::type *)(out + parts.begin(k)),
                                    parts.bytes(k) >> LOG2);
    wrong = __syncthreads_or(wrong);
    if (threadIdx.x == 0) {
        lists.statuses[c] = wrong;
        lists.decoded_lengths[c] = wrong ? 0 : raw_length;
    }
    if (wrong)
        return;
    uint8_t *cell = (uint8_t *)to[c];
    copy_chunk(cell, out, parts.body);
    copy_bytes(cell + parts.body, in + length - parts.tail, parts.tail, threadIdx.x, blockDim.x);
}
} // namespace bale_lzss

#endif
