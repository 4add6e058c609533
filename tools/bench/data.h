/* The data that a bench compresses. */
#ifndef BALE_TOOLS_BENCH_DATA_H
#define BALE_TOOLS_BENCH_DATA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads the first bytes of a file, as many as there is room for. Returns the count, or -1 after a
 * message. */
ssize_t bale_bench_read(const char *name, uint8_t *bytes, size_t room);

/* Copies the last part of a file's name, without control characters. */
void bale_bench_name(const char *name, char *text, size_t size);

/* Fills bytes with words and numbers, the same on every call. */
void bale_bench_text(uint8_t *bytes, size_t length);

#endif
