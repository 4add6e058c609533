#include "tools/bench/engine_beside.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "kernels/engine/plugin_loader.h"
#include "kernels/frame/setting.h"
#include "tools/common/json.h"
#include "tools/common/program.h"
#include "tools/common/size.h"

#define PROGRAM "bale_gpu_filler"

enum { PROGRAMS = 2, DIRECTIONS = 2 };

static const char *const programs[PROGRAMS] = {"compute", "memory"};

/* What the program reported: its rate, and when it ran. */
struct program_run {
    double rate;
    char unit[16];
    uint64_t begin, end;
};

static void tick(const struct bale_engine_bench *bench, const char *text)
{
    bench->how->tick(bench->how->argument, text);
}

/* ---- The program ---- */

static bool parse(const char *said, struct program_run *run)
{
    json_t *object = json_loads(said, 0, NULL);
    const char *unit = NULL;
    json_int_t begin = 0, end = 0;
    bool good = object && json_unpack(object, "{s:F,s:s,s:I,s:I}", "rate", &run->rate, "unit",
                                      &unit, "begin", &begin, "end", &end) == 0;

    if (good)
        snprintf(run->unit, sizeof run->unit, "%s", unit);
    run->begin = (uint64_t)begin;
    run->end = (uint64_t)end;
    json_decref(object);
    return good && run->rate > 0 && begin < end;
}

static bool run_program(struct bale_engine_bench *bench, const char *name, struct program_run *run)
{
    char path[PATH_MAX], seconds[32], device[16], said[1024];
    char *words[] = {path, (char *)name, seconds, device, NULL};
    int status;

    snprintf(seconds, sizeof seconds, "%g", bench->how->seconds);
    snprintf(device, sizeof device, "%d", bench->how->gpu.devices[0]);
    if (!bale_plugin_sibling(bench->gpu, PROGRAM, path, sizeof path))
        return bale_engine_fail(bench, PROGRAM ": the directory of the GPU's plug-in is unknown");
    status = bale_program_run(words, STDOUT_FILENO, said, sizeof said);
    if (status < 0)
        return bale_engine_fail(bench, "%s: cannot be run: %s", path,
                                errno ? strerror(errno) : "a signal ended it");
    if (status > 0)
        return bale_engine_fail(bench, "%s: ended with status %d", path, status);
    return parse(said, run) ||
           bale_engine_fail(bench,
                            "%s: does not report its rate: it belongs to another version of balefs",
                            path);
}

/* ---- Measuring ---- */

/* Whether the setting is measured if the user names none: codecs of other libraries, and store. */
static bool is_default(struct bale_setting setting)
{
    const struct bale_codec_about *about = bale_codec_about(setting.codec);

    return about->closed || about->built_in;
}

/* Chooses the last of the codecs that the user names, or of the default ones, and checks it. */
static bool choose(struct bale_engine_bench *bench, struct bale_engine_row rows[DIRECTIONS])
{
    const bool any = bench->how->codecs.count > 0;
    struct bale_bench_settings settings;

    bale_engine_settings(bench->how, &settings);
    for (size_t i = settings.count; i > 0; i--) {
        const struct bale_setting setting = settings.list[i - 1];
        if (!any && !is_default(setting))
            continue;
        rows[0] = (struct bale_engine_row){.setting = setting, .kind = BALE_ITEM_ENCODE};
        rows[1] = (struct bale_engine_row){.setting = setting, .kind = BALE_ITEM_DECODE};
        if (!bale_engine_check(bench, BALE_SIDE_GPU, rows))
            return false;
        if (rows[0].sides[BALE_SIDE_GPU].taken && rows[1].sides[BALE_SIDE_GPU].taken)
            return true;
    }
    return bale_engine_fail(bench, "--beside: the GPU does no codec both ways");
}

static struct bale_flight_how flight_of(const struct bale_engine_bench *bench)
{
    const struct bale_engine_how *how = bench->how;

    return bale_engine_flight(bench, BALE_SIDE_GPU, how->sizes[how->size_count - 1]);
}

static bool engine_alone(struct bale_engine_bench *bench, const struct bale_engine_row *row,
                         double *rate)
{
    struct bale_flight_how flight = flight_of(bench);
    struct bale_flight_rate found;
    int err;

    tick(bench, "the engine alone");
    bale_engine_prepare(bench, row);
    err = bale_flight_measure(&flight, bench->how->seconds, &found);
    *rate = found.rate;
    return bale_engine_good(bench, BALE_SIDE_GPU, row, err);
}

