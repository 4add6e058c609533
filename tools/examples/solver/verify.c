#include "verify.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "report.h"
#include "state.h"

/* All cases: a cube of side 1, velocity 1, the eigenmode sin(ax pi x) sin(ay pi y) sin(az pi z). */
static const int mode[3] = {2, 1, 3};

struct box {
    struct wave_model model;
    struct wave_state state;
    struct wave_team *team;
};

static int box_open(struct box *b, int n, double courant, struct wave_team *team)
{
    *b = (struct box){.team = team};
    int rc = wave_model_create_uniform(&b->model, n, 1.0 / (n + 1), 1.0, courant);
    if (rc == 0)
        rc = wave_state_create(&b->state, n);
    return rc == 0 ? 0 : wave_report(rc, "no memory for --verify");
}

static void box_close(struct box *b)
{
    wave_state_destroy(&b->state);
    wave_model_destroy(&b->model);
}

static double shape_at(const struct box *b, int x, int y, int z)
{
    double k = acos(-1.0) * b->model.h;

    return sin(mode[0] * k * (x + 1)) * sin(mode[1] * k * (y + 1)) * sin(mode[2] * k * (z + 1));
}

static void fill(struct box *b, double *field, double factor)
{
    int n = b->model.grid.n;

    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++)
                field[wave_grid_index(&b->model.grid, x, y, z)] = factor * shape_at(b, x, y, z);
}

/* The largest difference between a field and factor times the mode. */
static double distance(const struct box *b, const double *field, double factor)
{
    int n = b->model.grid.n;
    double worst = 0;

    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++)
                worst = fmax(worst, fabs(field[wave_grid_index(&b->model.grid, x, y, z)] -
                                         factor * shape_at(b, x, y, z)));
    return worst;
}

static void advance(struct box *b, long steps)
{
    wave_state_mirror(&b->state, b->team);
    for (long i = 0; i < steps; i++)
        wave_state_step(&b->state, &b->model, b->team);
}

static double omega(void)
{
    return acos(-1.0) * sqrt(mode[0] * mode[0] + mode[1] * mode[1] + mode[2] * mode[2]);
}

/* A damped standing wave, exp(-g t) cos(w t): the error at time 1/2 falls with dt^2. */
static int damped_error(int n, struct wave_team *team, double *error)
{
    struct box b;
    int rc = box_open(&b, n, 0.25, team);

    if (rc == 0) {
        const double g = 0.5, w = sqrt(omega() * omega() - g * g), dt = b.model.dt;
        b.model.loss = g * dt;
        fill(&b, b.state.now, 1);
        fill(&b, b.state.before, exp(g * dt) * cos(w * dt));
        advance(&b, lround(0.5 / dt));
        double t = (double)b.state.step * dt;
        *error = distance(&b, b.state.now, exp(-g * t) * cos(w * t));
    }
    box_close(&b);
    return rc;
}

/* Undamped, against the exact solution of leapfrog with exact space derivatives: sin(w' dt / 2) = w
 * dt / 2. What is left is the stencil's error, which falls with h^8. */
static int space_error(int n, struct wave_team *team, double *error)
{
    struct box b;
    int rc = box_open(&b, n, 0.4, team);

    if (rc == 0) {
        const double dt = b.model.dt, w = 2 / dt * asin(omega() * dt / 2);
        fill(&b, b.state.now, 1);
        fill(&b, b.state.before, cos(w * dt));
        advance(&b, lround(1.0 / dt));
        *error = distance(&b, b.state.now, cos(w * (double)b.state.step * dt));
    }
    box_close(&b);
    return rc;
}

/* Heat alone: exp(-kappa k^2 t), second order in h (dt goes with h^2 at a fixed diffusion
 * number). */
static int heat_error(int n, struct wave_team *team, double *error)
{
    struct box b;
    int rc = box_open(&b, n, 0.25, team);

    if (rc == 0) {
        b.model.diffusion = 0.1;
        double step_time = b.model.diffusion * b.model.h * b.model.h; /* kappa dt */
        fill(&b, b.state.heat, 1);
        advance(&b, lround(0.01 / step_time));
        *error =
            distance(&b, b.state.heat, exp(-omega() * omega() * (double)b.state.step * step_time));
    }
    box_close(&b);
    return rc;
}

/* Checks that the heat gains what damping takes from the wave. */
static int balance_error(int n, struct wave_team *team, double *error)
{
    struct box b;
    int rc = box_open(&b, n, 0.25, team);
    struct wave_energy first, last;

    if (rc == 0) {
        b.model.loss = 0.5 * b.model.dt;
        b.model.heat_gain = 1;
        fill(&b, b.state.now, 1);
        fill(&b, b.state.before, cos(omega() * b.model.dt));
        advance(&b, 0);
        rc = wave_state_energy(&b.state, &b.model, team, &first);
    }
    if (rc == 0) {
        advance(&b, lround(0.5 / b.model.dt));
        rc = wave_state_energy(&b.state, &b.model, team, &last);
    }
    if (rc == 0) {
        double before = first.kinetic + first.potential,
               lost = before - last.kinetic - last.potential;
        *error = fabs(lost - last.heat_sum) / before;
    }
    box_close(&b);
    return rc;
}

int wave_verify(struct wave_team *team)
{
    static const struct {
        const char *name;
        int (*error)(int n, struct wave_team *team, double *error);
        int coarse, fine;    /* points; n + 1 doubles */
        double limit, order; /* the fine error at most, its order of convergence at least */
    } checks[] = {
        {"damped standing wave, time", damped_error, 31, 63, 2e-3, 1.9},
        {"standing wave, space", space_error, 23, 47, 1e-6, 7.5},
        {"diffusion of heat", heat_error, 31, 63, 2e-3, 1.9},
        {"energy lost by waves, gained by heat", balance_error, 31, 63, 1e-3, 1.9},
    };
    int result = 0;

    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        double coarse = 0, fine = 0;
        int rc = checks[i].error(checks[i].coarse, team, &coarse);
        if (rc == 0)
            rc = checks[i].error(checks[i].fine, team, &fine);
        if (rc != 0)
            return rc;
        double order = log2(coarse / fine);
        bool good = fine <= checks[i].limit && order >= checks[i].order;
        printf("%-4s %-38s error %.2e, order %.2f\n", good ? "ok" : "FAIL", checks[i].name, fine,
               order);
        if (!good)
            result = -EDOM;
    }
    return result;
}
