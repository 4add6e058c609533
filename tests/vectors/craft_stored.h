/* What a codec stores for a chunk, put together by hand. */
#ifndef BALE_TESTS_VECTORS_CRAFT_STORED_H
#define BALE_TESTS_VECTORS_CRAFT_STORED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct craft_bytes {
    uint8_t data[4096];
    uint32_t length;
};

static inline void craft_add(struct craft_bytes *b, const void *data, size_t length)
{
    memcpy(b->data + b->length, data, length);
    b->length += (uint32_t)length;
}

static inline void craft_add_number(struct craft_bytes *b, uint32_t value, int length)
{
    for (; length > 0; length--, value >>= 8)
        b->data[b->length++] = (uint8_t)value;
}

enum {
    BLOCK_RLE = 1,
    BLOCK_RESERVED = 3,
    ZSTD_DICTIONARY = 1,
    ZSTD_RESERVED = 8,
    ZSTD_FCS_2 = 0x40
};

/* Magic, frame header descriptor, window descriptor for a power of two. */
static inline void craft_zstd_begin(struct craft_bytes *b, uint8_t descriptor, unsigned window_log2)
{
    craft_add_number(b, 0xfd2fb528u, 4);
    craft_add_number(b, descriptor, 1);
    craft_add_number(b, (window_log2 - 10) << 3, 1);
}

static inline void craft_zstd_block(struct craft_bytes *b, uint32_t type, uint8_t value,
                                    uint32_t size, bool last)
{
    craft_add_number(b, (uint32_t)last | type << 1 | size << 3, 3);
    craft_add_number(b, value, 1);
}

#endif
