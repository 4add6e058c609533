/* lzr (spec.md) on the device: a warp decodes the groups of a stream. */
#ifndef BALE_KERNELS_LZR_GROUPS_CUH
#define BALE_KERNELS_LZR_GROUPS_CUH

#include "kernels/lzr/head.cuh"

namespace bale_lzr
{
/* A stream, in the registers of its warp during a turn. */
class group_decoder
{
  public:
    /* index: of the stream. before: the turn before, or NULL. */
    __device__ group_decoder(shared *s, const uint8_t *in, uint32_t index, const turn *before)
        : s_(s), index_(index), four_(s->h.tables > 1),
          left_(before ? before->left[index] : s->h.sequences[index]),
          stream_((const uint16_t *)(in + s->h.words_at) + (index == 1 ? s->h.words[0] : 0),
                  s->h.words[index], &s->rings[index])
    {
        if (before)
            stream_.go_on(s->positions[threadIdx.x]);
        else if (left_ > 0)
            fine_ = stream_.begin();
    }

    /* Keeps where the stream is, for the next turn. */
    __device__ void keep() const
    {
        s_->positions[threadIdx.x] = stream_.at();
    }

    /* The sequences of the next group. Where there are four tables of literals, the places modulo 4
     * of the literals go to where these will be, counted from the group's first byte. */
    __device__ void sequences(turn *t)
    {
        uint32_t count = 0, bytes = 0;

        literals_ = 0;
        while (left_ > 0 && count < GROUP && literals_ < GROUP_LITERALS) {
            const uint32_t lanes = min(left_, 32u);
            round(lanes, t, count, &bytes);
            count += lanes;
            left_ -= lanes;
        }
        if (lane() == 0) {
            t->count[index_] = count;
            t->left[index_] = left_;
            t->bytes[index_] = bytes;
        }
        ends_ = left_ == 0;
        is_empty_ = count == 0;
    }

    /* The literals of the group, whose first byte is at `at`. False, for all lanes: the stream is
     * corrupt so far. */
    __device__ bool literals(uint32_t at, turn *of)
    {
        uint8_t *literal = of->literals[index_];

        if (is_empty_)
            return true;
        const uint32_t carried = ends_ ? min(literals_, CARRIED) : 0, coded = literals_ - carried;

        __syncwarp();
        if (four_)
            literals_of_four(at, coded, literal);
        else
            literals_of_one(coded, literal);
        if (ends_) {
            uint32_t carry;
            fine_ = stream_.ends(&carry) && fine_;
            for (uint32_t q = lane(); q < CARRIED; q += 32, carry >>= 8)
                if (q < carried)
                    literal[coded + q] = (uint8_t)carry;
                else
                    fine_ = fine_ && (carry & 255) == 0;
        }
        return stream_.is_fine() && !__any_sync(ALL, !fine_);
    }

  private:
    static constexpr uint32_t STEPS = 4; /* of literals, between looks at the words */

    __device__ void literals_of_one(uint32_t count, uint8_t *literal)
    {
        fine_ = fine_ && (count == 0 || s_->h.no_literal == 0);
        for (uint32_t first = 0; first < count; first += 32 * STEPS) {
            stream_.provide(STEPS);
#pragma unroll
            for (uint32_t k = 0; k < STEPS; k++) {
                const uint32_t j = first + 32 * k + lane();
                if (first + 32 * k >= count)
                    break;
                const uint32_t byte = stream_.symbol(s_->literals[0], j < count).symbol;
                if (j < count)
                    literal[j] = (uint8_t)byte;
            }
        }
    }

    /* at: the place of the group's first byte. */
    __device__ void literals_of_four(uint32_t at, uint32_t count, uint8_t *literal)
    {
        const uint32_t no_literal = s_->h.no_literal;

        for (uint32_t j = lane(); j - lane() < count; j += 32) {
            const bool part = j < count;
            const uint32_t t = part ? (at + literal[j]) % LITERAL_TABLES : 0;
            stream_.provide(1);
            fine_ = fine_ && !(part && (no_literal >> t & 1) != 0);
            const uint32_t byte = stream_.symbol(s_->literals[t], part).symbol;
            if (part)
                literal[j] = (uint8_t)byte;
        }
    }

    __device__ void round(uint32_t lanes, turn *t, uint32_t at, uint32_t *bytes)
    {
        const bool no_match = s_->h.no_match != 0, no_offset = s_->h.no_offset != 0;
        const uint32_t to = index_ * GROUP + at + lane();

        stream_.provide(bale_rans::STEPS_MOST);
        const bale_rans::decoded run = stream_.symbol(s_->runs, lane() < lanes);
        const bool may = lane() < lanes && run.symbol != RUN_ONLY;
        const bale_rans::decoded match = stream_.symbol(s_->matches, may);
        const bool has = may && match.symbol != 0;
        const bale_rans::decoded offset = stream_.symbol(s_->offsets, has);
        const uint32_t run_at = offset.more + match.more, bits = run_at + (run.more & 15);
        const uint32_t low = min(bits, bale_rans::RAW_MOST);
        uint32_t raw = stream_.raw(low);

        if (__any_sync(ALL, bits > low))
            raw |= stream_.raw(bits - low) << low;
        fine_ = fine_ && !(may && no_match) && !(has && no_offset);
        const uint32_t own = lane() < lanes ? (run.more >> 4) + (raw >> run_at) : 0;
        if (lane() < lanes) {
            t->classes[to] = run.symbol | match.symbol << 8 | offset.symbol << 16;
            t->raw[to] = raw;
        }
        if (four_) {
            const value_class c = match_class(match.symbol);
            const uint32_t length = c.base + (raw >> offset.more & ((1u << c.bits) - 1));
            *bytes = mark(own, own + (has ? length : 0), *bytes, t->literals[index_]);
        }
        literals_ += __reduce_add_sync(ALL, own);
    }

    /* Writes the places of the round's literals. Returns the place behind the round. */
    __device__ uint32_t mark(uint32_t run, uint32_t all, uint32_t place, uint8_t *literal)
    {
        const uint32_t literals = bale_warp::inclusive_sum(run);
        const uint32_t upto = bale_warp::inclusive_sum(all);
        uint8_t *to = literal + literals_ + literals - run;

        for (uint32_t n = 0; n < run; n++)
            to[n] = (uint8_t)((place + upto - all + n) % LITERAL_TABLES);
        return place + __shfl_sync(ALL, upto, 31);
    }

    shared *const s_;
    const uint32_t index_;
    const bool four_;
    uint32_t left_;
    bale_rans::decoder stream_;
    uint32_t literals_ = 0;
    bool ends_ = false, is_empty_ = false; /* of the group */
    bool fine_ = true;
};
} // namespace bale_lzr

#endif
