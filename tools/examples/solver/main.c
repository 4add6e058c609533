/* bale-solver: a simulation for the demo, which is not linked to balefs. It writes as simulations
 * do, and checks every write. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "checkpoint.h"
#include "dump.h"
#include "options.h"
#include "report.h"
#include "series.h"
#include "verify.h"

enum { ENERGY_EVERY = 10 };

struct run {
    struct wave_options options;
    struct wave_team *team;
    struct wave_model model;
    struct wave_state state;
    struct wave_output out;
    struct wave_series series;
    double shown; /* when progress was last shown */
};

static bool due(long step, long every)
{
    return every > 0 && step % every == 0;
}

static void show_progress(struct run *r, long first)
{
    double now = wave_series_clock(), spent = now - r->series.started;
    long step = r->state.step, last = r->options.steps;

    if (!isatty(STDERR_FILENO) || (now - r->shown < 0.2 && step < last))
        return;
    r->shown = now;
    double left = spent * (double)(last - step) / (double)(step - first);
    fprintf(stderr, "\rbale-solver: step %ld of %ld, %.0f MiB written, %.0f s left   %s", step,
            last, (double)r->out.bytes / 1048576, left, step == last ? "\n" : "");
}

/* A continued run takes size and seed from its checkpoint. */
static int take_restart(struct wave_options *o, struct wave_checkpoint *c)
{
    int rc = wave_checkpoint_peek(o->restart, c);

    if (rc != 0)
        return rc;
    if ((o->size_given && o->size != c->size) || (o->seed_given && o->seed != c->seed)) {
        wave_complain("%s: made with --size %d --seed %llu: leave those options out", o->restart,
                      c->size, (unsigned long long)c->seed);
        return -EINVAL;
    }
    if (o->steps <= c->step) {
        wave_complain("%s: already at step %ld: give --steps more than that", o->restart, c->step);
        return -EINVAL;
    }
    o->size = c->size;
    o->seed = c->seed;
    return 0;
}

static int prepare(struct run *r)
{
    struct wave_options *o = &r->options;
    struct wave_checkpoint c = {0};
    int rc = o->restart ? take_restart(o, &c) : 0;

    if (rc != 0)
        return rc;
    rc = wave_model_create(&r->model, o->size, o->seed, r->team);
    if (rc == 0)
        rc = wave_state_create(&r->state, o->size);
    if (rc != 0)
        return wave_report(rc, "no memory for the fields");
    if (o->restart)
        rc = wave_checkpoint_read(o->restart, &c, &r->state, r->team);
    if (rc == 0)
        rc = wave_output_open(&r->out, o->out);
    if (rc == 0)
        rc = wave_series_open(&r->series, &r->out, r->state.step);
    if (rc == 0)
        rc = wave_series_log(&r->series, "%s: size %d, seed %llu, steps %ld to %ld, %d threads",
                             o->restart ? "restart" : "start", o->size, (unsigned long long)o->seed,
                             r->state.step, o->steps, wave_team_threads(r->team));
    if (rc == 0)
        rc = wave_dump_meta(&r->out, &r->model, o->seed);
    if (rc == 0 && !o->restart)
        rc = wave_dump_velocity(&r->out, &r->model);
    return rc;
}

static int write_fields(struct run *r)
{
    char name[64];
    int rc = 0;

    if (due(r->state.step, r->options.snapshot_every)) {
        rc = wave_dump_snapshot(&r->out, &r->state, name);
        if (rc == 0)
            rc = wave_series_log(&r->series, "wrote %s", name);
    }
    if (rc == 0 && due(r->state.step, r->options.checkpoint_every)) {
        rc = wave_checkpoint_write(&r->out, &r->state, r->options.seed, name);
        if (rc == 0)
            rc = wave_series_log(&r->series, "wrote %s", name);
    }
    return rc;
}

static int one_step(struct run *r)
{
    double begin = wave_series_clock();

    wave_state_step(&r->state, &r->model, r->team);
    double took = wave_series_clock() - begin;
    int rc = wave_series_receivers(&r->series, &r->model, &r->state);
    if (rc == 0 && due(r->state.step, ENERGY_EVERY)) {
        struct wave_energy e;
        rc = wave_state_energy(&r->state, &r->model, r->team, &e);
        if (rc != 0)
            return wave_report(rc, "no memory for the energy");
        rc = wave_series_energy(&r->series, &r->model, r->state.step, &e);
        if (rc == 0)
            rc = wave_series_log(&r->series,
                                 "energy kinetic %.6g potential %.6g heat %.6g peak %.4g Pa",
                                 e.kinetic, e.potential, e.heat_sum, e.peak);
    }
    if (rc == 0)
        rc = wave_series_log(&r->series, "step %ld t %.6f s, took %.2f ms", r->state.step,
                             (double)r->state.step * r->model.dt, 1e3 * took);
    return rc;
}

static int simulate(struct run *r)
{
    int rc = prepare(r);
    long first = r->state.step;

    while (rc == 0 && r->state.step < r->options.steps) {
        rc = one_step(r);
        if (rc == 0)
            rc = write_fields(r);
        if (rc == 0)
            show_progress(r, first);
    }
    if (rc == 0)
        rc = wave_series_log(&r->series, "done: %.1f MiB of fields and checkpoints in %.1f s",
                             (double)r->out.bytes / 1048576,
                             wave_series_clock() - r->series.started);
    int closed = wave_series_close(&r->series);
    return rc != 0 ? rc : closed;
}

int main(int argc, char **argv)
{
    struct run r = {.out.dir = -1};

    if (wave_options_parse(&r.options, argc, argv) != 0)
        return 2;
    if (r.options.help) {
        wave_options_help();
        return 0;
    }
    int rc = wave_team_create(r.options.threads, &r.team);
    if (rc != 0)
        wave_report(rc, "cannot start threads");
    else
        rc = r.options.verify ? wave_verify(r.team) : simulate(&r);
    wave_output_close(&r.out);
    wave_state_destroy(&r.state);
    wave_model_destroy(&r.model);
    wave_team_destroy(r.team);
    if (fflush(stdout) != 0)
        rc = -EIO;
    return rc == 0 ? 0 : rc == -EINVAL ? 2 : 1;
}
