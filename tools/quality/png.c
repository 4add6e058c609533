#include "tools/quality/png.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that grow at the end. */
struct bytes {
    uint8_t *at;
    size_t length;
};

static void add(struct bytes *to, const void *bytes, size_t length)
{
    memcpy(to->at + to->length, bytes, length);
    to->length += length;
}

static void add_number(struct bytes *to, uint32_t number)
{
    const uint8_t bytes[] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16),
                             (uint8_t)(number >> 8), (uint8_t)number};

    add(to, bytes, sizeof bytes);
}

static uint32_t crc32(const uint8_t *bytes, size_t length)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static uint32_t adler32(uint32_t adler, uint8_t byte)
{
    const uint32_t low = ((adler & 0xffff) + byte) % 65521;

    return ((adler >> 16) + low) % 65521 << 16 | low;
}

/* A chunk's length and type; its data follow, and then its checksum. */
static size_t begin_chunk(struct bytes *to, uint32_t length, const char type[4])
{
    add_number(to, length);
    add(to, type, 4);
    return to->length - 4;
}

static void end_chunk(struct bytes *to, size_t began)
{
    add_number(to, crc32(to->at + began, to->length - began));
}

/* Rows, each behind the number of its filter, as blocks of zlib that are not compressed. */
static void add_rows(struct bytes *to, const uint8_t *rgb, uint32_t width, uint32_t height)
{
    const uint32_t row = 1 + 3 * width;
    const size_t began = begin_chunk(to, 2 + height * (5 + row) + 4, "IDAT");
    uint32_t adler = 1;

    add(to, "\x78\x01", 2);
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t head[] = {y + 1 == height, (uint8_t)row,         (uint8_t)(row >> 8),
                                (uint8_t)~row,   (uint8_t)(~row >> 8), 0};
        add(to, head, sizeof head);
        add(to, rgb + (size_t)y * 3 * width, 3 * (size_t)width);
        for (uint32_t i = 0; i < row; i++)
            adler = adler32(adler, to->at[to->length - row + i]);
    }
    add_number(to, adler);
    end_chunk(to, began);
}

static void print_base64(const struct bytes *bytes, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < bytes->length; i += 3) {
        const size_t n = bytes->length - i < 3 ? bytes->length - i : 3;
        uint32_t three = 0;
        for (size_t k = 0; k < n; k++)
            three |= (uint32_t)bytes->at[i + k] << (16 - 8 * k);
        for (size_t k = 0; k < 4; k++)
            fputc(k <= n ? digits[three >> (18 - 6 * k) & 63] : '=', out);
    }
}

bool bale_png_write(const uint8_t *rgb, uint32_t width, uint32_t height, FILE *out)
{
    struct bytes png = {.at = malloc(100 + (size_t)height * (6 + 3 * (size_t)width))};
    size_t began;

    if (!png.at)
        return false;
    add(&png, "\x89PNG\r\n\x1a\n", 8);
    began = begin_chunk(&png, 13, "IHDR");
    add_number(&png, width);
    add_number(&png, height);
    add(&png, "\x08\x02\0\0\0", 5); /* 8 bits of red, green and blue */
    end_chunk(&png, began);
    add_rows(&png, rgb, width, height);
    end_chunk(&png, begin_chunk(&png, 0, "IEND"));
    fputs("data:image/png;base64,", out);
    print_base64(&png, out);
    free(png.at);
    return true;
}
