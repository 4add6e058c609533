#include "checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum { HEADER = 512, ARRAYS = 3 };
static const uint64_t sum_start = 0xcbf29ce484222325ULL;

static uint64_t sum_add(uint64_t sum, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, &values[i], sizeof word);
        sum = (sum ^ word) * 0x100000001b3ULL;
    }
    return sum;
}

static uint64_t array_bytes(int n)
{
    return (uint64_t)n * (uint64_t)n * (uint64_t)n * sizeof(double);
}

static int write_arrays(struct wave_file *f, const struct wave_state *s, double *plane)
{
    int n = s->grid.n;
    size_t row = (size_t)n, count = row * row;
    const double *arrays[ARRAYS] = {s->now, s->before, s->heat};
    off_t at = HEADER;

    for (int a = 0; a < ARRAYS; a++) {
        for (int z = 0; z < n; z++) {
            for (int y = 0; y < n; y++)
                memcpy(plane + (size_t)y * row, arrays[a] + wave_grid_index(&s->grid, 0, y, z),
                       row * sizeof *plane);
            int rc = wave_file_write(f, plane, count * sizeof *plane, at);
            if (rc != 0)
                return rc;
            at += (off_t)(count * sizeof *plane);
        }
    }
    return 0;
}

/* Sums what the file has: a file system may have rounded it within the bound that it was given. */
static int sum_arrays(struct wave_file *f, int n, double *plane, uint64_t *sum)
{
    size_t count = (size_t)n * (size_t)n;
    off_t at = HEADER;

    *sum = sum_start;
    for (int i = 0; i < ARRAYS * n; i++) {
        int rc = wave_file_read(f, plane, count * sizeof *plane, at);
        if (rc != 0)
            return rc;
        *sum = sum_add(*sum, plane, count);
        at += (off_t)(count * sizeof *plane);
    }
    return 0;
}

/* The header is empty until everything else is there: a file without the checksum is not a valid
 * checkpoint. */
static int write_all(struct wave_file *f, const struct wave_state *s, uint64_t seed, double *plane)
{
    int n = s->grid.n;
    char header[HEADER] = {0};
    uint64_t sum = 0;
    int rc = wave_file_write(f, header, sizeof header, 0);

    if (rc == 0)
        rc = write_arrays(f, s, plane);
    if (rc == 0)
        rc = sum_arrays(f, n, plane, &sum);
    if (rc != 0)
        return rc;
    snprintf(header, sizeof header,
             "bale-solver checkpoint 1\nsize %d\nseed %" PRIu64 "\nstep %ld\nsum %016" PRIx64 "\n",
             n, seed, s->step, sum);
    return wave_file_write(f, header, sizeof header, 0);
}

int wave_checkpoint_write(struct wave_output *out, const struct wave_state *s, uint64_t seed,
                          char name[64])
{
    struct wave_file f;
    size_t n = (size_t)s->grid.n;

    snprintf(name, 64, "checkpoint_%04ld.f64", s->step);
    double *plane = malloc(n * n * sizeof *plane);
    if (!plane)
        return wave_report(-ENOMEM, "no memory to write a checkpoint");
    int rc = wave_file_create(&f, out, name, WAVE_FILE_REPLACE);
    if (rc == 0)
        rc = write_all(&f, s, seed, plane);
    rc = wave_file_finish(&f, rc);
    free(plane);
    return rc;
}

static int not_a_checkpoint(const char *path, const char *why)
{
    wave_complain("%s: %s: give --restart a whole checkpoint_STEP.f64", path, why);
    return -EBADMSG;
}

static FILE *open_to_read(const char *path, int *rc)
{
    FILE *f = fopen(path, "rbe");

    *rc = f ? 0 : wave_report(-errno, path);
    return f;
}

static int parse_header(const char *path, const char *header, struct wave_checkpoint *c)
{
    int end = 0;
    int got =
        sscanf(header,
               "bale-solver checkpoint 1\nsize %d\nseed %" SCNu64 "\nstep %ld\nsum %" SCNx64 "\n%n",
               &c->size, &c->seed, &c->step, &c->sum, &end);

    if (got != 4 || end == 0)
        return not_a_checkpoint(path, "not a checkpoint");
    if (c->size < WAVE_SIZE_MIN || c->size > WAVE_SIZE_MAX || c->step < 0 || c->step == LONG_MAX)
        return not_a_checkpoint(path, "its size or step cannot be");
    return 0;
}

int wave_checkpoint_peek(const char *path, struct wave_checkpoint *c)
{
    int rc;
    FILE *f = open_to_read(path, &rc);

    if (!f)
        return rc;
    char header[HEADER + 1] = {0};
    if (fread(header, HEADER, 1, f) != 1)
        rc = ferror(f) ? wave_report(-EIO, path) : not_a_checkpoint(path, "too short");
    if (rc == 0)
        rc = parse_header(path, header, c);
    if (rc == 0 && fseeko(f, 0, SEEK_END) != 0)
        rc = wave_report(-errno, path);
    if (rc == 0 && (uint64_t)ftello(f) != HEADER + ARRAYS * array_bytes(c->size))
        rc = not_a_checkpoint(path, "incomplete");
    fclose(f);
    return rc;
}

static int read_arrays(FILE *f, const char *path, const struct wave_checkpoint *c,
                       struct wave_state *s)
{
    int n = s->grid.n;
    double *arrays[ARRAYS] = {s->now, s->before, s->heat};
    uint64_t sum = sum_start;

    if (fseeko(f, HEADER, SEEK_SET) != 0)
        return wave_report(-errno, path);
    for (int a = 0; a < ARRAYS; a++) {
        for (int z = 0; z < n; z++) {
            for (int y = 0; y < n; y++) {
                double *row = arrays[a] + wave_grid_index(&s->grid, 0, y, z);
                if (fread(row, sizeof *row, (size_t)n, f) != (size_t)n)
                    return wave_report(-EIO, path);
                sum = sum_add(sum, row, (size_t)n);
            }
        }
    }
    return sum == c->sum ? 0 : not_a_checkpoint(path, "damaged: its sum differs");
}

int wave_checkpoint_read(const char *path, const struct wave_checkpoint *c, struct wave_state *s,
                         struct wave_team *team)
{
    int rc;
    FILE *f = open_to_read(path, &rc);

    if (!f)
        return rc;
    rc = read_arrays(f, path, c, s);
    fclose(f);
    s->step = c->step;
    wave_state_mirror(s, team);
    return rc;
}
