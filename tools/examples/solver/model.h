/* The medium that the waves travel through: velocity, damping, and the events that create waves. It
 * is a pure function of size and seed, so that a restart does not need to store it. */
#ifndef WAVE_MODEL_H
#define WAVE_MODEL_H

#include <stdint.h>

#include "grid.h"
#include "team.h"

enum { WAVE_EVENTS = 64, WAVE_RECEIVERS = 8 };

/* A point source with a Ricker wavelet: pressure per m^2, centred on `time`. */
struct wave_event {
    int x, y, z;
    double time, amplitude;
};

struct wave_model {
    struct wave_grid grid;
    double h;         /* m */
    double dt;        /* s */
    double frequency; /* Hz, the wavelets' peak */
    double loss;      /* intrinsic damping times dt, from a constant Q */
    double
        /* K m^2 / Pa^2: wave energy into temperature, scaled up to show in a run of a second */
        heat_gain;
    double diffusion;  /* kappa dt / h^2, likewise */
    double *courant2;  /* c^2 dt^2 / h^2, with ghosts (there 0) */
    double *sponge_xy; /* n: added damping times dt, towards the walls in x and in y */
    double *sponge_z;  /* n: towards the lower wall; z = -1 is the free surface, which reflects */
    struct wave_event events[WAVE_EVENTS]; /* by time */
    int receivers[WAVE_RECEIVERS][3];      /* x, y, z of a line below the surface */
};

/* A layered, dipping, perturbed subsurface of n^3 points 10 m apart. 0 or -ENOMEM; destroy in
 * either case. */
int wave_model_create(struct wave_model *m, int n, uint64_t seed, struct wave_team *team);

/* Constant velocity c, without sponge, events and heat, for which an analytic solution exists. dt
 * is c-Courant h / c. */
int wave_model_create_uniform(struct wave_model *m, int n, double h, double c, double courant);

void wave_model_destroy(struct wave_model *m);

/* Velocity in m/s at a grid point. */
double wave_model_velocity(const struct wave_model *m, int x, int y, int z);

/* The wavelet of one event at time t; 0 when it is over or has not begun. */
double wave_event_value(const struct wave_event *e, double frequency, double t);

#endif
