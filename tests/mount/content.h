/* Bytes that are a function of a number and their offset, so that any piece of a file can be
 * checked alone. */
#ifndef BALE_TESTS_MOUNT_CONTENT_H
#define BALE_TESTS_MOUNT_CONTENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum content { CONTENT_RANDOM, CONTENT_TEXT };

/* The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014). */
static inline uint64_t content_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The eight bytes at offset 8 * index. Text: one of 256 words, each of eight letters. */
static inline uint64_t content_word(enum content kind, uint64_t number, uint64_t index)
{
    uint64_t word = content_mix(content_mix(number) ^ index);

    if (kind == CONTENT_TEXT)
        word = (content_mix(word & 0xff) & 0x0f0f0f0f0f0f0f0fu) + 0x6161616161616161u;
    return word;
}

static inline void content_fill(enum content kind, uint64_t number, uint64_t offset, void *out,
                                size_t length)
{
    uint8_t *bytes = out;

    while (length > 0) {
        size_t skip = (size_t)(offset % 8);
        size_t step = 8 - skip < length ? 8 - skip : length;
        uint64_t word = content_word(kind, number, offset / 8);
        memcpy(bytes, (const uint8_t *)&word + skip, step);
        bytes += step;
        offset += step;
        length -= step;
    }
}

/* How many bytes are as content_fill makes them: length if all are. */
static inline size_t content_check(enum content kind, uint64_t number, uint64_t offset,
                                   const void *data, size_t length)
{
    const uint8_t *bytes = data;

    for (size_t done = 0; done < length;) {
        uint8_t piece[512];
        size_t step = length - done < sizeof piece ? length - done : sizeof piece;
        content_fill(kind, number, offset + done, piece, step);
        if (memcmp(piece, bytes + done, step) != 0) {
            size_t i = 0;
            while (piece[i] == bytes[done + i])
                i++;
            return done + i;
        }
        done += step;
    }
    return length;
}

#endif
