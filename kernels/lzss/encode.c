#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "kernels/lzss/lzss.h"

int bale_lzss_create(void **work)
{
    *work = malloc(sizeof(struct bale_lzss_work));
    return *work ? BALE_OK : BALE_E_NOMEM;
}

void bale_lzss_destroy(void *work)
{
    free(work);
}

static void reverse(uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 0, j = length; i + 1 < j; i++) {
        uint8_t byte = bytes[i];
        bytes[i] = bytes[--j];
        bytes[j] = byte;
    }
}

/* The position where flags end and payloads begin is known only when all pieces are parsed. So
 * pieces are parsed from the last to the first. Payloads grow down from the end of the room; flags
 * grow up from the counts, last byte first, and are reversed at the end. */
int64_t bale_lzss_encode(struct bale_lzss_work *work, struct bale_lzss_geometry geometry,
                         const uint8_t *raw, uint32_t raw_length, uint8_t *out, uint32_t capacity)
{
    unsigned symbol_log2 = geometry.symbol_log2;
    unsigned piece_log2 = geometry.piece_log2;
    uint32_t body = raw_length >> symbol_log2 << symbol_log2;
    uint32_t tail = raw_length - body;
    uint32_t pieces = (body + (1u << piece_log2) - 1) >> piece_log2;
    uint32_t low = 2 * pieces;
    uint32_t high = capacity - tail;

    if (capacity < low + tail)
        return 0;
    for (uint32_t i = pieces, end = body; i-- > 0; end = i << piece_log2) {
        uint32_t begin = i << piece_log2;
        struct bale_lzss_tokens tokens =
            bale_lzss_parse(work, geometry, raw + begin, (end - begin) >> symbol_log2);
        uint32_t flags = bale_lzss_flag_bytes(tokens);
        if (tokens.payload + flags > high - low)
            return 0;
        high -= tokens.payload;
        memcpy(out + high, work->payload, tokens.payload);
        for (uint32_t k = flags; k-- > 0;)
            out[low++] = work->flags[k];
        bale_put16(out + 2 * (size_t)i, (uint16_t)(tokens.count - 1));
    }
    reverse(out + 2 * (size_t)pieces, low - 2 * pieces);
    memmove(out + low, out + high, capacity - tail - high);
    low += capacity - tail - high;
    memcpy(out + low, raw + body, tail);
    return (int64_t)low + tail;
}
