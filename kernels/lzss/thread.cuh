/* LZSS (lzss.cuh) with symbols of one byte and a window of 128, encoded by one thread for each
 * piece. */
#ifndef BALE_KERNELS_LZSS_THREAD_CUH
#define BALE_KERNELS_LZSS_THREAD_CUH

#include "kernels/lzss/encode.cuh"

namespace bale_lzss
{
constexpr uint32_t THREAD_WINDOW = 128;
constexpr unsigned THREADS =
    BALE_CUDA_CELL >> PIECE_LOG2_MIN; /* a block's: the most pieces of a chunk */

/* A set of slots of the window. Byte i lies in slot i % 128 until byte i + 128 replaces it, so
 * before byte i is stored slot i % 128 holds the byte 128 before it. */
struct slots {
    uint32_t word[4];

    __device__ bool any() const
    {
        return (word[0] | word[1] | word[2] | word[3]) != 0;
    }

    /* The slots behind these that are in other as well: the matches that continue. */
    __device__ slots followed_by(const slots &other) const
    {
        slots both;
#pragma unroll
        for (unsigned k = 0; k < 4; k++)
            both.word[k] = __funnelshift_l(word[(k + 3) % 4], word[k], 1) & other.word[k];
        return both;
    }

    /* The distance from slot i % 128 back to the nearest slot of a set that is not empty. */
    __device__ uint32_t distance_from(uint32_t i) const
    {
        uint32_t turned[4], distance = 1;
#pragma unroll
        for (unsigned k = 0; k < 4; k++)
            turned[k] = __funnelshift_r(at(i / 32 + k), at(i / 32 + k + 1), i % 32);
#pragma unroll
        for (int k = 3; k > 0 && turned[3] == 0; k--) {
            turned[3] = turned[k - 1];
            distance += 32;
        }
        return distance + (uint32_t)__clz((int)turned[3]);
    }

  private:
    __device__ uint32_t at(uint32_t k) const
    {
        return k % 4 < 2 ? (k % 2 ? word[1] : word[0]) : (k % 2 ? word[3] : word[2]);
    }
};

/* The window of a thread. Slot s is byte s / 32 of word s % 32, so that four bytes are compared
 * at a time, and a word of one thread lies beside that of the next. */
class thread_window
{
  public:
    __device__ explicit thread_window(uint32_t *words) : words_(words)
    {
        for (uint32_t k = 0; k < THREAD_WINDOW / 4; k++)
            words_[k * THREADS] = 0;
    }

    /* The slots that hold x, after i bytes. */
    __device__ slots equal_to(uint32_t x, uint32_t i) const
    {
        uint32_t group[4]; /* bit j of byte b: slot 32 b + 8 m + j */
#pragma unroll
        for (unsigned m = 0; m < 4; m++) {
            group[m] = 0;
#pragma unroll
            for (unsigned j = 0; j < 8; j++)
                group[m] =
                    group[m] >> 1 | zero_bytes(words_[(8 * m + j) * THREADS] ^ x * 0x01010101u);
        }
        slots set = in_order(group);
        if (i < THREAD_WINDOW) {
#pragma unroll
            for (unsigned k = 0; k < 4; k++) {
                const int there = (int)i - 32 * (int)k;
                set.word[k] &= there >= 32 ? ALL : there <= 0 ? 0 : (1u << there) - 1;
            }
        }
        return set;
    }

    __device__ void put(uint32_t x, uint32_t i)
    {
        ((uint8_t *)(words_ + i % 32 * THREADS))[i / 32 % 4] = (uint8_t)x;
    }

  private:
    /* The highest bit of each byte that is zero. */
    static __device__ uint32_t zero_bytes(uint32_t v)
    {
        return ~(((v & 0x7f7f7f7fu) + 0x7f7f7f7fu) | v | 0x7f7f7f7fu);
    }

    /* Byte b of the four groups becomes word b. */
    static __device__ slots in_order(const uint32_t group[4])
    {
        const uint32_t low01 = __byte_perm(group[0], group[1], 0x5140);
        const uint32_t low23 = __byte_perm(group[2], group[3], 0x5140);
        const uint32_t high01 = __byte_perm(group[0], group[1], 0x7362);
        const uint32_t high23 = __byte_perm(group[2], group[3], 0x7362);

        return slots{{__byte_perm(low01, low23, 0x5410), __byte_perm(low01, low23, 0x7632),
                      __byte_perm(high01, high23, 0x5410), __byte_perm(high01, high23, 0x7632)}};
    }

    uint32_t *words_;
};

/* Writes a piece's flags and payload word by word. */
class thread_writer
{
  public:
    __device__ thread_writer(uint8_t *flags, uint8_t *payload)
        : flags_((uint32_t *)flags), payload_((uint32_t *)payload)
    {
    }

    __device__ void literal(uint32_t x)
    {
        token(0, x, 1);
    }

