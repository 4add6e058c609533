/* What a codec stores for a chunk, put together by hand; raw data that vectors are made of. */
#ifndef BALE_TESTS_CODECS_BYTES_H
#define BALE_TESTS_CODECS_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct codec_bytes {
    uint8_t data[4096];
    uint32_t length;
};

static inline void bytes_add(struct codec_bytes *b, const void *data, size_t length)
{
    memcpy(b->data + b->length, data, length);
    b->length += (uint32_t)length;
}

/* Little endian. */
static inline void bytes_add_number(struct codec_bytes *b, uint32_t value, int length)
{
    for (; length > 0; length--, value >>= 8)
        b->data[b->length++] = (uint8_t)value;
}

/* Writes an element of an array: the lowest `size` bytes of its pattern. */
static inline void bytes_put_element(uint64_t pattern, unsigned size, bool big_endian, uint8_t *out)
{
    for (unsigned i = 0; i < size; i++)
        out[big_endian ? size - 1 - i : i] = (uint8_t)(pattern >> 8 * i);
}

/* Data of vectors: it never changes. */
void sample_random(uint8_t *raw, size_t length);
void sample_text(uint8_t *raw, size_t length);
/* Few different numbers of eight bytes. */
void sample_numbers(uint8_t *raw, size_t length);

/* Makes the second 4 KiB of raw random: a chunk of that size is then stored raw. */
void sample_mix(uint8_t *raw, size_t length);

#endif
