/* What a bench compresses. */
#ifndef BALE_TOOLS_BENCH_DATA_H
#define BALE_TOOLS_BENCH_DATA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads a file's first bytes, as many as there is room for; how many, or -1 after a message. */
ssize_t bale_bench_read(const char *name, uint8_t *bytes, size_t room);

/* A file's name without what leads to it, fit to be shown. */
void bale_bench_name(const char *name, char *text, size_t size);

/* Words and numbers, always the same. */
void bale_bench_text(uint8_t *bytes, size_t length);

#endif
