/* The entropy coder (spec.md) on the device: a warp for a stream, a lane for each of its lanes. The
 * bytes are hostile. */
#ifndef BALE_KERNELS_RANS_RANS_CUH
#define BALE_KERNELS_RANS_RANS_CUH

#include <stdint.h>

#include "kernels/codec/warp.cuh"

namespace bale_rans
{
using bale_warp::ALL;
using bale_warp::lane;
using bale_warp::lower_lanes;

constexpr uint32_t LOW = 15, HIGH = 31; /* a state x is 2^LOW <= x < 2^HIGH */
constexpr uint32_t STATE_WORDS = 64;
constexpr uint32_t RAW_MOST = 15;
constexpr uint32_t SYMBOLS = 256; /* of the alphabets here, at most */

/* ---- Tables ---- */

/* A table that was read: the symbols that occur, and where their frequencies begin. */
struct table {
    uint32_t used;
    uint16_t cum[SYMBOLS + 1];
    uint8_t symbol[SYMBOLS];
};

/* Where a table is read: bytes [at, length) of in. */
struct source {
    const uint8_t *in;
    uint32_t length;
    uint32_t at;

    /* Up to 16 bits, from so many bits behind `at` on. Behind the end there are zeros. */
    __device__ uint32_t bits(uint32_t first, uint32_t count) const
    {
        uint32_t value = 0;

        for (uint32_t k = 0; k < 3; k++)
            if (at + first / 8 + k < length)
                value |= (uint32_t)in[at + first / 8 + k] << 8 * k;
        return value >> first % 8 & ((1u << count) - 1);
    }
};

__device__ inline uint32_t level_weight(uint32_t level)
{
    return level == 0 ? 0 : (2 + ((level - 1) & 1)) << (level - 1) / 2;
}

__device__ inline bool is_form(uint32_t form, uint32_t p)
{
    return form == p || ((form & ~0x8fu) == 0 && (form & 15) >= 1 && (form & 15) <= 5);
}

/* By a warp: which of the eight symbols of the lane occur; moves *from behind that. False: it is
 * corrupt. */
__device__ inline bool read_mask(source *from, uint32_t symbols, uint32_t *mask)
{
    const uint32_t bytes = (symbols + 63) / 64;

    if (from->length - from->at < bytes)
        return false;
    const bool has = lane() < 8 * bytes && from->in[from->at + lane() / 8] >> lane() % 8 & 1;
    const uint32_t groups = __ballot_sync(ALL, has), count = (uint32_t)__popc(groups);
    from->at += bytes;
    if (count == 0 || from->length - from->at < count)
        return false;
    *mask = has ? from->in[from->at + (uint32_t)__popc(groups & lower_lanes())] : 0;
    from->at += count;
    const uint32_t there = symbols > 8 * lane() ? symbols - 8 * lane() : 0;
    return !__any_sync(ALL, (has && *mask == 0) || (there < 8 && *mask >> there != 0));
}

/* The weights of the lane's symbols. */
struct weights {
    uint32_t mask;  /* of the symbols that occur */
    uint32_t rank;  /* symbols that occur before the lane's */
    uint32_t used;  /* all that occur */
    uint32_t of[8]; /* of those of the mask, in order */
};

/* By a warp: reads the numbers. */
__device__ inline bool read_weights(source *from, uint32_t form, uint32_t p, weights *w)
{
    const uint32_t own = (uint32_t)__popc(w->mask), each = form & 15;
    const bool exact = form == p, flagged = !exact && (form & 0x80) != 0;
    const uint32_t upto = bale_warp::inclusive_sum(own);
    uint32_t sum = 0, present = own, first, numbers;

    w->rank = upto - own;
    w->used = __shfl_sync(ALL, upto, 31);
    uint32_t flags = (1u << own) - 1;
    if (flagged) {
        flags = from->bits(w->rank, own);
        present = (uint32_t)__popc(flags);
    }
    first = bale_warp::inclusive_sum(present);
    numbers = __shfl_sync(ALL, first, 31);
    first -= present;
    const uint32_t before = flagged ? w->used : 0, total = before + numbers * each;
    for (uint32_t i = 0; i < own; i++) {
        w->of[i] = 0;
        if (!(flags >> i & 1))
            continue;
        const uint32_t number = from->bits(before + first++ * each, each) + flagged;
        w->of[i] = exact ? number : level_weight(number);
        sum += number;
    }
    const uint32_t bytes = (total + 7) / 8;
    const bool fits = bytes <= from->length - from->at;
    const bool clean = from->bits(total, 8 * bytes - total) == 0;
    sum = __reduce_add_sync(ALL, sum);
    from->at += fits ? bytes : 0;
    return fits && clean && (!exact || sum == (1u << p) - w->used);
}

/* By a warp: the frequencies from the weights. */
__device__ inline void spread(const weights *w, uint32_t p, table *made)
{
    uint32_t own = 0, symbols = w->mask;

    for (uint32_t i = 0; i < (uint32_t)__popc(w->mask); i++)
        own += w->of[i];
    const uint32_t upto = bale_warp::inclusive_sum(own), sum = __shfl_sync(ALL, upto, 31);
    uint32_t below = sum != 0 ? upto - own : w->rank;
    const uint64_t scale = ((uint64_t)((1u << p) - w->used) << 32) / (sum != 0 ? sum : w->used);

    for (uint32_t i = 0; symbols != 0; i++, symbols &= symbols - 1) {
        made->symbol[w->rank + i] = (uint8_t)(8 * lane() + (uint32_t)__ffs((int)symbols) - 1);
        made->cum[w->rank + i] = (uint16_t)(w->rank + i + (uint32_t)(below * scale >> 32));
        below += sum != 0 ? w->of[i] : 1;
    }
    if (lane() == 0) {
        made->used = w->used;
        made->cum[w->used] = (uint16_t)(1u << p);
    }
}

/* By a warp: reads the table of an alphabet with so many symbols and p bits, and moves *from behind
 * it. False, for all lanes: it is corrupt. */
__device__ inline bool read_table(source *from, uint32_t symbols, uint32_t p, table *made)
{
    weights w;

    if (from->at >= from->length)
        return false;
    const uint32_t form = from->in[from->at++];
    if (form == 0) {
        if (lane() == 0)
            made->used = 0;
        return true;
    }
    if (!is_form(form, p) || !read_mask(from, symbols, &w.mask) || !read_weights(from, form, p, &w))
        return false;
    spread(&w, p, made);
    return true;
}

/* What a step gives: a symbol, and what `more` of symbols::fill said of it. */
struct decoded {
    uint32_t symbol, more;
};

/* An alphabet of COUNT symbols and P bits to a decoder, in shared memory: the symbol of each slot;
 * and of each symbol frequency - 1 | cum << P | more << 2 P. */
template <uint32_t COUNT, uint32_t P> struct symbols {
    static constexpr uint32_t BITS = P, STRETCH = 16; /* slots that a thread fills in a row */
    uint32_t about[COUNT];
    uint32_t of_slot[(1 << P) / 4];

    /* By a block. more(symbol): less than 2^(32 - 2 P). If no symbol occurs, each slot is symbol 0. */
    template <typename MORE> __device__ void fill(const table *made, MORE more)
    {
        for (uint32_t s = threadIdx.x; s < COUNT && made->used == 0; s += blockDim.x)
            about[s] = 0;
        for (uint32_t i = threadIdx.x; i < made->used; i += blockDim.x) {
            const uint32_t s = made->symbol[i], cum = made->cum[i];
            about[s] = (made->cum[i + 1] - cum - 1) | cum << P | more(s) << 2 * P;
        }
        for (uint32_t v = STRETCH * threadIdx.x; v < 1u << P; v += STRETCH * blockDim.x)
            fill_stretch(made, v);
    }

    __device__ void fill_stretch(const table *made, uint32_t v)
    {
        uint32_t i = 0, end = made->used; /* cum[i] <= v < cum[end] */

        while (end - i > 1) {
            const uint32_t middle = (i + end) / 2;
            if (made->cum[middle] <= v)
                i = middle;
            else
                end = middle;
        }
        const uint32_t first = v / 4;
        for (uint32_t word = first; word < first + STRETCH / 4; word++) {
            uint32_t four = 0;
            for (uint32_t k = 0; k < 4 && made->used > 0; k++, v++) {
                i += made->cum[i + 1] <= v;
                four |= (uint32_t)made->symbol[i] << 8 * k;
            }
            of_slot[word] = four;
        }
    }
};

/* ---- Streams ---- */

/* By a warp: decodes a stream. The words next to be taken are in registers: word base + i is in
 * lane i % 32, for i below 64, and those before it are loaded long before they are needed. */
class decoder
{
  public:
    /* words: so many, aligned to two bytes. */
    __device__ decoder(const uint16_t *words, uint32_t count)
        : words_(words), left_((int)count), base_((int)count - 64)
    {
        fine_ = count >= STATE_WORDS;
        window_ = load(base_) | load(base_ + 32) << 16;
        before_ = load(base_ - 32);
        refill(true);
        refill(true);
        fine_ &= !__any_sync(ALL, x_ >> LOW == 0 || x_ >> HIGH != 0);
    }

