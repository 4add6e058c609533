#include "kernels/fsst/match.h"

void fsst_matcher_build(struct fsst_matcher *m, const struct fsst_symbols *symbols)
{
    for (unsigned i = 0; i < FSST_LONGS; i++)
        m->longs[i] = (struct fsst_long){.bytes = i == 0 ? 0xffffff : 0, .shift = 40};
    for (unsigned i = 0; i < FSST_PAIRS; i++)
        m->pairs[i] = (struct fsst_pair){.bytes = i == 0 ? 0xffff : 0};
    for (unsigned i = 0; i < 256; i++)
        m->singles[i] = FSST_MATCH(FSST_LITERAL + i, 1);
    for (unsigned c = 0; c < symbols->count; c++) {
        uint64_t bytes = symbols->bytes[c];
        uint8_t length = symbols->length[c];

        if (length == 1)
            m->singles[bytes] = FSST_MATCH(c, 1);
        else if (length == 2)
            m->pairs[fsst_pair_slot(bytes)] = (struct fsst_pair){(uint32_t)bytes, FSST_MATCH(c, 2)};
        else
            m->longs[fsst_long_slot(bytes)] =
                (struct fsst_long){bytes, 64 - 8 * (uint32_t)length, FSST_MATCH(c, length)};
    }
}
