#include "series.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report.h"

static const char log_name[] = "run.log", energy_name[] = "energy.csv",
                  receivers_name[] = "receivers.csv";

double wave_series_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const char *what, const char *name)
{
    int rc = errno ? -errno : -EIO;
    char text[96];

    snprintf(text, sizeof text, "cannot %s %s", what, name);
    return wave_report(rc, text);
}

static int open_append(FILE **f, const struct wave_output *out, const char *name, bool empty)
{
    int fd = openat(out->dir, name,
                    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (empty ? O_TRUNC : 0), 0666);

    *f = fd >= 0 ? fdopen(fd, "a") : NULL;
    if (*f)
        return 0;
    int rc = fail("open", name);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Copies the heading and the rows up to `step`, then puts the copy in the table's place. */
static int copy_rows(FILE *old, struct wave_output *out, const char *name, long step)
{
    struct wave_file f;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    off_t at = 0;
    int rc = wave_file_create(&f, out, name, WAVE_FILE_REPLACE);

    while (rc == 0 && (length = getline(&line, &room, old)) > 0) {
        bool whole = line[length - 1] == '\n';
        bool row = line[0] >= '0' && line[0] <= '9';
        if (!whole || (row && strtol(line, NULL, 10) > step))
            continue;
        rc = wave_file_write(&f, line, (size_t)length, at);
        at += length;
    }
    if (rc == 0 && ferror(old))
        rc = fail("read", name);
    free(line);
    return wave_file_finish(&f, rc);
}

static int keep_rows(struct wave_output *out, const char *name, long step)
{
    int fd = openat(out->dir, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? 0 : fail("open", name);
    FILE *old = fdopen(fd, "r");
    if (!old) {
        int rc = fail("read", name);
        close(fd);
        return rc;
    }
    int rc = copy_rows(old, out, name, step);
    fclose(old);
    return rc;
}

static int put(FILE *f, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int put(FILE *f, const char *name, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    errno = 0;
    int written = vfprintf(f, format, ap);
    va_end(ap);
    return written < 0 || ferror(f) ? fail("write", name) : 0;
}

static int flush(FILE *f, const char *name)
{
    errno = 0;
    return fflush(f) == 0 ? 0 : fail("write", name);
}

static int open_table(FILE **f, struct wave_output *out, const char *name, long step,
                      const char *heading)
{
    int rc = step > 0 ? keep_rows(out, name, step) : 0;

    if (rc == 0)
        rc = open_append(f, out, name, step == 0);
    if (rc == 0 && fseeko(*f, 0, SEEK_END) == 0 && ftello(*f) == 0)
        rc = put(*f, name, "%s", heading);
    return rc == 0 ? flush(*f, name) : rc;
}

int wave_series_open(struct wave_series *s, struct wave_output *out, long step)
{
    *s = (struct wave_series){.started = wave_series_clock()};
    char heading[256];
    int length = snprintf(heading, sizeof heading, "step,time_s");
    for (int i = 0; i < WAVE_RECEIVERS; i++)
        length += snprintf(heading + length, sizeof heading - (size_t)length, ",u%d_pa", i);
    snprintf(heading + length, sizeof heading - (size_t)length, "\n");
    int rc = open_append(&s->log, out, log_name, step == 0);
    if (rc == 0)
        rc = open_table(&s->receivers, out, receivers_name, step, heading);
    if (rc == 0)
        rc = open_table(&s->energy, out, energy_name, step,
                        "step,time_s,kinetic,potential,peak_pa,heat,heat_peak_k\n");
    return rc;
}

static int close_one(FILE **f, const char *name, int rc)
{
    errno = 0;
    if (*f && fclose(*f) != 0 && rc == 0)
        rc = fail("close", name);
    *f = NULL;
    return rc;
}

int wave_series_close(struct wave_series *s)
{
    int rc = close_one(&s->log, log_name, 0);

    rc = close_one(&s->energy, energy_name, rc);
    return close_one(&s->receivers, receivers_name, rc);
}

int wave_series_log(struct wave_series *s, const char *format, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    int rc = put(s->log, log_name, "[%10.3f] %s\n", wave_series_clock() - s->started, text);
    return rc == 0 ? flush(s->log, log_name) : rc;
}

int wave_series_energy(struct wave_series *s, const struct wave_model *m, long step,
                       const struct wave_energy *e)
{
    int rc = put(s->energy, energy_name, "%ld,%.9g,%.12g,%.12g,%.9g,%.12g,%.9g\n", step,
                 (double)step * m->dt, e->kinetic, e->potential, e->peak, e->heat_sum, e->heat_max);

    return rc == 0 ? flush(s->energy, energy_name) : rc;
}

int wave_series_receivers(struct wave_series *s, const struct wave_model *m,
                          const struct wave_state *state)
{
    int rc =
        put(s->receivers, receivers_name, "%ld,%.9g", state->step, (double)state->step * m->dt);

    for (int i = 0; rc == 0 && i < WAVE_RECEIVERS; i++) {
        const int *at = m->receivers[i];
        rc = put(s->receivers, receivers_name, ",%.7g",
                 state->now[wave_grid_index(&state->grid, at[0], at[1], at[2])]);
    }
    if (rc == 0)
        rc = put(s->receivers, receivers_name, "\n");
    return rc == 0 ? flush(s->receivers, receivers_name) : rc;
}