    __device__ void pointer(uint32_t distance, uint32_t length)
    {
        token(1, (distance - 1) | (length - LEAST<0>) << 8, POINTER);
    }

    __device__ piece_size flush()
    {
        if (size_.tokens % 32 != 0)
            *flags_ = word_;
        if (size_.payload % 4 != 0)
            *payload_ = (uint32_t)bytes_;
        return size_;
    }

  private:
    __device__ void token(uint32_t flag, uint32_t value, uint32_t bytes)
    {
        const uint32_t pending = size_.payload % 4;

        bytes_ |= (uint64_t)value << 8 * pending;
        if (pending + bytes >= 4) {
            *payload_++ = (uint32_t)bytes_;
            bytes_ >>= 32;
        }
        size_.payload += bytes;
        word_ |= flag << size_.tokens % 32;
        if (++size_.tokens % 32 == 0) {
            *flags_++ = word_;
            word_ = 0;
        }
    }

    uint32_t *flags_, *payload_;
    uint32_t word_ = 0;
    uint64_t bytes_ = 0;
    piece_size size_ = {};
};

/* Parses a piece byte by byte. If a match is too short, only its first byte becomes a token, and
 * the next match may begin at its second byte, so the byte before is kept. */
class thread_parser
{
  public:
    __device__ thread_parser(uint32_t *words, uint8_t *flags, uint8_t *payload)
        : window_(words), out_(flags, payload)
    {
    }

    __device__ void next(uint32_t x, uint32_t i)
    {
        const slots equal = window_.equal_to(x, i);

        window_.put(x, i);
        if (length_ == 0 || !continues_match(equal, i))
            begin_match(equal, x);
        before_ = equal;
        one_before_ = last_;
        last_ = x;
    }

    __device__ piece_size flush(uint32_t count)
    {
        if (length_ >= LEAST<0>)
            out_.pointer(match_.distance_from(count - 1), length_);
        else
            for (; length_ > 0; length_--)
                out_.literal(first_of_match());
        return out_.flush();
    }

  private:
    static constexpr uint32_t MOST = 255 + LEAST<0>;

    /* Whether byte i, which equal matches, belongs to the current match or to one that begins in
     * it. */
    __device__ bool continues_match(const slots &equal, uint32_t i)
    {
        slots more = match_.followed_by(equal);

        if (more.any() && length_ < MOST) {
            match_ = more;
            length_++;
            return true;
        }
        if (length_ >= LEAST<0>) {
            out_.pointer(match_.distance_from(i - 1), length_);
            return false;
        }
        out_.literal(first_of_match());
        if (length_ == 1)
            return false;
        more = before_.followed_by(equal);
        if (more.any()) {
            match_ = more;
            return true;
        }
        out_.literal(last_);
        return false;
    }

    /* The first byte of a current match of one or two bytes. */
    __device__ uint32_t first_of_match() const
    {
        return length_ == 1 ? last_ : one_before_;
    }

    __device__ void begin_match(const slots &equal, uint32_t x)
    {
        match_ = equal;
        length_ = equal.any() ? 1 : 0;
        if (length_ == 0)
            out_.literal(x);
    }

    thread_window window_;
    thread_writer out_;
    slots match_ = {}, before_ = {};
    uint32_t length_ = 0; /* of the current match; match_: the slots that equal its last byte */
    uint32_t last_ = 0, one_before_ = 0;
};

/* A block for each chunk, a thread for each piece. */
template <typename CODEC>
__global__ void __launch_bounds__(THREADS)
    encode_by_thread(const cuda_chunk *chunks, const uint8_t *cells, uint8_t *scratch)
{
    __shared__ uint32_t windows[THREAD_WINDOW / 4 * THREADS];
    const uint32_t c = blockIdx.x, k = threadIdx.x;
    const geometry g = CODEC::of(chunks[c].parameter);
    const cut parts = cut_of(g, chunks[c].raw_length);

    if (!CODEC::by_thread(chunks[c].parameter) || k >= parts.pieces)
        return;
    const uint8_t *raw = cells + (size_t)c * BALE_CUDA_CELL + parts.begin(k);
    const uint32_t count = parts.bytes(k);
    uint8_t *flags = scratch + c * SCRATCH + k * piece_room(g.piece_log2);
    thread_parser parser(windows + threadIdx.x, flags, flags + flag_room(g.piece_log2));
    uint4 four = {};

#pragma unroll 1
    for (uint32_t i = 0; i < count; i++) {
        if (i % 16 == 0)
            four = ((const uint4 *)raw)[i / 16];
        parser.next(four.x & 255, i);
        four.x = __funnelshift_r(four.x, four.y, 8);
        four.y = __funnelshift_r(four.y, four.z, 8);
        four.z = __funnelshift_r(four.z, four.w, 8);
        four.w >>= 8;
    }
    sizes_of(scratch, c)[k] = parser.flush(count);
}
} // namespace bale_lzss

#endif
