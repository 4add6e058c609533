/* Fields of N x N x N binary32, as simulations have them, for tests/bench/paper-cusz and mount:
 * drawn, and the same each time.
 *
 * usage: cusz_fields KIND N FILE */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_MIN = 16, N_MAX = 512, MODES_MAX = 48 };

static const double TURN = 6.283185307179586;
static uint64_t state = 1;

/* From 0 to 1. */
static double draw(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double draw_normal(void)
{
    return sqrt(-2 * log(1 - draw())) * cos(TURN * draw());
}

static float *room(size_t count)
{
    float *x = calloc(count, sizeof *x);

    if (!x) {
        fprintf(stderr, "cusz_fields: not enough memory\n");
        exit(1);
    }
    return x;
}

/* out[i][j][k] = sum over a of in[j][k][a] waves[a][i]: one dimension after the other, which become
 * the first ones. */
static float *synthesise(const float *in, const float *waves, size_t rest, size_t modes, size_t n)
{
    float *out = room(n * rest);

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < rest; j++) {
            float sum = 0;
            for (size_t a = 0; a < modes; a++)
                sum += in[j * modes + a] * waves[i * modes + a];
            out[i * rest + j] = sum;
        }
    return out;
}

/* Waves of all directions whose size falls off with their number, from -1 to 1. */
static float *random_modes(size_t n, size_t modes, double falling, double slope)
{
    float *field = room(modes * modes * modes), *waves = room(n * modes), *next, most = 0;

    for (size_t i = 0; i < modes * modes * modes; i++) {
        const size_t second = i / modes % modes, third = i / modes / modes;
        const double a = (double)(i % modes), b = (double)second;
        const double c = (double)third, k = sqrt(a * a + b * b + c * c);
        field[i] = (float)(i ? pow(k, slope) * exp(-k / falling) * draw_normal() : 0);
    }
    for (int dimension = 0; dimension < 3; dimension++) {
        const size_t rest = dimension == 0 ? modes * modes : dimension == 1 ? n * modes : n * n;
        for (size_t a = 0; a < modes; a++) {
            const double phase = TURN * draw();
            for (size_t i = 0; i < n; i++)
                waves[i * modes + a] =
                    (float)cos(TURN * (double)a * (double)i / (2 * (double)n) + phase);
        }
        next = synthesise(field, waves, rest, modes, n);
        free(field);
        field = next;
    }
    for (size_t i = 0; i < n * n * n; i++)
        most = fabsf(field[i]) > most ? fabsf(field[i]) : most;
    for (size_t i = 0; i < n * n * n; i++)
        field[i] /= most;
    free(waves);
    return field;
}

static float *turbulence(size_t n)
{
    return random_modes(n, 32, 5, -3);
}

/* Particles of a lattice, moved, and shared among the cells that they lie between. */
static float *density(size_t n)
{
    float *moved[3], *cells = room(n * n * n);

    for (int axis = 0; axis < 3; axis++)
        moved[axis] = random_modes(n, MODES_MAX, 12, -1.5);
    for (size_t i = 0; i < n * n * n; i++) {
        const size_t from[3] = {i / n / n, i / n % n, i % n};
        size_t cell[3];
        double part[3];
        for (int axis = 0; axis < 3; axis++) {
            const double at = (double)from[axis] + 20 * (double)moved[axis][i] + 0.3 * draw();
            cell[axis] = (size_t)(floor(at) + 4 * (double)n);
            part[axis] = at - floor(at);
        }
        for (int corner = 0; corner < 8; corner++) {
            double share = 1;
            size_t to = 0;
            for (int axis = 0; axis < 3; axis++) {
                const bool upper = corner >> axis & 1;
                share *= upper ? part[axis] : 1 - part[axis];
                to = to * n + (cell[axis] + upper) % n;
            }
            cells[to] += (float)share;
        }
    }
    for (int axis = 0; axis < 3; axis++)
        free(moved[axis]);
    return cells;
}

/* Matter that has gathered: log-normal, about as densities of cosmology are. Few cells have most. */
static float *halos(size_t n)
{
    float *field = random_modes(n, MODES_MAX, 12, -1.5);

    for (size_t i = 0; i < n * n * n; i++)
        field[i] = expf(6 * field[i]);
    return field;
}

/* What a row's six neighbours have more than it, in a box that begins again at its ends. */
static void spread_row(const float *x, size_t n, size_t z, size_t y, float *out)
{
    const float *row = x + (z * n + y) * n;
    const float *up = x + ((z + 1) % n * n + y) * n, *down = x + ((z + n - 1) % n * n + y) * n;
    const float *back = x + (z * n + (y + 1) % n) * n, *front = x + (z * n + (y + n - 1) % n) * n;

    for (size_t i = 0; i < n; i++)
        out[i] = up[i] + down[i] + back[i] + front[i] - 6 * row[i];
    for (size_t i = 0; i + 1 < n; i++) {
        out[i] += row[i + 1];
        out[i + 1] += row[i];
    }
    out[0] += row[n - 1];
    out[n - 1] += row[0];
}

