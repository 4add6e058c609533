/* The entropy coder (spec.md) on the device: writing tables and streams, a warp for each. */
#ifndef BALE_KERNELS_RANS_ENCODE_CUH
#define BALE_KERNELS_RANS_ENCODE_CUH

#include "kernels/rans/rans.cuh"

namespace bale_rans
{
/* A symbol to an encoder. reciprocal: ceil(2^(31 + log2) / frequency), which divides what is below
 * 2^31 exactly. log2: that of the frequency, rounded up. */
struct alignas(8) coded {
    uint32_t reciprocal;
    uint32_t about; /* frequency | cum << 12 | log2 << 24 */
};

__device__ inline uint32_t ceil_log2(uint32_t v)
{
    return v <= 1 ? 0 : 32 - (uint32_t)__clz((int)(v - 1));
}

__device__ inline coded coded_of(uint32_t frequency, uint32_t cum)
{
    const uint32_t log2 = ceil_log2(frequency);
    const uint64_t scale = (uint64_t)1 << (31 + log2);

    return coded{(uint32_t)((scale + frequency - 1) / frequency),
                 frequency | cum << 12 | log2 << 24};
}

/* ---- Tables ---- */

/* By a warp: writes numbers of a few bits; lanes or into words of shared memory. */
class bit_writer
{
  public:
    /* words: zeros. */
    __device__ explicit bit_writer(uint32_t *words) : words_(words)
    {
    }

    /* Any lane: the number takes bits [at, at + count). */
    __device__ void put(uint32_t at, uint32_t number)
    {
        const uint64_t two = (uint64_t)number << at % 32;

        atomicOr(&words_[at / 32], (uint32_t)two);
        if (two >> 32 != 0)
            atomicOr(&words_[at / 32 + 1], (uint32_t)(two >> 32));
    }

  private:
    uint32_t *words_;
};

/* log2(n) in 1/65536, as bale_log2_q16. */
__device__ inline uint32_t log2_q16(uint32_t n)
{
    const uint32_t exponent = 31 - (uint32_t)__clz((int)n);
    const uint32_t f = ((n << (31 - exponent)) >> 15) & 0xffff;

    return (exponent << 16) + f + ((((f * (65536 - f)) >> 16) * 22544) >> 16);
}

__device__ inline uint32_t level_of(uint32_t x)
{
    if (x < 16)
        return x >= 8;
    const uint32_t top = 31 - (uint32_t)__clz((int)x);
    return 1 + 2 * (top - 4) + (((x >> (top - 2) & 3) + 1) >> 1);
}

/* How the levels are written. */
struct level_form {
    bool flagged;
    uint32_t each, total; /* bits */
};

__device__ inline level_form form_of(uint32_t most, uint32_t used, uint32_t not_zero)
{
    const uint32_t plain = max(1, 32 - __clz((int)most));
    const uint32_t flagged = max(1, most > 0 ? 32 - __clz((int)(most - 1)) : 1);

    return used + not_zero * flagged < used * plain
               ? level_form{true, flagged, used + not_zero * flagged}
               : level_form{false, plain, used * plain};
}

/* By a warp: where the symbols of the weights begin, by rank, and where the last one ends. */
__device__ inline void places(const weights *w, uint32_t p, uint32_t *cum)
{
    spread(w, p, [cum](uint32_t rank, uint32_t, uint32_t at) { cum[rank] = at; });
    if (lane() == 0)
        cum[w->used] = 1u << p;
    __syncwarp();
}

/* By a warp: what the symbols cost with these places, in 1/65536 bit. counts: of the lane's. */
__device__ inline uint64_t cost_of(const weights *w, const uint32_t *counts, const uint32_t *cum,
                                   uint32_t p, uint32_t number_bits)
{
    uint64_t sum = 0;
    uint32_t i = w->rank;

#pragma unroll
    for (uint32_t k = 0; k < 8; k++)
        if (w->mask >> k & 1) {
            sum += (uint64_t)counts[k] * ((p << 16) - log2_q16(cum[i + 1] - cum[i]));
            i++;
        }
    for (int by = 16; by > 0; by /= 2)
        sum += __shfl_xor_sync(ALL, (unsigned long long)sum, by);
    return sum + ((uint64_t)number_bits << 16);
}

/* Shared memory of a warp that writes a table. */
struct table_room {
    uint32_t levels[SYMBOLS + 1], exact[SYMBOLS + 1]; /* places */
    uint32_t numbers[SYMBOLS * 12 / 32 + 2];
};

/* By a warp: writes the table for counts[] of up to 256 symbols to out, and sets symbols[] of those
 * that occur. Returns its bytes. */
__device__ inline uint32_t write_table(uint32_t symbols, uint32_t p, const uint32_t *counts,
                                       coded *made, uint8_t *out, table_room *room)
{
    const uint32_t groups = (symbols + 63) / 64;
    weights exact = {}, levels;
    uint32_t count[8], level[8], total = 0, most = 0, not_zero = 0;

#pragma unroll
    for (uint32_t k = 0; k < 8; k++) {
        const uint32_t s = 8 * lane() + k;
        count[k] = s < symbols ? counts[s] : 0;
        exact.mask |= (uint32_t)(count[k] > 0) << k;
        total += count[k];
    }
    total = __reduce_add_sync(ALL, total);
    if (total == 0) {
        out[0] = 0;
        return 1;
    }
    const uint32_t own = (uint32_t)__popc(exact.mask), upto = bale_warp::inclusive_sum(own);
    exact.rank = upto - own;
    exact.used = __shfl_sync(ALL, upto, 31);
    levels = exact;
    const uint64_t scale = ((uint64_t)1 << (p + 36)) / total;
#pragma unroll
    for (uint32_t k = 0; k < 8; k++) {
        const uint64_t x = count[k] * scale >> 32;
        exact.of[k] = x < 16 ? 0 : (uint32_t)x - 16;
        level[k] = level_of(exact.of[k]);
        levels.of[k] = level_weight(level[k]);
        most = max(most, level[k]);
        not_zero += level[k] > 0;
    }
    most = __reduce_max_sync(ALL, most);
    const uint32_t upto_not_zero = bale_warp::inclusive_sum(not_zero);
    const level_form form = form_of(most, exact.used, __shfl_sync(ALL, upto_not_zero, 31));
    places(&levels, p, room->levels);
    places(&exact, p, room->exact);
    const bool is_exact = cost_of(&exact, count, room->exact, p, p * exact.used) <
                          cost_of(&levels, count, room->levels, p, form.total);
    const uint32_t *cum = is_exact ? room->exact : room->levels;
    const uint32_t bits = is_exact ? p * exact.used : form.total;

    for (uint32_t i = lane(); i < sizeof room->numbers / 4; i += 32)
        room->numbers[i] = 0;
    __syncwarp();
    bit_writer numbers(room->numbers);
    uint32_t rank = exact.rank, next = upto_not_zero - not_zero;
#pragma unroll
    for (uint32_t k = 0; k < 8; k++) {
        if (count[k] == 0)
            continue;
        const uint32_t frequency = cum[rank + 1] - cum[rank];
        made[8 * lane() + k] = coded_of(frequency, cum[rank]);
        if (is_exact)
            numbers.put(rank * p, frequency - 1);
        else if (!form.flagged)
            numbers.put(rank * form.each, level[k]);
        else if (level[k] > 0) {
            numbers.put(rank, 1);
            numbers.put(exact.used + next++ * form.each, level[k] - 1);
        }
        rank++;
    }
    const uint32_t has = __ballot_sync(ALL, exact.mask != 0);
    uint8_t *to = out + 1 + groups;
    if (lane() == 0)
        out[0] = (uint8_t)(is_exact ? p : form.each | (form.flagged ? 0x80 : 0));
    if (lane() < groups)
        out[1 + lane()] = (uint8_t)(has >> 8 * lane());
    if (exact.mask != 0)
        to[__popc(has & lower_lanes())] = (uint8_t)exact.mask;
    to += __popc(has);
    __syncwarp();
    for (uint32_t i = lane(); i < (bits + 7) / 8; i += 32)
        to[i] = (uint8_t)(room->numbers[i / 4] >> 8 * (i % 4));
    __syncwarp();
    return (uint32_t)(to - out) + (bits + 7) / 8;
}

/* ---- Streams ---- */

/* By a warp: encodes a stream, its last step first. */
class encoder
{
  public:
    /* words: where the stream goes. carry: 16 bits of each lane. */
    __device__ encoder(uint16_t *words, uint32_t carry) : words_(words), x_(1u << 16 | carry)
    {
    }

