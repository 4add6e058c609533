/* Writes the fields of a run. All functions return 0 or a negative errno, after a message. */
#ifndef WAVE_DUMP_H
#define WAVE_DUMP_H

#include "output.h"
#include "state.h"

/* field_u_STEP.f32: u, n^3 little-endian f32, x fastest; one pwrite a plane. */
int wave_dump_snapshot(struct wave_output *out, const struct wave_state *s, char name[64]);

/* model_c.f32: the velocity in m/s, in the same order. */
int wave_dump_velocity(struct wave_output *out, const struct wave_model *m);

/* meta.json: what a reader of the files needs to know. It depends only on size, seed and model. */
int wave_dump_meta(struct wave_output *out, const struct wave_model *m, uint64_t seed);

#endif
