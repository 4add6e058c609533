#include "tests/support/fake_words.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

unsigned fake_word(const char *word)
{
    const char *at = getenv("BALE_FAKE_GPU");
    size_t length = strlen(word);

    for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && strchr("=,", at[length]))
            return at[length] == '=' ? (unsigned)strtoul(at + length + 1, NULL, 10) : 1;
    return 0;
}

void fake_pause_us(unsigned us)
{
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};

    nanosleep(&time, NULL);
}

void fake_hang_if(const char *word)
{
    while (fake_word(word))
        pause();
}
