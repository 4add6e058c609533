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

/* By a warp: moves *from behind a table without reading its numbers. A table that is corrupt may
 * end anywhere; read_table refuses it. */
__device__ inline void skip_table(source *from, uint32_t symbols, uint32_t p)
{
    uint32_t mask;

    if (from->at >= from->length)
        return;
    const uint32_t form = from->in[from->at++];
    if (form == 0 || !is_form(form, p) || !read_mask(from, symbols, &mask))
        return;
    const uint32_t used = __reduce_add_sync(ALL, (uint32_t)__popc(mask)), each = form & 15;
    uint32_t bits = used * each;
    if (form != p && (form & 0x80) != 0) {
        const uint32_t own = used > 8 * lane() ? min(used - 8 * lane(), 8u) : 0;
        const uint32_t flags = (uint32_t)__popc(from->bits(8 * lane(), own));
        bits = used + __reduce_add_sync(ALL, flags) * each;
    }
    from->at += min((bits + 7) / 8, from->length - from->at);
}

/* The weights of the lane's symbols. */
struct weights {
    uint32_t mask;  /* of the symbols that occur */
    uint32_t rank;  /* symbols that occur before the lane's */
    uint32_t used;  /* all that occur */
    uint32_t of[8]; /* of each symbol; of those that do not occur 0 */
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
#pragma unroll
    for (uint32_t k = 0; k < 8; k++) {
        w->of[k] = 0;
        if (!(w->mask >> k & 1))
            continue;
        if (flags & 1) {
            const uint32_t number = from->bits(before + first++ * each, each) + flagged;
            w->of[k] = exact ? number : level_weight(number);
            sum += number;
        }
        flags >>= 1;
    }
    const uint32_t bytes = (total + 7) / 8;
    const bool fits = bytes <= from->length - from->at;
    const bool clean = from->bits(total, 8 * bytes - total) == 0;
    sum = __reduce_add_sync(ALL, sum);
    from->at += fits ? bytes : 0;
    return fits && clean && (!exact || sum == (1u << p) - w->used);
}

/* By a warp: where the symbols of the weights begin: calls place(rank, symbol, cum) for each of the
 * lane's. */
