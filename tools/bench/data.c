#include "tools/bench/data.h"

#include <stdio.h>
#include <string.h>

#include "tools/common/message.h"

void bale_bench_name(const char *name, char *text, size_t size)
{
    const char *slash = strrchr(name, '/');

    bale_clean_text(slash && slash[1] ? slash + 1 : name, text, size);
}

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void bale_bench_text(uint8_t *bytes, size_t length)
{
    uint64_t state = 1;

    for (size_t at = 0; at < length;) {
        char word[32];
        int made = snprintf(word, sizeof word, "%u-word%u ", (unsigned)(next(&state) % 50),
                            (unsigned)(next(&state) % 400));
        size_t take = (size_t)made < length - at ? (size_t)made : length - at;
        memcpy(bytes + at, word, take);
        at += take;
    }
}
