#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Several versions of a function are compiled where one binary can contain them, so that the
 * machine's widest vectors are used. The arithmetic is the same in all versions (no fused
 * multiply-add, no reordering), and so are the results. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) &&        \
    !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define VECTOR_CLONES
#endif

struct step_job {
    const struct wave_state *state;
    const struct wave_model *model;
};

int wave_state_create(struct wave_state *s, int n)
{
    *s = (struct wave_state){.grid = wave_grid_make(n)};
    double **fields[] = {&s->now, &s->before, &s->heat, &s->heat_next};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        *fields[i] = calloc(s->grid.cells, sizeof **fields[i]);
        if (!*fields[i])
            return -ENOMEM;
    }
    return 0;
}

void wave_state_destroy(struct wave_state *s)
{
    free(s->now);
    free(s->before);
    free(s->heat);
    free(s->heat_next);
    *s = (struct wave_state){0};
}

/* A wall at ghost g = -1 or n holds 0; beyond it the field is its odd mirror image, which keeps the
 * stencil's order. */
static void mirror_planes(void *arg, int first, int last)
{
    const struct wave_state *s = arg;
    const struct wave_grid *g = &s->grid;
    int n = g->n;

    for (int z = first; z < last; z++) {
        for (int y = 0; y < n; y++) {
            double *row = s->now + wave_grid_index(g, 0, y, z);
            row[-1] = row[n] = 0;
            for (int i = 0; i < WAVE_HALO - 1; i++) {
                row[-2 - i] = -row[i];
                row[n + 1 + i] = -row[n - 1 - i];
            }
        }
        double *plane = s->now + wave_grid_index(g, 0, 0, z);
        ptrdiff_t row = (ptrdiff_t)g->row;
        for (int x = 0; x < n; x++) {
            plane[x - row] = plane[x + n * row] = 0;
            for (int i = 0; i < WAVE_HALO - 1; i++) {
                plane[x + (-2 - i) * row] = -plane[x + i * row];
                plane[x + (n + 1 + i) * row] = -plane[x + (n - 1 - i) * row];
            }
        }
    }
}

static void mirror_ends(void *arg, int first, int last)
{
    const struct wave_state *s = arg;
    const struct wave_grid *g = &s->grid;
    ptrdiff_t plane = (ptrdiff_t)g->plane;
    int n = g->n;

    for (int y = first; y < last; y++) {
        double *u = s->now + wave_grid_index(g, 0, y, 0);
        for (int x = 0; x < n; x++) {
            u[x - plane] = u[x + n * plane] = 0;
            for (int i = 0; i < WAVE_HALO - 1; i++) {
                u[x + (-2 - i) * plane] = -u[x + i * plane];
                u[x + (n + 1 + i) * plane] = -u[x + (n - 1 - i) * plane];
            }
        }
    }
}

void wave_state_mirror(struct wave_state *s, struct wave_team *team)
{
    wave_team_run(team, mirror_planes, s, s->grid.n);
    wave_team_run(team, mirror_ends, s, s->grid.n);
}

/* One row of n points. `before` is read and then holds the next u. */
static inline __attribute__((always_inline)) void
update_row(int n, ptrdiff_t row, ptrdiff_t plane, const double *restrict u, double *restrict before,
           const double *restrict courant2, const double *restrict sponge_x, double sponge_yz,
           const double *restrict heat, double *restrict heat_next, double loss, double heating,
           double diffusion)
{
    const double c0 = -205.0 / 72, c1 = 8.0 / 5, c2 = -1.0 / 5, c3 = 8.0 / 315, c4 = -1.0 / 560;

    for (ptrdiff_t i = 0; i < n; i++) {
        double lap = 3 * c0 * u[i];
        lap += c1 *
               ((u[i - 1] + u[i + 1]) + (u[i - row] + u[i + row]) + (u[i - plane] + u[i + plane]));
        lap += c2 * ((u[i - 2] + u[i + 2]) + (u[i - 2 * row] + u[i + 2 * row]) +
                     (u[i - 2 * plane] + u[i + 2 * plane]));
        lap += c3 * ((u[i - 3] + u[i + 3]) + (u[i - 3 * row] + u[i + 3 * row]) +
                     (u[i - 3 * plane] + u[i + 3 * plane]));
        lap += c4 * ((u[i - 4] + u[i + 4]) + (u[i - 4 * row] + u[i + 4 * row]) +
                     (u[i - 4 * plane] + u[i + 4 * plane]));
        double damping = loss + (sponge_x[i] + sponge_yz), old = before[i];
        double next = (2 * u[i] - (1 - damping) * old + courant2[i] * lap) / (1 + damping);
        double change = next - old; /* 2 dt u_t */
        double heat_lap = heat[i - 1] + heat[i + 1] + heat[i - row] + heat[i + row] +
                          heat[i - plane] + heat[i + plane] - 6 * heat[i];
        heat_next[i] = heat[i] + diffusion * heat_lap + heating * (change * change) / courant2[i];
        before[i] = next;
    }
}

VECTOR_CLONES static void step_planes(void *arg, int first, int last)
{
    const struct step_job *job = arg;
    const struct wave_state *s = job->state;
    const struct wave_model *m = job->model;
    const struct wave_grid *g = &s->grid;
    /* heat_gain q dt = heat_gain 2 loss (change / 2 dt)^2 / c^2, with c^2 = courant2 h^2 / dt^2. */
    double heating = m->heat_gain * m->loss / (2 * m->h * m->h);

    for (int z = first; z < last; z++) {
        for (int y = 0; y < g->n; y++) {
            size_t at = wave_grid_index(g, 0, y, z);
            update_row(g->n, (ptrdiff_t)g->row, (ptrdiff_t)g->plane, s->now + at, s->before + at,
                       m->courant2 + at, m->sponge_xy, m->sponge_xy[y] + m->sponge_z[z],
                       s->heat + at, s->heat_next + at, m->loss, heating, m->diffusion);
        }
    }
}

static void inject_events(struct wave_state *s, const struct wave_model *m)
{
    double t = (double)s->step * m->dt;

    for (int i = 0; i < WAVE_EVENTS; i++) {
        const struct wave_event *e = &m->events[i];
        double value = wave_event_value(e, m->frequency, t);
        if (value == 0)
            continue;
        size_t at = wave_grid_index(&s->grid, e->x, e->y, e->z);
        s->before[at] += m->courant2[at] * m->h * m->h * value;
    }
}

static void swap(double **a, double **b)
{
    double *t = *a;

    *a = *b;
    *b = t;
}

void wave_state_step(struct wave_state *s, const struct wave_model *m, struct wave_team *team)
{
    struct step_job job = {.state = s, .model = m};

    wave_team_run(team, step_planes, &job, s->grid.n);
    inject_events(s, m);
    swap(&s->now, &s->before);
    swap(&s->heat, &s->heat_next);
    s->step++;
    wave_state_mirror(s, team);
}
