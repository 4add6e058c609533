/* A backing file in memory that remembers what was done to it and can be made to fail. One thread
 * at a time, except that reads may run beside each other. */
#ifndef BALE_TESTS_SUPPORT_MEMORY_IO_H
#define BALE_TESTS_SUPPORT_MEMORY_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/container/io.h"

enum memory_kind {
    MEMORY_READ = 1 << 0,
    MEMORY_WRITE = 1 << 1,
    MEMORY_SYNC = 1 << 2,
    MEMORY_TRUNCATE = 1 << 3,
    MEMORY_PUNCH = 1 << 4,
    MEMORY_ALLOCATE = 1 << 5,
    MEMORY_CHANGES = MEMORY_WRITE | MEMORY_SYNC | MEMORY_TRUNCATE | MEMORY_PUNCH,
};

/* A successful change, in the order they were made. */
struct memory_op {
    enum memory_kind kind;
    uint64_t position; /* truncate: the new size */
    uint64_t length;
    uint8_t *data; /* of a write */
};

struct memory_file {
    uint8_t *bytes;
    size_t size;
    size_t capacity;

    bool record;
    struct memory_op *ops;
    size_t op_count;
    size_t op_capacity;

    unsigned fail_kinds; /* calls of these kinds are counted, */
    long fail_after;     /* and this many succeed; negative: all */
    int fail_error;      /* what the others return */
    size_t limit;        /* writes beyond are BALE_E_NOSPACE; 0: none */
    size_t allocated; /* where the blocks beyond the end stop; a failed allocate adds some, too */
    unsigned long writes;
    unsigned long syncs;
    bool alone;                 /* what is expected of reads */
    void (*reading)(void *arg); /* called before each read; NULL: nothing */
    void *reading_arg;
};

/* The file outlives the io. */
struct bale_io *memory_io_open(struct memory_file *file);

void memory_file_clear(struct memory_file *file);
void memory_file_forget_ops(struct memory_file *file);

/* Does to file what op says. */
void memory_file_apply(struct memory_file *file, const struct memory_op *op);

/* Writes without recording or failing. */
void memory_file_write(struct memory_file *file, const void *data, size_t length,
                       uint64_t position);
void memory_file_resize(struct memory_file *file, size_t size);

#endif
