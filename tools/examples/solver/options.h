/* The command line. */
#ifndef WAVE_OPTIONS_H
#define WAVE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct wave_options {
    int size, threads;
    long steps;
    long snapshot_every, checkpoint_every; /* 0: none */
    uint64_t seed;
    const char *out;
    const char *restart; /* a checkpoint, or NULL */
    bool size_given, seed_given;
    bool verify, help;
};

/* 0, or -EINVAL after a message. With a restart file, size and seed are the file's: check what was
 * given against it. */
int wave_options_parse(struct wave_options *o, int argc, char **argv);

void wave_options_help(void);

/* Bytes that a whole run of n^3 writes to fields and checkpoints. */
uint64_t wave_options_bytes(const struct wave_options *o);

#endif