    /* False: the stream is corrupt; what was decoded may be anything. For all lanes. */
    __device__ bool is_fine() const
    {
        return fine_ && left_ >= 0;
    }

    /* A step of the lanes that take part: each gets a symbol; others get 0. */
    template <uint32_t COUNT, uint32_t P>
    __device__ decoded symbol(const symbols<COUNT, P> &of, bool part)
    {
        constexpr uint32_t LOWEST = (1u << P) - 1;
        const uint32_t slot = x_ & LOWEST, s = ((const uint8_t *)of.of_slot)[slot];
        const uint32_t about = of.about[s];
        const uint32_t x = ((about & LOWEST) + 1) * (x_ >> P) + slot - (about >> P & LOWEST);

        x_ = part ? x : x_;
        refill(part && x_ >> LOW == 0);
        return part ? decoded{s, about >> 2 * P} : decoded{0, 0};
    }

    /* A step with so many raw bits, RAW_MOST at most. */
    __device__ uint32_t raw(uint32_t bits)
    {
        const uint32_t value = x_ & ((1u << bits) - 1);

        x_ >>= bits;
        refill(x_ >> LOW == 0);
        return value;
    }

    /* Whether the stream ends here. carry: 16 bits of each lane. */
    __device__ bool ends(uint32_t *carry) const
    {
        *carry = x_ & 0xffff;
        return fine_ && left_ == 0 && !__any_sync(ALL, x_ >> 16 != 1);
    }

  private:
    __device__ uint32_t load(int first) const
    {
        const int at = first + (int)lane();

        return at >= 0 ? words_[at] : 0;
    }

    /* If too few words are left, zeros come. */
    __device__ void refill(bool need)
    {
        const uint32_t mask = __ballot_sync(ALL, need);

        left_ -= __popc(mask);
        const uint32_t at = (uint32_t)(left_ - base_ + __popc(mask & lower_lanes()));
        const uint32_t two = __shfl_sync(ALL, window_, (int)(at % 32));
        if (need)
            x_ = x_ << 16 | (at < 32 ? two & 0xffff : two >> 16);
        if (left_ - base_ < 32) {
            base_ -= 32;
            window_ = window_ << 16 | before_;
            before_ = load(base_ - 32);
        }
    }

    const uint16_t *words_;
    int left_;
    int base_;
    uint32_t window_, before_;
    uint32_t x_ = 0;
    bool fine_;
};
} // namespace bale_rans

#endif
