/* What fsst_sweep and cusz_sweep read. */
#ifndef BALE_TESTS_BENCH_READ_FILE_H
#define BALE_TESTS_BENCH_READ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The bytes of a file, to be freed. NULL: it cannot be read, or has none. */
static inline uint8_t *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size > 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)size);
    if (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        free(bytes);
        bytes = NULL;
    }
    if (file)
        fclose(file);
    *length = bytes ? (size_t)size : 0;
    return bytes;
}

#endif
