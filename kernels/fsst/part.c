#include "format/bytes.h"
#include "format/err.h"
#include "kernels/fsst/fsst.h"

int fsst_part_read(struct bale_extent_part part, struct fsst_symbols *symbols)
{
    const uint8_t *in = part.bytes + FSST_PART_HEAD;
    uint32_t length = FSST_PART_HEAD;
    unsigned count = 0;

    symbols->count = 0;
    if (part.length == 0)
        return BALE_OK;
    if (part.length < FSST_PART_HEAD)
        return BALE_E_CORRUPT;
    for (unsigned n = 1; n <= FSST_SYMBOL; n++) {
        count += part.bytes[n - 1];
        length += n * part.bytes[n - 1];
    }
    if (count > FSST_SYMBOLS || length != part.length)
        return BALE_E_CORRUPT;
    for (unsigned n = 1; n <= FSST_SYMBOL; n++) {
        for (unsigned i = 0; i < part.bytes[n - 1]; i++, in += n) {
            uint64_t bytes = 0;

            for (unsigned b = 0; b < n; b++)
                bytes |= (uint64_t)in[b] << 8 * b;
            symbols->bytes[symbols->count] = bytes;
            symbols->length[symbols->count++] = (uint8_t)n;
        }
    }
    return BALE_OK;
}

uint32_t fsst_part_write(const struct fsst_symbols *symbols, uint8_t *out)
{
    uint32_t length = FSST_PART_HEAD;

    if (symbols->count == 0)
        return 0;
    for (unsigned n = 0; n < FSST_PART_HEAD; n++)
        out[n] = 0;
    for (unsigned c = 0; c < symbols->count; c++) {
        unsigned n = symbols->length[c];

        out[n - 1]++;
        for (unsigned b = 0; b < n; b++)
            out[length + b] = (uint8_t)(symbols->bytes[c] >> 8 * b);
        length += n;
    }
    return length;
}
