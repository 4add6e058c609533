#include "tests/codecs/bytes.h"

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

void sample_random(uint8_t *raw, size_t length)
{
    uint32_t state = 1;

    for (size_t i = 0; i < length; i++)
        raw[i] = (uint8_t)(next(&state) >> 8);
}

void sample_text(uint8_t *raw, size_t length)
{
    static const char *const words[] = {"field ", "extent ", "chunk ", "frame ", "commit\n",
                                        "index ", "0.",      "of ",    "the ",   "and ",
                                        "in ",    "a ",      "1.5",    "-"};
    uint32_t state = 2;

    for (size_t i = 0; i < length;)
        for (const char *word = words[next(&state) % (sizeof words / sizeof words[0])];
             *word && i < length; word++)
            raw[i++] = (uint8_t)*word;
}

void sample_numbers(uint8_t *raw, size_t length)
{
    uint32_t state = 3;

    for (size_t i = 0; i < length; i++) {
        uint32_t any = next(&state);
        raw[i] = (uint8_t)(i % 8 == 0 ? any % 50 : i % 8 == 4 ? raw[i - 4] / 8 : 0);
    }
}

void sample_mix(uint8_t *raw, size_t length)
{
    if (length > 4096)
        sample_random(raw + 4096, length < 8192 ? length - 4096 : 4096);
}