/* Reaction and diffusion, from some spots on. */
static float *gray_scott(size_t n)
{
    const size_t count = n * n * n;
    float *u = room(count), *v = room(count), *u_next = room(count), *v_next = room(count);

    for (size_t i = 0; i < count; i++)
        u[i] = 1, v[i] = (float)(0.02 * draw());
    for (int spot = 0; spot < 20; spot++) {
        const size_t at[3] = {(size_t)(draw() * (double)n), (size_t)(draw() * (double)n),
                              (size_t)(draw() * (double)n)};
        for (size_t k = 0; k < 512; k++) {
            const size_t z = (at[0] + k / 64) % n, y = (at[1] + k / 8 % 8) % n;
            const size_t i = (z * n + y) * n + (at[2] + k % 8) % n;
            u[i] = 0.5f, v[i] = 0.25f;
        }
    }
    for (size_t step = 0; step < 5 * n; step++) {
        for (size_t row = 0; row < n * n; row++) {
            float du[N_MAX], dv[N_MAX], *to_u = u_next + row * n, *to_v = v_next + row * n;
            const float *a = u + row * n, *b = v + row * n;
            spread_row(u, n, row / n, row % n, du);
            spread_row(v, n, row / n, row % n, dv);
            for (size_t i = 0; i < n; i++) {
                const float made = a[i] * b[i] * b[i];
                to_u[i] = a[i] + 0.12f * du[i] - made + 0.04f * (1 - a[i]);
                to_v[i] = b[i] + 0.06f * dv[i] + made - 0.1f * b[i];
            }
        }
        float *old = u;
        u = u_next, u_next = old;
        old = v, v = v_next, v_next = old;
    }
    free(v), free(u_next), free(v_next);
    return u;
}

/* A pulse in layers of different speed. */
static float *wavefield(size_t n)
{
    const size_t count = n * n * n;
    float *now = room(count), *before = room(count), *after = room(count);

    for (size_t step = 0; step < 2 * n; step++) {
        const double t = (double)step * 0.1 - 2;
        for (size_t row = n; row < n * n - n; row++) {
            const float speed = 0.12f + 0.1f * (float)(row / n / 37 % 3);
            const size_t at = row * n;
            float more[N_MAX];
            if (row % n == 0 || row % n == n - 1)
                continue;
            spread_row(now, n, row / n, row % n, more);
            for (size_t i = 1; i + 1 < n; i++)
                after[at + i] = 2 * now[at + i] - before[at + i] + speed * more[i];
        }
        after[(n / 3 * n + n / 2) * n + n / 2] += (float)((1 - 2 * t * t) * exp(-t * t));
        float *old = before;
        before = now, now = after, after = old;
    }
    free(before), free(after);
    return now;
}

/* Velocities of particles that lie in no order, but near each other. */
static float *particles(size_t n)
{
    float *field = random_modes(n, 32, 5, -3), *out = room(n * n * n);
    size_t order[64];

    for (size_t i = 0; i < 64; i++)
        order[i] = (size_t)(64 * draw());
    for (size_t i = 0; i < n * n * n; i++)
        out[i] = 300 * field[i / 64 * 64 + order[i % 64]] + (float)(20 * draw_normal());
    free(field);
    return out;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        float *(*make)(size_t n);
    } kinds[] = {{"turbulence", turbulence}, {"density", density},     {"halos", halos},
                 {"gray-scott", gray_scott}, {"wavefield", wavefield}, {"particles", particles}};
    const size_t n = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    float *(*make)(size_t) = NULL;
    FILE *file;

    for (size_t i = 0; argc == 4 && i < sizeof kinds / sizeof *kinds; i++)
        make = strcmp(argv[1], kinds[i].name) == 0 ? kinds[i].make : make;
    if (!make || n < N_MIN || n > N_MAX) {
        fprintf(stderr,
                "usage: cusz_fields turbulence|density|halos|gray-scott|wavefield|particles "
                "N FILE, with N from 16 to 512\n");
        return 2;
    }
    float *field = make(n);
    file = fopen(argv[3], "wb");
    if (!file || fwrite(field, sizeof *field, n * n * n, file) != n * n * n || fclose(file)) {
        fprintf(stderr, "cusz_fields: %s: cannot be written\n", argv[3]);
        return 1;
    }
    free(field);
    return 0;
}
