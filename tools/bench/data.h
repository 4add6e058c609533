/* The data that a bench compresses. */
#ifndef BALE_TOOLS_BENCH_DATA_H
#define BALE_TOOLS_BENCH_DATA_H

#include <stddef.h>
#include <stdint.h>

/* Copies the last part of a file's name, without control characters. */
void bale_bench_name(const char *name, char *text, size_t size);

/* Fills bytes with words and numbers, the same on every call. */
void bale_bench_text(uint8_t *bytes, size_t length);

#endif
