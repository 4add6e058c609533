/* The whole state in a file. checkpoint_STEP.f64: 512 bytes of text, then u, u a step before and T,
 * n^3 little-endian f64 each, x fastest:
 *
 *   bale-solver checkpoint 1\nsize N\nseed S\nstep K\nsum HEX\n, then NUL bytes
 *
 * sum is FNV-1a over the arrays as the file has them, 64 bits at a time. */
#ifndef WAVE_CHECKPOINT_H
#define WAVE_CHECKPOINT_H

#include "output.h"
#include "state.h"

struct wave_checkpoint {
    int size;
    uint64_t seed;
    long step;
    uint64_t sum;
};

/* 0 or a negative errno, reported. */
int wave_checkpoint_write(struct wave_output *out, const struct wave_state *s, uint64_t seed,
                          char name[64]);

/* Reads the text and compares the file's length with it. 0 or a negative errno, reported; -EBADMSG
 * when it is no checkpoint or an incomplete one. */
int wave_checkpoint_peek(const char *path, struct wave_checkpoint *c);

/* Fills a state of the size that peek returned, and computes its ghosts. Returns as peek; -EBADMSG
 * also if the sum differs. */
int wave_checkpoint_read(const char *path, const struct wave_checkpoint *c, struct wave_state *s,
                         struct wave_team *team);

#endif
