/* lzr (spec.md) on the device: a warp decodes the groups of a stream. */
#ifndef BALE_KERNELS_LZR_GROUPS_CUH
#define BALE_KERNELS_LZR_GROUPS_CUH

#include "kernels/lzr/head.cuh"

namespace bale_lzr
{
/* A stream, in the registers of its warp. */
class group_decoder
{
  public:
    /* index: of the stream. */
    __device__ group_decoder(const shared *s, const uint8_t *in, uint32_t index)
        : s_(s), four_(s->h.tables > 1), no_match_(s->h.no_match != 0),
          no_offset_(s->h.no_offset != 0), left_(index < STREAMS ? s->h.sequences[index] : 0),
          stream_((const uint16_t *)(in + s->h.words_at) + (index == 1 ? s->h.words[0] : 0),
                  left_ > 0 ? s->h.words[index] : 0)
    {
    }

    /* The sequences of the next group. Where there are four tables of literals, the places modulo 4
     * of the literals go to where these will be, counted from the group's first byte. */
    __device__ void sequences(group *g)
    {
        uint32_t count = 0, bytes = 0;

        literals_ = 0;
        while (left_ > 0 && count < GROUP && literals_ < GROUP_LITERALS) {
            const uint32_t lanes = min(left_, 32u);
            round(lanes, g, count, &bytes);
            count += lanes;
            left_ -= lanes;
        }
        if (lane() == 0) {
            g->count = count;
            g->left = left_;
            g->bytes = bytes;
        }
        ends_ = left_ == 0;
        is_empty_ = count == 0;
    }

    /* The literals of the group, whose first byte is at `at`. False, for all lanes: the stream is
     * corrupt so far. */
    __device__ bool literals(uint32_t at, group *g)
    {
        uint8_t *literal = g->literals;

        if (is_empty_)
            return true;
        const uint32_t carried = ends_ ? min(literals_, CARRIED) : 0, coded = literals_ - carried;

        __syncwarp();
        for (uint32_t j = lane(); j - lane() < coded; j += 32) {
            const bool part = j < coded;
            const uint32_t t = part && four_ ? (at + literal[j]) % LITERAL_TABLES : 0;
            fine_ = fine_ && !(part && s_->h.no_literal[t]);
            const uint32_t byte = stream_.symbol(s_->literals[t], part).symbol;
            if (part)
                literal[j] = (uint8_t)byte;
        }
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
    __device__ void round(uint32_t lanes, group *g, uint32_t at, uint32_t *bytes)
    {
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
        fine_ = fine_ && !(may && no_match_) && !(has && no_offset_);
        const uint32_t own = lane() < lanes ? (run.more >> 4) + (raw >> run_at) : 0;
        if (lane() < lanes) {
            g->classes[at + lane()] = run.symbol | match.symbol << 8 | offset.symbol << 16;
            g->raw[at + lane()] = raw;
        }
        if (four_) {
            const value_class c = match_class(match.symbol);
            const uint32_t length = c.base + (raw >> offset.more & ((1u << c.bits) - 1));
            *bytes = mark(own, own + (has ? length : 0), *bytes, g->literals);
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

    const shared *s_;
    const bool four_, no_match_, no_offset_;
    uint32_t left_;
    bale_rans::decoder stream_;
    uint32_t literals_ = 0;
    bool ends_ = false, is_empty_ = false; /* of the group */
    bool fine_ = true;
};
} // namespace bale_lzr

#endif
