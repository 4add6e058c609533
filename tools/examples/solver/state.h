/* The state, and one step of it:
 *
 *   u_tt + 2 g u_t = c^2 (laplacian u + s)     pressure: damped acoustic waves
 *   T_t = kappa laplacian T + heat_gain q      temperature: heated by what the damping takes
 *   q = 2 g_loss u_t^2 / c^2                   g_loss: the rock's own damping, without the sponge
 *
 * Leapfrog in time; 8th order in space for u and 2nd for T; f64. u and T are 0 at the walls. Every
 * point's value is computed from the same operands in the same order whatever the number of
 * threads, so results are bit-identical. */
#ifndef WAVE_STATE_H
#define WAVE_STATE_H

#include "model.h"

struct wave_state {
    struct wave_grid grid;
    double *now;       /* u at step, with ghosts (odd mirror images) */
    double *before;    /* u at step - 1; of its ghosts only the walls mean anything */
    double *heat;      /* T at step, ghosts 0 */
    double *heat_next; /* room for the next T */
    long step;
};

/* The values of energy.csv. Sums run plane by plane in a fixed order. */
struct wave_energy {
    double kinetic;   /* integral of 1/2 u_t^2 / c^2, half a step before now */
    double potential; /* integral of 1/2 |grad u|^2, then too */
    double peak;      /* max |u| now */
    double heat_sum;  /* integral of T now */
    double heat_max;
};

/* All zero, at step 0. 0 or -ENOMEM; destroy in either case. */
int wave_state_create(struct wave_state *s, int n);
void wave_state_destroy(struct wave_state *s);

/* Makes the ghosts of `now` from its interior. Needed after filling `now` from outside;
 * wave_state_step does it. */
void wave_state_mirror(struct wave_state *s, struct wave_team *team);

void wave_state_step(struct wave_state *s, const struct wave_model *m, struct wave_team *team);

/* 0 or -ENOMEM. */
int wave_state_energy(const struct wave_state *s, const struct wave_model *m,
                      struct wave_team *team, struct wave_energy *out);

#endif
