/* Sizes and counts as users write them, and as commands print them. */
#ifndef BALE_TOOLS_COMMON_SIZE_H
#define BALE_TOOLS_COMMON_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* "123", "64K", "1.5G" (powers of 1024; "KiB" and "KB" mean the same as "K"). False: not a size. */
bool bale_size_parse(const char *text, uint64_t *size);

/* A size that FORMAT.md allows for extents. */
bool bale_extent_size_parse(const char *text, uint32_t *extent);

/* A size that FORMAT.md allows for chunks, as its binary logarithm. */
bool bale_chunk_parse(const char *text, uint8_t *log2);

/* A whole number from low to high. */
bool bale_count_parse(const char *text, uint64_t low, uint64_t high, uint64_t *count);

/* "90", "30s", "5m", "2h", at most so many seconds. */
bool bale_seconds_parse(const char *text, uint64_t most, uint64_t *seconds);

#define BALE_TEXT 24
/* "17 B", "1.5 MiB". Returns text. */
const char *bale_size_text(uint64_t size, char text[static BALE_TEXT]);
/* "3.40", or "-" if nothing is stored. Returns text. */
const char *bale_ratio_text(uint64_t logical, uint64_t stored, char text[static BALE_TEXT]);

#endif
