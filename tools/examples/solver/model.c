#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Five layers over a half-space; interfaces as fractions of the depth, with a dip and an undulation
 * each. */
enum { LAYERS = 6, MODES = 16 };
static const double layer_velocity[LAYERS] = {1500, 1900, 2400, 2900, 3600, 4300};
static const double layer_depth[LAYERS - 1] = {0.12, 0.28, 0.43, 0.62, 0.80};
static const double layer_dip[LAYERS - 1] = {0.00, 0.04, -0.06, 0.10, 0.05};
static const double layer_wave[LAYERS - 1] = {0.004, 0.012, 0.020, 0.025, 0.015};

static const double velocity_max =
    4500; /* perturbed velocities are cut here, so dt does not depend on the seed */
static const double perturbation = 0.03; /* of the velocity, RMS; none in the water */
static const double courant_max =
    0.40; /* stable to 0.4528: 2 / sqrt(3 x 6.5016), the stencil's Nyquist value */
static const double quality = 60; /* Q */

struct mode {
    double *re[3], *im[3]; /* exp(i k x) along each axis, n values each */
};

struct build {
    struct wave_model *m;
    struct mode modes[MODES];
    double phase[LAYERS - 1];
};

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static double random_unit(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

static int random_below(uint64_t *state, int n)
{
    return (int)(random_unit(state) * n);
}

static int arrays_create(struct wave_model *m)
{
    m->courant2 = calloc(m->grid.cells, sizeof *m->courant2);
    m->sponge_xy = calloc((size_t)m->grid.n, sizeof *m->sponge_xy);
    m->sponge_z = calloc((size_t)m->grid.n, sizeof *m->sponge_z);
    return m->courant2 && m->sponge_xy && m->sponge_z ? 0 : -ENOMEM;
}

static int modes_create(struct build *b, uint64_t *rng)
{
    const double pi = acos(-1.0);
    int n = b->m->grid.n;

    for (int i = 0; i < MODES; i++) {
        for (int axis = 0; axis < 3; axis++) {
            double *re = b->modes[i].re[axis] = malloc((size_t)n * sizeof *re);
            double *im = b->modes[i].im[axis] = malloc((size_t)n * sizeof *im);
            if (!re || !im)
                return -ENOMEM;
            /* Wavelengths from 160 m up; flatter than wide, as sediments are. */
            double k = (axis == 2 ? 1.0 : 0.4) * 2 * pi * (0.2 + 0.8 * random_unit(rng)) / 160.0;
            double sign = random_unit(rng) < 0.5 ? -1 : 1, phase = 2 * pi * random_unit(rng);
            for (int j = 0; j < n; j++) {
                re[j] = cos(sign * k * j * b->m->h + phase);
                im[j] = sin(sign * k * j * b->m->h + phase);
            }
        }
    }
    return 0;
}

static void modes_destroy(struct build *b)
{
    for (int i = 0; i < MODES; i++) {
        for (int axis = 0; axis < 3; axis++) {
            free(b->modes[i].re[axis]);
            free(b->modes[i].im[axis]);
        }
    }
}

static int layer_at(const struct build *b, double x, double y, double z)
{
    int layer = 0;

    for (int i = 0; i < LAYERS - 1; i++) {
        double depth = layer_depth[i] + layer_dip[i] * (x - 0.5) + 0.5 * layer_dip[i] * (y - 0.5) +
                       layer_wave[i] * sin(9 * x + b->phase[i]) * cos(7 * y + b->phase[i]);
        if (z >= depth)
            layer = i + 1;
    }
    return layer;
}

/* The real part of the sum of products of three exponentials, for unit variance. */
static double perturbation_at(const struct build *b, int x, int y, int z)
{
    double sum = 0;

    for (int i = 0; i < MODES; i++) {
        const struct mode *k = &b->modes[i];
        double re = k->re[1][y] * k->re[2][z] - k->im[1][y] * k->im[2][z];
        double im = k->re[1][y] * k->im[2][z] + k->im[1][y] * k->re[2][z];
        sum += k->re[0][x] * re - k->im[0][x] * im;
    }
    return sum * sqrt(2.0 / MODES);
}

static void fill_planes(void *arg, int first, int last)
{
    struct build *b = arg;
    struct wave_model *m = b->m;
    int n = m->grid.n;
    double to_courant = m->dt / m->h;

    for (int z = first; z < last; z++) {
        for (int y = 0; y < n; y++) {
            for (int x = 0; x < n; x++) {
                int layer = layer_at(b, (double)x / n, (double)y / n, (double)z / n);
                double c = layer_velocity[layer];
                if (layer > 0)
                    c *= 1 + perturbation * perturbation_at(b, x, y, z);
                if (c > velocity_max)
                    c = velocity_max;
                double courant = c * to_courant;
                m->courant2[wave_grid_index(&m->grid, x, y, z)] = courant * courant;
            }
        }
    }
}

/* Quadratic ramps over the outer twentieth to sixth (Cerjan and others 1985, as a damping term). */
static void fill_sponge(struct wave_model *m)
{
    int n = m->grid.n;
    int width = n / 6 < 20 ? n / 6 : 20;

    for (int i = 0; i < n; i++) {
        int near = i < n - 1 - i ? i : n - 1 - i, below = n - 1 - i;
        double rim = near < width ? (double)(width - near) / width : 0;
        double bottom = below < width ? (double)(width - below) / width : 0;
        m->sponge_xy[i] = 0.06 * rim * rim;
        m->sponge_z[i] = 0.06 * bottom * bottom;
    }
}

/* One shot below the surface at the start, then small events in the rock at random, about two a
 * second. */
static void place_events(struct wave_model *m, uint64_t *rng)
{
    int n = m->grid.n;
    double t = 1.2 / m->frequency;

    m->events[0] =
        (struct wave_event){.x = n / 2, .y = n / 2, .z = n / 16, .time = t, .amplitude = 1.0};
    for (int i = 1; i < WAVE_EVENTS; i++) {
        t += -0.5 * log(1 - random_unit(rng));
        m->events[i] = (struct wave_event){.x = n / 5 + random_below(rng, n - 2 * (n / 5)),
                                           .y = n / 5 + random_below(rng, n - 2 * (n / 5)),
                                           .z = n / 3 + random_below(rng, n / 2),
                                           .time = t,
                                           .amplitude = 0.1 + 0.7 * random_unit(rng)};
    }
    for (int i = 0; i < WAVE_RECEIVERS; i++) {
        m->receivers[i][0] = (i + 1) * n / (WAVE_RECEIVERS + 1);
        m->receivers[i][1] = n / 2;
        m->receivers[i][2] = 1;
    }
}

int wave_model_create(struct wave_model *m, int n, uint64_t seed, struct wave_team *team)
{
    const double pi = acos(-1.0);

    *m = (struct wave_model){
        .grid = wave_grid_make(n), .h = 10, .frequency = 12, .heat_gain = 1, .diffusion = 0.02};
    m->dt = courant_max * m->h / velocity_max;
    m->loss = pi * m->frequency / quality * m->dt;
    struct build b = {.m = m};
    uint64_t rng = seed;
    int rc = arrays_create(m);
    if (rc == 0)
        rc = modes_create(&b, &rng);
    if (rc == 0) {
        for (int i = 0; i < LAYERS - 1; i++)
            b.phase[i] = 2 * pi * random_unit(&rng);
        wave_team_run(team, fill_planes, &b, n);
        fill_sponge(m);
        place_events(m, &rng);
    }
    modes_destroy(&b);
    return rc;
}

int wave_model_create_uniform(struct wave_model *m, int n, double h, double c, double courant)
{
    *m = (struct wave_model){.grid = wave_grid_make(n), .h = h, .dt = courant * h / c};
    int rc = arrays_create(m);
    if (rc != 0)
        return rc;
    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++)
                m->courant2[wave_grid_index(&m->grid, x, y, z)] = courant * courant;
    return 0;
}

void wave_model_destroy(struct wave_model *m)
{
    free(m->courant2);
    free(m->sponge_xy);
    free(m->sponge_z);
    *m = (struct wave_model){0};
}

double wave_model_velocity(const struct wave_model *m, int x, int y, int z)
{
    return sqrt(m->courant2[wave_grid_index(&m->grid, x, y, z)]) * m->h / m->dt;
}

double wave_event_value(const struct wave_event *e, double frequency, double t)
{
    double a = acos(-1.0) * frequency * (t - e->time);
    double a2 = a * a;

    return a2 < 40 ? e->amplitude * (1 - 2 * a2) * exp(-a2) : 0;
}