template <typename PLACE> __device__ inline void spread(const weights *w, uint32_t p, PLACE place)
{
    uint32_t own = 0, rank = w->rank;

#pragma unroll
    for (uint32_t k = 0; k < 8; k++)
        own += w->of[k];
    const uint32_t upto = bale_warp::inclusive_sum(own), sum = __shfl_sync(ALL, upto, 31);
    uint32_t below = sum != 0 ? upto - own : w->rank;
    const uint64_t scale = ((uint64_t)((1u << p) - w->used) << 32) / (sum != 0 ? sum : w->used);

#pragma unroll
    for (uint32_t k = 0; k < 8; k++)
        if (w->mask >> k & 1) {
            place(rank, 8 * lane() + k, rank + (uint32_t)(below * scale >> 32));
            below += sum != 0 ? w->of[k] : 1;
            rank++;
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
    spread(&w, p, [made](uint32_t rank, uint32_t symbol, uint32_t cum) {
        made->symbol[rank] = (uint8_t)symbol;
        made->cum[rank] = (uint16_t)cum;
    });
    if (lane() == 0) {
        made->used = w.used;
        made->cum[w.used] = (uint16_t)(1u << p);
    }
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

    static constexpr uint32_t STRETCHES = (1 << P) / STRETCH;

    /* By so many threads, of which this is number `thread`. more(symbol): less than 2^(32 - 2 P). */
    template <typename MORE>
    __device__ void fill(const table *made, uint32_t thread, uint32_t threads, MORE more)
    {
        for (uint32_t s = thread; s < COUNT && made->used == 0; s += threads)
            about[s] = 0;
        for (uint32_t i = thread; i < made->used; i += threads) {
            const uint32_t s = made->symbol[i], cum = made->cum[i];
            about[s] = (made->cum[i + 1] - cum - 1) | cum << P | more(s) << 2 * P;
        }
    }

    /* By a thread: fills so many slots, stretch i of STRETCHES. If no symbol occurs, each slot is
     * symbol 0. */
    __device__ void fill_stretch(const table *made, uint32_t stretch)
    {
        const uint32_t used = made->used;
        uint32_t v = STRETCH * stretch, i = 0, end = used; /* cum[i] <= v < cum[end] */

        while (end - i > 1) {
            const uint32_t middle = (i + end) / 2;
            if (made->cum[middle] <= v)
                i = middle;
            else
                end = middle;
        }
        uint32_t symbol = used > 0 ? made->symbol[i] : 0,
                 upto = used > 0 ? made->cum[i + 1] : 1 << P;
        for (uint32_t word = v / 4; word < (STRETCH * stretch + STRETCH) / 4; word++) {
            uint32_t four = 0;
            for (uint32_t k = 0; k < 4; k++, v++) {
                if (upto <= v) {
                    symbol = made->symbol[++i];
                    upto = made->cum[i + 1];
                }
                four |= symbol << 8 * k;
            }
            of_slot[word] = four;
        }
    }
};

/* ---- Streams ---- */

constexpr uint32_t ROW = 256, RING = 4 * ROW; /* bytes */
constexpr uint32_t STEP_BYTES = 2 * 32;       /* that a step takes at most */
constexpr uint32_t STEPS_MOST = 5;            /* that are made ready together */

struct alignas(8) two_words {
    uint32_t low, high;
};

/* Words of a stream that are taken soon, in shared memory: the byte i of the stream is at i % RING. */
union ring {
    two_words row[RING / 8];
    uint16_t word[RING / 2];
};

/* By a warp: decodes a stream. Words are loaded row by row, each long before it is needed: one row
 * is in registers, those behind it are in the ring. */
class decoder
{
  public:
    /* Where a lane of a stream is. */
    struct position {
        two_words next;
        uint32_t x;
        int left, low;
    };

    /* words: so many, aligned to two bytes. Up to six bytes before and behind them are read as
     * well, those of the same aligned eight. */
    __device__ decoder(const uint16_t *words, uint32_t count, ring *to)
        : ring_(to), first_((int)((uintptr_t)words % sizeof(two_words))),
          end_(2 * (int)count + first_), rows_((const two_words *)((const uint8_t *)words - first_))
    {
    }

    /* False: the stream is corrupt. */
    __device__ bool begin()
    {
        x_ = 0;
        left_ = end_;
        low_ = (end_ + (int)ROW - 1) & -(int)ROW;
        next_ = load();
        provide(2);
        refill(true);
        refill(true);
        return left_ >= first_ && !__any_sync(ALL, x_ >> LOW == 0 || x_ >> HIGH != 0);
    }

    /* Goes on with a stream of the same words; the ring is as it was. */
    __device__ void go_on(const position &at)
    {
        next_ = at.next;
        x_ = at.x;
        left_ = at.left;
        low_ = at.low;
    }

    __device__ position at() const
    {
        return position{next_, x_, left_, low_};
    }

    /* False: the stream is corrupt; what was decoded may be anything. For all lanes. */
    __device__ bool is_fine() const
    {
        return left_ >= first_;
    }

    /* Makes the words of so many steps ready, STEPS_MOST at most. */
    __device__ void provide(uint32_t steps)
    {
#pragma unroll 1
        while (left_ - low_ < (int)(steps * STEP_BYTES)) {
            __syncwarp();
            low_ -= (int)ROW;
            ring_->row[(uint32_t)low_ % RING / sizeof(two_words) + lane()] = next_;
            next_ = load();
            __syncwarp();
        }
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
        return left_ == first_ && !__any_sync(ALL, x_ >> 16 != 1);
    }

  private:
    /* The lane's words of the row before low_; others where the stream has none. Nothing is done to
     * them here, as that would wait for them. */
    __device__ two_words load() const
    {
        const int at = low_ - (int)ROW + (int)(sizeof(two_words) * lane());

        return rows_[(uint32_t)max(min(at, end_ - 1), 0) / sizeof(two_words)];
    }

    /* If too few words are left, others come. */
    __device__ void refill(bool need)
    {
        const uint32_t mask = __ballot_sync(ALL, need);
        const int at = left_ - 2 * __popc(mask & ~lower_lanes());
        const uint32_t word = ring_->word[(uint32_t)at % RING / 2];

        left_ -= 2 * __popc(mask);
        x_ = need ? x_ << 16 | word : x_;
    }

    ring *const ring_;
    /* Bytes of the stream, counted from rows_ on: its begin and its end; the end of what is left of
     * it; and the begin of the rows in the ring. */
    const int first_, end_;
    int left_, low_;
    const two_words *const rows_;
    two_words next_;
    uint32_t x_;
};
} // namespace bale_rans

#endif