    /* Its words so far, but those of the last step. */
    __device__ uint32_t words() const
    {
        return count_;
    }

    /* A step of the lanes that take part; of others s is any symbol. p: of the table. */
    __device__ void symbol(coded s, uint32_t p, bool part)
    {
        const uint32_t frequency = s.about & 0xfff;

        spill(part && x_ >= frequency << (HIGH - p));
        const uint32_t quotient = __umulhi(2 * x_, s.reciprocal) >> (s.about >> 24 & 31);
        const uint32_t x = (quotient << p) + x_ - quotient * frequency + (s.about >> 12 & 0xfff);
        x_ = part ? x : x_;
    }

    /* A step with so many raw bits, RAW_MOST at most. */
    __device__ void raw(uint32_t value, uint32_t bits)
    {
        spill(bits > 0 && x_ >= 1u << (HIGH - bits));
        x_ = x_ << bits | value;
    }

    /* Appends the states. */
    __device__ void end()
    {
        append();
        for (uint32_t i = 0; i < 2; i++, count_ += 32)
            words_[count_ + lane()] = (uint16_t)(x_ >> 16 * i);
    }

  private:
    /* The word is written a step later: so the next step does not wait for its place. */
    __device__ void spill(bool need)
    {
        const uint32_t mask = __ballot_sync(ALL, need), x = x_;

        x_ = need ? x >> 16 : x;
        append();
        spilled_ = mask;
        word_ = x;
    }

    /* Writes the words of the last step. */
    __device__ void append()
    {
        if (spilled_ >> lane() & 1)
            words_[count_ + (uint32_t)__popc(spilled_ & lower_lanes())] = (uint16_t)word_;
        count_ += (uint32_t)__popc(spilled_);
    }

    uint16_t *words_;
    uint32_t count_ = 0;
    uint32_t x_;
    uint32_t spilled_ = 0,
             word_ = 0; /* of the last step: which lanes spilled, and the lane's word */
};
} // namespace bale_rans

#endif
