/* cusz on the device: a segment that a thread decodes. */
#ifndef BALE_KERNELS_CUSZ_SEGMENT_CUH
#define BALE_KERNELS_CUSZ_SEGMENT_CUH

#include "kernels/cusz/look.cuh"
#include "kernels/cusz/match.cuh"

namespace bale_cusz
{
/* Bits of a stream from its beginning, a word address, on; behind its last word they may be any. */
class bit_reader
{
  public:
    __device__ bit_reader(const uint32_t *words, uint32_t last, uint32_t at)
        : words_(words), last_(last), next_(at / 32)
    {
        bits_ = 0;
        have_ = 0;
        ahead_ = __ldg(words_ + min(next_, last_));
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
        ahead_ = __ldg(words_ + min(next_, last_));
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

/* The words of a segment as a thread makes them: the last ones in its row of the tile, which is at
 * most full, and those before the row in their places. */
template <typename WORD> struct made_words {
    const WORD *tile;
    row<WORD> words;
    uint32_t first; /* of the segment, among the words */
    uint32_t at;    /* of the row's first word, in the segment */

    __device__ WORD load(uint32_t i) const
    {
        return i >= at ? tile[i - at] : words.load(first + i);
    }
};

/* A segment that a thread decodes, a row of the tile at a time. */
template <typename WORD, bool MATCHES> class segment_reader
{
  public:
    __device__ segment_reader(const decode_shared *s, bit_reader bits, uint32_t begin, uint32_t end)
        : s_(s), bits_(bits), left_((int32_t)(end - begin))
    {
    }

    /* The next count words, into a row that is all zeros. */
    __device__ void fill(WORD *row, uint32_t count, const made_words<WORD> &before)
    {
        uint32_t k = same(row, 0, count, before);

        while (k < count) {
            const uint32_t bits = bits_.peek(CUSZ_LOOK), entry = s_->several[bits];
            const uint32_t more = entry >> 4 & 15;
            if (entry == 0 || more > count - k) {
                k += one(s_->look[bits], row + k, before.at + k);
                k = same(row, k, count, before);
                continue;
            }
            row[k + (entry >> 8 & 15)] = (WORD)(number)(int8_t)(entry >> 16);
            row[k + (entry >> 12 & 15)] = (WORD)(number)(int8_t)(entry >> 24);
            k += more;
            skip(entry & 15);
            bits_.fill();
        }
    }

    /* Whether all bits of the segment were used, and no more. */
    __device__ bool is_whole() const
    {
        return left_ == 0 && same_ == 0;
    }

  private:
    typedef typename type_of<WORD>::number number;

    __device__ void skip(uint32_t length)
    {
        left_ -= (int32_t)length;
        bits_.skip(length);
    }

    /* Of a run or match, as many words as there is room for. Returns k behind them. */
    __device__ uint32_t same(WORD *row, uint32_t k, uint32_t count, const made_words<WORD> &before)
    {
        const uint32_t some = min(same_, count - k);

        if (MATCHES)
            repeat(row + k, some, before, before.at + k);
        same_ -= some;
        return k + some;
    }

    /* A code: returns 1 after it wrote a word, or 0 after it began a run or a match. entry: of its
     * first bits; i: the word's place in the segment. */
    __device__ uint32_t one(uint32_t entry, WORD *to, uint32_t i)
    {
        uint32_t length = entry & 15;

        if (length == 0) {
            const uint32_t token = find_code(&s_->b, bits_.peek(CUSZ_LENGTH_MAX), CUSZ_LOOK + 1,
                                             CUSZ_LENGTH_MAX, &length);
            entry = entry_of(token, s_->h);
        }
        skip(length);
        bits_.fill();
        if (entry & OTHER)
            return other(entry >> 16, to, i);
        *to = entry & ZEROS ? 0 : (WORD)(number)(int16_t)(entry >> 16);
        same_ = entry & ZEROS ? (entry >> 16) - 1 : 0;
        return 1;
    }

    __device__ uint32_t other(uint32_t token, WORD *to, uint32_t i)
    {
        if (token >= CUSZ_RUNS) {
            *to = word_of(token);
            return 1;
        }
        if (MATCHES)
            begin_match(token, i);
        else
            begin_run(token);
        return 0;
    }

    __device__ void begin_run(uint32_t token)
    {
        same_ = (1u << token) + bits_.take(token);
        left_ -= (int32_t)token;
    }

    /* If there are not so many words before it, no bits are left. */
    __device__ void begin_match(uint32_t token, uint32_t i)
    {
        const uint32_t low = match_low(token), far = match_distance_bits(token);

        same_ = low > 0 ? (1u << low) + CUSZ_MATCH_LESS + bits_.take(low) : CUSZ_MATCH_MOST;
        distance_ = 1 + bits_.take(far);
        left_ -= (int32_t)(low + far);
        if (distance_ <= i)
            return;
        left_ = INT32_MIN / 2;
        distance_ = 0;
    }

    /* The words of a match, from word i of the segment on; distance 0: none. */
    __device__ void repeat(WORD *to, uint32_t count, const made_words<WORD> &before, uint32_t i)
    {
        for (uint32_t k = 0; k < count && distance_ > 0; k++)
            to[k] = before.load(i + k - distance_);
    }

    __device__ WORD word_of(uint32_t token)
    {
        if (token < CUSZ_CLASSES)
            return unfolded((WORD)(token - CUSZ_RUNS + 1));
        const uint32_t number = token - CUSZ_CLASSES, low = number / 4 + CUSZ_CLASS_LOG2 - 2;
        const uint32_t upper = low > 32 ? low - 32 : 0;
        uint64_t value = 4 + number % 4;
        value = value << upper | bits_.take(upper);
        value = value << (low - upper) | bits_.take(low - upper);
        left_ -= (int32_t)low;
        return unfolded((WORD)value);
    }

    const decode_shared *s_;
    bit_reader bits_;
    int32_t left_;          /* bits */
    uint32_t same_ = 0;     /* words of a run or match that are left */
    uint32_t distance_ = 0; /* of a match */
};
} // namespace bale_cusz

#endif