/* Keeps the engine busy until the program has ended; only the time of the program counts. */
static bool together(struct bale_engine_bench *bench, const struct bale_engine_row *row,
                     const char *name, struct program_run *run, double *rate)
{
    struct bale_flight_how how = flight_of(bench);
    struct bale_flight *flight = NULL;
    struct bale_flight_rate found = {0};
    bool good;
    int err;

    tick(bench, "both together");
    bale_engine_prepare(bench, row);
    err = bale_flight_begin(&how, &flight);
    good = err == BALE_OK && run_program(bench, name, run);
    if (good) {
        bale_flight_wait(flight, 0);
        bale_flight_rate(flight, run->begin, run->end, &found);
    }
    if (err == BALE_OK)
        err = bale_flight_end(flight);
    *rate = found.rate;
    return bale_engine_good(bench, BALE_SIDE_GPU, row, err) && good;
}

bool bale_beside_measure(struct bale_engine_bench *bench, struct bale_beside *beside)
{
    struct bale_engine_row rows[DIRECTIONS];
    double engine[DIRECTIONS];
    struct program_run alone = {0}, run = {0};

    if (!choose(bench, rows) || !engine_alone(bench, &rows[0], &engine[0]) ||
        !engine_alone(bench, &rows[1], &engine[1]))
        return false;
    beside->setting = rows[0].setting;
    for (int i = 0; i < BALE_BESIDE_ROWS; i++) {
        struct bale_beside_row *row = &beside->rows[i];
        int direction = i % DIRECTIONS;
        *row = (struct bale_beside_row){.program = programs[i / DIRECTIONS],
                                        .kind = rows[direction].kind};
        if (direction == 0) {
            tick(bench, "the program alone");
            if (!run_program(bench, row->program, &alone))
                return false;
        }
        row->engine_rate.alone = engine[direction];
        if (!together(bench, &rows[direction], row->program, &run, &row->engine_rate.together))
            return false;
        row->program_rate = (struct bale_beside_rate){alone.rate, run.rate};
        memcpy(row->unit, run.unit, sizeof row->unit);
    }
    return true;
}

/* ---- Printing ---- */

static double left(struct bale_beside_rate rate)
{
    return rate.alone > 0 ? rate.together / rate.alone : 0;
}

void bale_beside_print(const struct bale_engine_report *report, const struct bale_beside *beside)
{
    const struct bale_engine_how *how = report->bench->how;
    char gpu[2 * BALE_REASON_SIZE], size[BALE_TEXT], text[BALE_SETTING_TEXT];

    bale_engine_gpu_text(report->bench, gpu, sizeof gpu);
    bale_setting_print(beside->setting, text, sizeof text);
    printf("%s, %s, %s in flight, beside a program that fills the GPU; %g s each\nGPU: %s\n\n",
           report->data, text, bale_size_text(how->sizes[how->size_count - 1], size), how->seconds,
           gpu);
    printf("%-8s %10s %10s %6s %-8s  %-7s %8s %10s %6s\n", "program", "alone", "together", "left",
           "", "engine", "alone", "together", "left");
    for (int i = 0; i < BALE_BESIDE_ROWS; i++) {
        const struct bale_beside_row *row = &beside->rows[i];
        printf("%-8s %10.0f %10.0f %6.2f %-8s  %-7s %8.2f %10.2f %6.2f GB/s\n", row->program,
               row->program_rate.alone, row->program_rate.together, left(row->program_rate),
               row->unit, bale_engine_direction(row->kind), row->engine_rate.alone / 1e9,
               row->engine_rate.together / 1e9, left(row->engine_rate));
    }
}

static json_t *rate_json(struct bale_beside_rate rate, double unit)
{
    json_t *object = json_object();

    json_object_set_new(object, "alone", json_real(rate.alone / unit));
    json_object_set_new(object, "together", json_real(rate.together / unit));
    json_object_set_new(object, "left", json_real(left(rate)));
    return object;
}

static json_t *row_json(const struct bale_beside_row *row)
{
    json_t *object = json_object(), *program = rate_json(row->program_rate, 1);

    bale_json_text(program, "unit", row->unit);
    bale_json_text(object, "program", row->program);
    json_object_set_new(object, "program_rate", program);
    bale_json_text(object, "direction", bale_engine_direction(row->kind));
    json_object_set_new(object, "engine_rate", rate_json(row->engine_rate, 1e9));
    return object;
}

bool bale_beside_print_json(const struct bale_engine_report *report,
                            const struct bale_beside *beside)
{
    const struct bale_engine_how *how = report->bench->how;
    json_t *object = bale_engine_json(report), *rows = json_array();
    char text[BALE_SETTING_TEXT];

    bale_setting_print(beside->setting, text, sizeof text);
    bale_json_text(object, "codec", text);
    bale_json_count(object, "in_flight", how->sizes[how->size_count - 1]);
    for (int i = 0; i < BALE_BESIDE_ROWS; i++)
        json_array_append_new(rows, row_json(&beside->rows[i]));
    json_object_set_new(object, "beside", rows);
    return bale_json_print(object);
}
