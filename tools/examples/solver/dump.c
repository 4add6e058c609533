#include "dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "arrays are written as they lie in memory");

struct dump {
    struct wave_file file;
    const struct wave_grid *grid;
    float *plane; /* n^2 */
};

static int dump_begin(struct dump *d, struct wave_output *out, const struct wave_grid *grid,
                      const char *name)
{
    size_t n = (size_t)grid->n;

    *d = (struct dump){.grid = grid, .file.fd = -1};
    d->plane = malloc(n * n * sizeof *d->plane);
    if (!d->plane)
        return wave_report(-ENOMEM, "no memory to write a snapshot");
    return wave_file_create(&d->file, out, name, WAVE_FILE_PLAIN);
}

static int dump_plane(struct dump *d, int z)
{
    size_t length = (size_t)d->grid->n * (size_t)d->grid->n * sizeof *d->plane;

    return wave_file_write(&d->file, d->plane, length, (off_t)length * z);
}

static int dump_end(struct dump *d, int rc)
{
    free(d->plane);
    return wave_file_finish(&d->file, rc);
}

int wave_dump_snapshot(struct wave_output *out, const struct wave_state *s, char name[64])
{
    struct dump d;

    snprintf(name, 64, "field_u_%04ld.f32", s->step);
    int n = s->grid.n, rc = dump_begin(&d, out, &s->grid, name);
    for (int z = 0; rc == 0 && z < n; z++) {
        for (int y = 0; y < n; y++) {
            const double *u = s->now + wave_grid_index(&s->grid, 0, y, z);
            for (int x = 0; x < n; x++)
                d.plane[y * n + x] = (float)u[x];
        }
        rc = dump_plane(&d, z);
    }
    return dump_end(&d, rc);
}

int wave_dump_velocity(struct wave_output *out, const struct wave_model *m)
{
    struct dump d;
    int n = m->grid.n, rc = dump_begin(&d, out, &m->grid, "model_c.f32");

    for (int z = 0; rc == 0 && z < n; z++) {
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++)
                d.plane[y * n + x] = (float)wave_model_velocity(m, x, y, z);
        rc = dump_plane(&d, z);
    }
    return dump_end(&d, rc);
}

static int print_meta(FILE *f, const struct wave_model *m, uint64_t seed)
{
    int n = m->grid.n;

    fprintf(f,
            "{\n"
            "  \"program\": \"bale-solver\",\n"
            "  \"equation\": \"damped acoustic waves, heated rock\",\n"
            "  \"size\": [%d, %d, %d],\n"
            "  \"order\": \"x fastest, little-endian\",\n"
            "  \"spacing_m\": %.17g,\n"
            "  \"time_step_s\": %.17g,\n"
            "  \"peak_frequency_hz\": %.17g,\n"
            "  \"seed\": %llu,\n"
            "  \"files\": {\n"
            "    \"field_u_STEP.f32\": \"pressure, f32\",\n"
            "    \"model_c.f32\": \"velocity in m/s, f32\",\n"
            "    \"checkpoint_STEP.f64\": \"512 bytes of text, then pressure, pressure a step "
            "before, temperature, f64\"\n"
            "  },\n"
            "  \"receivers\": [",
            n, n, n, m->h, m->dt, m->frequency, (unsigned long long)seed);
    for (int i = 0; i < WAVE_RECEIVERS; i++)
        fprintf(f, "%s[%d, %d, %d]", i ? ", " : "", m->receivers[i][0], m->receivers[i][1],
                m->receivers[i][2]);
    fprintf(f, "],\n  \"events\": [\n");
    for (int i = 0; i < WAVE_EVENTS; i++) {
        const struct wave_event *e = &m->events[i];
        fprintf(f, "    {\"at\": [%d, %d, %d], \"time_s\": %.17g, \"amplitude\": %.17g}%s\n", e->x,
                e->y, e->z, e->time, e->amplitude, i + 1 < WAVE_EVENTS ? "," : "");
    }
    return fprintf(f, "  ]\n}\n") < 0 || ferror(f) ? -EIO : 0;
}

int wave_dump_meta(struct wave_output *out, const struct wave_model *m, uint64_t seed)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    int rc = f ? print_meta(f, m, seed) : -ENOMEM;

    if (f && fclose(f) != 0)
        rc = -ENOMEM;
    if (rc != 0) {
        wave_report(rc, "cannot make meta.json");
    } else {
        struct wave_file file;
        rc = wave_file_create(&file, out, "meta.json", WAVE_FILE_PLAIN);
        if (rc == 0)
            rc = wave_file_write(&file, text, length, 0);
        rc = wave_file_finish(&file, rc);
    }
    free(text);
    return rc;
}
