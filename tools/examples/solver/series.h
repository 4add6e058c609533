/* run.log, energy.csv and receivers.csv: appended line by line and flushed, so that a run can be
 * watched. All functions that return int: 0 or a negative errno, reported. */
#ifndef WAVE_SERIES_H
#define WAVE_SERIES_H

#include <stdio.h>

#include "output.h"
#include "state.h"

struct wave_series {
    FILE *log, *energy, *receivers;
    double started; /* monotonic seconds */
};

/* Rows of steps after `step` are dropped from the tables, so that a continued run does not repeat
 * them; the log keeps all. With step 0 the tables begin empty. Close in any case. */
int wave_series_open(struct wave_series *s, struct wave_output *out, long step);
int wave_series_close(struct wave_series *s);

/* One line, with the seconds since the start before it. */
int wave_series_log(struct wave_series *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

int wave_series_energy(struct wave_series *s, const struct wave_model *m, long step,
                       const struct wave_energy *e);
int wave_series_receivers(struct wave_series *s, const struct wave_model *m,
                          const struct wave_state *state);

/* Monotonic seconds. */
double wave_series_clock(void);

#endif
