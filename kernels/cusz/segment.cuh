/* cusz on the device: a segment that a thread decodes. */
#ifndef BALE_KERNELS_CUSZ_SEGMENT_CUH
#define BALE_KERNELS_CUSZ_SEGMENT_CUH

#include "kernels/cusz/look.cuh"
#include "kernels/cusz/match.cuh"

namespace bale_cusz
{
/* Bits of a stream from its beginning, a word address, on; behind its last word they may be any. In
 * shared or device memory. */
class bit_reader
{
  public:
    __device__ bit_reader(const uint32_t *words, uint32_t last, uint32_t at)
        : words_(words), last_(last), next_(at / 32)
    {
        bits_ = 0;
        have_ = 0;
        ahead_ = words_[min(next_, last_)];
        fill();
        bits_ <<= at % 32;
        have_ -= at % 32;
        fill();
    }

    /* Until there are 32 or more. The word that is needed then is loaded before. */
    __device__ void fill()
    {
        if (have_ >= 32)
            return;
        bits_ |= (uint64_t)swapped(ahead_) << (32 - have_);
        next_++;
        have_ += 32;
        ahead_ = words_[min(next_, last_)];
    }

    __device__ uint32_t peek(uint32_t count) const
    {
        return (uint32_t)(bits_ >> (64 - count));
    }

    __device__ void skip(uint32_t count)
    {
        bits_ <<= count;
        have_ -= count;
    }

    /* The bits that are behind it. */
    __device__ uint32_t at() const
    {
        return 32 * next_ - have_;
    }

    /* 0 to 32, then there are 32 or more again. */
    __device__ uint32_t take(uint32_t count)
    {
        const uint32_t bits = count ? peek(count) : 0;

        skip(count);
        fill();
        return bits;
    }

  private:
    const uint32_t *words_;
    uint32_t last_, next_;
    uint64_t bits_;
    uint32_t have_, ahead_;
};

/* A segment that a thread decodes, into words that are zeros. Of these there is a window: words
 * before or behind it are left out, but for those that matches need. */
template <typename WORD, bool MATCHES> class segment_reader
{
  public:
    /* window: CELL_WORDS, of which the segment's first one is at `begin`, perhaps before it. */
    __device__ segment_reader(const decode_shared *s, const bit_reader &bits, WORD *window,
                              uint32_t begin)
        : s_(s), bits_(bits), window_(window), begin_(begin)
    {
    }

    /* The first `upto` words of the segment's count, at least. False: there are not so many. */
    __device__ bool read(uint32_t count, uint32_t upto)
    {
        uint32_t k = 0;

        upto_ = upto;
        while (k < upto) {
            const uint64_t entry = s_->several[bits_.peek(CUSZ_LOOK)];
            const uint32_t low = (uint32_t)entry, high = (uint32_t)(entry >> 32);
            const uint32_t more = low >> 4 & SEVERAL;
            if (low == 0 || more > count - k) {
                k = one(k, count);
                if (k > count)
                    return false;
                continue;
            }
            if (MATCHES && count > CELL_WORDS<WORD>)
                for (uint32_t i = 0; i < more; i++)
                    put(k + i, 0);
            put(k + (high & SEVERAL), (WORD)(number)((int32_t)low >> 16));
            put(k + (high >> PLACE_BITS & SEVERAL),
                (WORD)(number)((int32_t)high >> 2 * PLACE_BITS));
            k += more;
            bits_.skip(low & 15);
            bits_.fill();
        }
        return true;
    }

    /* The bits that are behind it. */
    __device__ uint32_t at() const
    {
        return bits_.at();
    }

  private:
    typedef typename type_of<WORD>::number number;

    /* With matches, the window's words have those before them until they are written. */
    __device__ void put(uint32_t i, WORD word)
    {
        const uint32_t to = MATCHES ? (begin_ + i) % CELL_WORDS<WORD> : begin_ + i;

        if (MATCHES ? i < upto_ : to < CELL_WORDS<WORD>)
            window_[to] = word;
    }

    /* What the next code stands for, from word k on. Returns the word behind it; more than count:
     * there are not so many. */
    __device__ uint32_t one(uint32_t k, uint32_t count)
    {
        const uint32_t bits = bits_.peek(CUSZ_LENGTH_MAX);
        const uint32_t entry = s_->first[bits >> (CUSZ_LENGTH_MAX - CUSZ_LOOK)];
        uint32_t length = entry & 15, token = entry >> 4;

        if (length == 0)
            token = find_code(&s_->b, bits, CUSZ_LOOK + 1, CUSZ_LENGTH_MAX, &length);
        bits_.skip(length);
        bits_.fill();
        if (MATCHES && token < CUSZ_RUNS)
            return match(token, k, count);
        const uint32_t low = low_bits(token, s_->h);
        if (token < CUSZ_RUNS)
            return k + (1u << token) + bits_.take(low);
        put(k, word_of(token, low));
        return k + 1;
    }

    __device__ WORD word_of(uint32_t token, uint32_t low)
    {
        if (token < CUSZ_CLASSES)
            return unfolded((WORD)(token - CUSZ_RUNS + 1));
        uint64_t value = 4 + (token - CUSZ_CLASSES) % 4;
        if (low > 32) {
            value = value << (low - 32) | bits_.take(low - 32);
            low = 32;
        }
        value = value << low | bits_.take(low);
        return unfolded((WORD)value);
    }

    __device__ uint32_t match(uint32_t token, uint32_t k, uint32_t count)
    {
        const uint32_t low = match_low(token), far = match_distance_bits(token);

        if (token == 0) {
            put(k, 0);
            return k + 1;
        }
        const uint32_t words =
            low > 0 ? (1u << low) + CUSZ_MATCH_LESS + bits_.take(low) : CUSZ_MATCH_MOST;
        const uint32_t distance = 1 + bits_.take(far);
        if (distance > k || words > count - k)
            return count + 1;
        for (uint32_t i = k; i < k + words; i++)
            put(i, window_[(begin_ + i - distance) % CELL_WORDS<WORD>]);
        return k + words;
    }

    const decode_shared *s_;
    bit_reader bits_;
    WORD *window_;
    uint32_t begin_, upto_ = 0;
};
} // namespace bale_cusz

#endif
