#define _GNU_SOURCE /* sched_getaffinity */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "report.h"
#include "team.h"

enum { STEPS_MAX = 10000000, MIB_MAX = 16 << 20 };

enum {
    OPT_SIZE = 256,
    OPT_STEPS,
    OPT_OUT,
    OPT_THREADS,
    OPT_SNAPSHOT,
    OPT_CHECKPOINT,
    OPT_SEED,
    OPT_TOTAL,
    OPT_RESTART,
    OPT_VERIFY
};

static const struct option long_options[] = {
    {"size", required_argument, NULL, OPT_SIZE},
    {"steps", required_argument, NULL, OPT_STEPS},
    {"out", required_argument, NULL, OPT_OUT},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"snapshot-every", required_argument, NULL, OPT_SNAPSHOT},
    {"checkpoint-every", required_argument, NULL, OPT_CHECKPOINT},
    {"seed", required_argument, NULL, OPT_SEED},
    {"total-mib", required_argument, NULL, OPT_TOTAL},
    {"restart", required_argument, NULL, OPT_RESTART},
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void wave_options_help(void)
{
    fputs("usage: bale-solver --out DIR [options]\n"
          "       bale-solver --restart FILE --out DIR [options]\n"
          "       bale-solver --verify [--threads N]\n"
          "\n"
          "Sound waves in a layered subsurface and the heat they leave, in three dimensions. "
          "Writes into DIR what\n"
          "simulations write: fields (field_u_STEP.f32), checkpoints (checkpoint_STEP.f64), tables "
          "(energy.csv,\n"
          "receivers.csv), a log (run.log) and a description (meta.json).\n"
          "\n"
          "  --out DIR             where to write; made when missing\n"
          "  --size N              N^3 points, 16 to 1024 [176]\n"
          "  --steps N             step to run to, counted from the beginning also after a restart "
          "[1000]\n"
          "  --threads N           [the processors this process may use]; the results do not "
          "depend on it\n"
          "  --snapshot-every N    steps between fields, 0 for none [steps / 20]\n"
          "  --checkpoint-every N  steps between checkpoints, 0 for none [steps / 2]\n"
          "  --total-mib N         instead of --snapshot-every: write as many fields as make N MiB "
          "in all\n"
          "  --seed N              of the subsurface and its events [1]\n"
          "  --restart FILE        go on from a checkpoint, to bit-identical results\n"
          "  --verify              compare with analytic solutions, write nothing\n"
          "  --help\n"
          "\n"
          "Exit status: 0 done, 1 failed, 2 wrong usage.\n",
          stdout);
}

static int number(const char *option, const char *text, long long low, long long high,
                  long long *out)
{
    char *end;

    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < low || value > high) {
        wave_complain("--%s %s: give a whole number from %lld to %lld", option, text, low, high);
        return -EINVAL;
    }
    *out = value;
    return 0;
}

static int processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

    return n < WAVE_THREADS_MAX ? n : WAVE_THREADS_MAX;
}

static uint64_t count(long steps, long every)
{
    return every > 0 ? (uint64_t)(steps / every) : 0;
}

static uint64_t points(const struct wave_options *o)
{
    uint64_t n = (uint64_t)o->size;

    return n * n * n;
}

uint64_t wave_options_bytes(const struct wave_options *o)
{
    uint64_t fields = 1 + count(o->steps, o->snapshot_every),
             checkpoints = count(o->steps, o->checkpoint_every);

    return points(o) * (4 * fields + 3 * 8 * checkpoints);
}

/* The longest interval that still writes enough snapshots. */
static int spread_snapshots(struct wave_options *o, uint64_t mib)
{
    o->snapshot_every = 0;
    uint64_t rest = wave_options_bytes(o), wanted = mib << 20;
    if (rest >= wanted)
        return 0;
    uint64_t each = 4 * points(o), needed = (wanted - rest + each - 1) / each;
    if (needed > (uint64_t)o->steps) {
        wave_complain("--total-mib %llu: more than a field a step: raise --size or --steps",
                      (unsigned long long)mib);
        return -EINVAL;
    }
    o->snapshot_every = o->steps / (long)needed;
    return 0;
}

static int check(struct wave_options *o, long long total_mib, bool snapshot_given)
{
    if (o->verify || o->help)
        return 0;
    if (!o->out) {
        wave_complain("--out is missing: name a directory to write to");
        return -EINVAL;
    }
    if (total_mib >= 0 && snapshot_given) {
        wave_complain(
            "--total-mib and --snapshot-every both say how many fields to write: give one of them");
        return -EINVAL;
    }
    if (total_mib >= 0)
        return spread_snapshots(o, (uint64_t)total_mib);
    return 0;
}

static int apply(struct wave_options *o, int option, const char *name, const char *text,
                 long long *value)
{
    static const struct {
        int option;
        long long low, high;
    } limits[] = {
        {OPT_SIZE, WAVE_SIZE_MIN, WAVE_SIZE_MAX},
        {OPT_STEPS, 1, STEPS_MAX},
        {OPT_THREADS, 1, WAVE_THREADS_MAX},
        {OPT_SNAPSHOT, 0, STEPS_MAX},
        {OPT_CHECKPOINT, 0, STEPS_MAX},
        {OPT_SEED, 0, INT64_MAX},
        {OPT_TOTAL, 0, MIB_MAX},
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].option == option)
            return number(name, text, limits[i].low, limits[i].high, value);
    switch (option) {
    case OPT_OUT:
        o->out = text;
        return 0;
    case OPT_RESTART:
        o->restart = text;
        return 0;
    case OPT_VERIFY:
        o->verify = true;
        return 0;
    case 'h':
        o->help = true;
        return 0;
    default:
        return -EINVAL; /* getopt has printed a message */
    }
}

int wave_options_parse(struct wave_options *o, int argc, char **argv)
{
    *o = (struct wave_options){.size = 176, .steps = 1000, .threads = processors(), .seed = 1};
    long long snapshot = -1, checkpoint = -1, total_mib = -1;
    int option, index = 0;
    while ((option = getopt_long(argc, argv, "h", long_options, &index)) != -1) {
        long long value = 0;
        int rc = apply(o, option, option > 255 ? long_options[index].name : "", optarg, &value);
        if (rc != 0)
            return rc;
        switch (option) {
        case OPT_SIZE:
            o->size = (int)value, o->size_given = true;
            break;
        case OPT_STEPS:
            o->steps = (long)value;
            break;
        case OPT_THREADS:
            o->threads = (int)value;
            break;
        case OPT_SEED:
            o->seed = (uint64_t)value, o->seed_given = true;
            break;
        case OPT_SNAPSHOT:
            snapshot = value;
            break;
        case OPT_CHECKPOINT:
            checkpoint = value;
            break;
        case OPT_TOTAL:
            total_mib = value;
            break;
        default:
            break;
        }
    }
    if (optind < argc) {
        wave_complain("%s: not an option: see --help", argv[optind]);
        return -EINVAL;
    }
    o->snapshot_every = snapshot >= 0 ? (long)snapshot : o->steps < 20 ? 1 : o->steps / 20;
    o->checkpoint_every = checkpoint >= 0 ? (long)checkpoint : o->steps < 2 ? 1 : o->steps / 2;
    return check(o, total_mib, snapshot >= 0);
}
