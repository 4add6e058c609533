#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "state.h"

struct energy_job {
    const struct wave_state *state;
    const struct wave_model *model;
    struct wave_energy *planes; /* one for each z */
};

static double max2(double a, double b)
{
    return a > b ? a : b;
}

static double product(const double *a, const double *b, size_t next)
{
    return (a[next] - a[0]) * (b[next] - b[0]);
}

/* Sums over a plane. Gradients are one-sided towards +1, and at 0 towards the wall as well; the
 * product of two steps' gradients belongs to the time between them, as the change does. Walls hold
 * 0 in `before` too. */
static void sum_planes(void *arg, int first, int last)
{
    const struct energy_job *job = arg;
    const struct wave_grid *g = &job->state->grid;

    for (int z = first; z < last; z++) {
        struct wave_energy e = {.heat_max = 0};
        for (int y = 0; y < g->n; y++) {
            size_t at = wave_grid_index(g, 0, y, z);
            const double *u = job->state->now + at, *before = job->state->before + at,
                         *heat = job->state->heat + at;
            const double *courant2 = job->model->courant2 + at;
            for (int x = 0; x < g->n; x++) {
                double change = u[x] - before[x];
                double walls = (x == 0) + (y == 0) + (z == 0);
                double gradients = walls * (u[x] * before[x]) + product(u + x, before + x, 1) +
                                   product(u + x, before + x, g->row) +
                                   product(u + x, before + x, g->plane);
                e.kinetic += change * change / courant2[x];
                e.potential += gradients;
                e.peak = max2(e.peak, fabs(u[x]));
                e.heat_sum += heat[x];
                e.heat_max = max2(e.heat_max, heat[x]);
            }
        }
        job->planes[z] = e;
    }
}

int wave_state_energy(const struct wave_state *s, const struct wave_model *m,
                      struct wave_team *team, struct wave_energy *out)
{
    int n = s->grid.n;
    struct energy_job job = {
        .state = s, .model = m, .planes = calloc((size_t)n, sizeof *job.planes)};

    *out = (struct wave_energy){0};
    if (!job.planes)
        return -ENOMEM;
    wave_team_run(team, sum_planes, &job, n);
    for (int z = 0; z < n; z++) {
        out->kinetic += job.planes[z].kinetic;
        out->potential += job.planes[z].potential;
        out->heat_sum += job.planes[z].heat_sum;
        out->peak = max2(out->peak, job.planes[z].peak);
        out->heat_max = max2(out->heat_max, job.planes[z].heat_max);
    }
    free(job.planes);
    /* change = dt u_t and c^2 = courant2 h^2 / dt^2, so u_t^2 / c^2 = change^2 / (courant2 h^2). */
    double volume = m->h * m->h * m->h, half = 0.5 * volume / (m->h * m->h);
    out->kinetic *= half;
    out->potential *= half;
    out->heat_sum *= volume;
    return 0;
}
