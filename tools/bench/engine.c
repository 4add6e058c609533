/* balefs bench engine: measures from how many bytes in flight a GPU is faster than all cores. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/reason.h"
#include "fs/store/store.h"
#include "tools/balefs.h"
#include "tools/bench/data.h"
#include "tools/bench/engine_beside.h"
#include "tools/bench/engine_report.h"
#include "tools/common/gpu_options.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/size.h"

#define SIZE_MOST ((uint64_t)64 << 30)
#define SECONDS_MOST 600.0
#define RELEASE_NEVER_MS (24 * 60 * 60 * 1000)
#define WATCHDOG_MS 10000

static const char help[] =
    "usage: balefs bench engine [OPTIONS] [FILE]\n"
    "\n"
    "Measures the engines that mounts use, the CPU's with all its threads and the GPU's, each\n"
    "on its own: from memory to memory, with a fixed number of bytes in flight. Prints GB\n"
    "(10^9 bytes) of raw data a second for every codec and direction, and from how many bytes\n"
    "in flight on the GPU is faster. Compares the result with the input before it measures.\n"
    "\n"
    "Compresses copies of FILE, or of extents of a directory, or generated text.\n"
    "\n"
    "      --codec CODEC  as of balefs bench, but not auto; may be given again [every codec\n"
    "                     that mounts have a GPU do]\n"
    "  -g, --gpu N,N...   GPUs to use, by number [the nearest]\n"
    "      --gpu-memory SIZE\n"
    "                     the most memory to use of each GPU, 256M or more [as mount]\n"
    "      --verify WORD  on or off: the GPU decompresses what it has compressed, and\n"
    "                     compares it [on]\n"
    "  -j, --threads N    of the CPU engine [as many as there are CPUs]\n"
    "      --sizes SIZE,SIZE...\n"
    "                     bytes in flight, ascending, whole 128K [1M,8M,32M,128M,512M];\n"
    "                     needs three times the last size in memory\n"
    "      --seconds S    how long each measurement takes [0.5; with --beside 2]\n"
    "      --beside       instead measures how much speed a program that fills the GPU and\n"
    "                     the engine keep when they run at the same time\n"
    "      --svg OUT      also draws a picture into OUT\n"
    "  -f, --force        replaces OUT even if it is not such a picture\n"
    "      --json         an object: data, extent, threads, seconds, gpu (device,\n"
    "                     device_memory, verify; or null, and no_gpu says why), and codecs,\n"
    "                     an array of codec, direction, cpu, gpu (ratio; speeds, an array of\n"
    "                     in_flight, rate, least, most; or null) and gpu_faster_from;\n"
    "                     or instead of codecs: codec, in_flight and beside, an array of\n"
    "                     program, program_rate, direction and engine_rate\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs bench engine --svg engines.svg\n"
    "  balefs bench engine --beside\n"
    "  balefs bench engine --gpu 1 --verify off --sizes 64M,256M run1/field.dat\n"
    "\n"
    "Exit status: 0 done, without a GPU as well but for --beside, 1 failed, 2 wrong usage.\n";

enum {
    OPTION_CODEC = 256,
    OPTION_GPU_MEMORY,
    OPTION_VERIFY,
    OPTION_SIZES,
    OPTION_SECONDS,
    OPTION_BESIDE,
    OPTION_SVG,
    OPTION_JSON
};

static const struct option long_options[] = {
    {"codec", required_argument, NULL, OPTION_CODEC},
    {"gpu", required_argument, NULL, 'g'},
    {"gpu-memory", required_argument, NULL, OPTION_GPU_MEMORY},
    {"verify", required_argument, NULL, OPTION_VERIFY},
    {"threads", required_argument, NULL, 'j'},
    {"sizes", required_argument, NULL, OPTION_SIZES},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"beside", no_argument, NULL, OPTION_BESIDE},
    {"svg", required_argument, NULL, OPTION_SVG},
    {"force", no_argument, NULL, 'f'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct engines {
    struct bale_engine_how how;
    struct bale_engine_bench bench;
    struct bale_engine_row rows[2 * BALE_BENCH_SETTINGS];
    size_t count; /* of rows */
    const char *svg;
    bool json, force, beside;
    struct bale_output picture; /* svg */
    struct bale_progress progress;
    unsigned ticks, all_ticks; /* ticks so far, and how many there will be */
};

/* ---- Options ---- */

/* 0, or the exit code. */
static int take_codec(const struct bale_command *command, struct engines *e)
{
    struct bale_bench_settings *codecs = &e->how.codecs;
    struct bale_reason why;

    if (!bale_bench_settings_add(codecs, optarg, &why))
        return bale_codec_error(command, "--codec %s: %s", optarg, why.text);
    if (codecs->list[codecs->count - 1].codec == BALE_CODEC_AUTO)
        return bale_usage_error(command, "--codec %s: name what it chooses from", optarg);
    return 0;
}

/* 0, or the exit code. */
static int take_gpus(const struct bale_command *command, char *list, struct engines *e)
{
    const char *wrong = NULL;
    char *word;

    e->how.gpu.device_count = 0;
    while (!wrong && (word = strsep(&list, ",")))
        if ((wrong = bale_gpu_number_add(&e->how.gpu, word)))
            return bale_usage_error(command, "--gpu %s: %s", word, wrong);
    return 0;
}

static int take_sizes(const struct bale_command *command, char *list, struct engines *e)
{
    uint64_t before = 0, size;
    char *word;

    e->how.size_count = 0;
    while ((word = strsep(&list, ","))) {
        if (!bale_size_parse(word, &size) || size <= before || size > SIZE_MOST ||
            size % BALE_EXTENT_DEFAULT != 0)
            return bale_usage_error(
                command, "--sizes %s: give sizes in whole 128K, each above the last", word);
        if (e->how.size_count == BALE_ENGINE_SIZES)
            return bale_usage_error(command, "--sizes %s: %d are enough", word, BALE_ENGINE_SIZES);
        e->how.sizes[e->how.size_count++] = before = size;
    }
    return 0;
}

static int take_seconds(const struct bale_command *command, struct engines *e)
{
    char *end;

    e->how.seconds = strtod(optarg, &end);
    return end != optarg && !*end && e->how.seconds > 0 && e->how.seconds <= SECONDS_MOST
               ? 0
               : bale_usage_error(command, "--seconds %s: give seconds, above 0 and up to %g",
                                  optarg, SECONDS_MOST);
}

static int take_gpu_option(const struct bale_command *command, int option, struct engines *e)
{
    const char *wrong;

    if (option == 'g')
        return take_gpus(command, optarg, e);
    if (option == OPTION_GPU_MEMORY) {
        wrong = bale_gpu_memory_parse(&e->how.gpu, optarg);
        return wrong ? bale_usage_error(command, "--gpu-memory %s: %s", optarg, wrong) : 0;
    }
    wrong = bale_gpu_verify_parse(&e->how.gpu.verify, optarg);
    return wrong ? bale_usage_error(command, "--verify %s: %s", optarg, wrong) : 0;
}

/* 0, or the exit code. */
static int take_option(const struct bale_command *command, int option, struct engines *e)
{
    switch (option) {
    case OPTION_CODEC:
        return take_codec(command, e);
    case 'j':
        return bale_count_take(command, "threads", 4096, &e->how.threads);
    case OPTION_SIZES:
        return take_sizes(command, optarg, e);
    case OPTION_SECONDS:
        return take_seconds(command, e);
    case OPTION_SVG:
        e->svg = optarg;
        return strcmp(optarg, "-") != 0
                   ? 0
                   : bale_usage_error(command,
                                      "--svg -: the table is on standard output: name a file");
    case 'f':
        e->force = true;
        return 0;
    case OPTION_BESIDE:
        e->beside = true;
        return 0;
    case OPTION_JSON:
        e->json = true;
        return 0;
    default:
        return take_gpu_option(command, option, e);
    }
}

/* ---- The picture ---- */

/* Opens the picture before anything is measured, which takes a minute. */
static bool open_picture(struct engines *e)
{
    struct stat source = {0};
    const struct bale_output_rules rules = {
        .sources = &source, .count = 1, .replace = e->force, .picture = true};

    if (e->how.file)
        bale_output_source(e->how.file, &source);
    return bale_output_open(e->svg, &rules, &e->picture);
}

static void draw_report(const void *report, FILE *out)
{
    bale_engine_svg(report, out);
}

/* ---- The work ---- */

static void bench_engine_tick(void *argument, const char *text)
{
    struct engines *e = argument;

    bale_progress_bar(&e->progress, e->ticks++, e->all_ticks, text);
}

static void list_rows(struct engines *e)
{
    struct bale_bench_settings settings;

    bale_engine_settings(&e->how, &settings);
    e->count = 2 * settings.count;
    for (size_t i = 0; i < e->count; i++)
        e->rows[i] =
            (struct bale_engine_row){.setting = settings.list[i / 2],
                                     .kind = i % 2 == 0 ? BALE_ITEM_ENCODE : BALE_ITEM_DECODE};
}

static bool measure(struct engines *e)
{
    bool good = true;

    list_rows(e);
    e->all_ticks =
        (unsigned)e->count * e->how.size_count * (e->bench.engines[BALE_SIDE_GPU] ? 2 : 1);
    bale_progress_begin(&e->progress, "");
    for (size_t i = 0; good && i < e->count; i += 2)
        good = bale_engine_measure(&e->bench, &e->rows[i]);
    bale_progress_end(&e->progress);
    if (!good)
        bale_message("%s", e->bench.failure);
    return good;
}

static bool show(struct engines *e, struct bale_engine_report *report)
{
    bool good = true;

    if (!measure(e))
        return false;
    report->rows = e->rows;
    report->count = e->count;
    if (e->json)
        good = bale_engine_print_json(report);
    else
        bale_engine_print(report);
    return (!e->svg || bale_output_draw(&e->picture, draw_report, report)) && good;
}

static bool show_beside(struct engines *e, const struct bale_engine_report *report)
{
    struct bale_beside beside;
    bool good;

    if (!e->bench.engines[BALE_SIDE_GPU]) {
        bale_message("--beside: there is no GPU: %s", e->bench.why.text);
        return false;
    }
    e->all_ticks = BALE_BESIDE_TICKS;
    bale_progress_begin(&e->progress, "");
    good = bale_beside_measure(&e->bench, &beside);
    bale_progress_end(&e->progress);
    if (!good)
        bale_message("%s", e->bench.failure);
    else if (e->json)
        good = bale_beside_print_json(report, &beside);
    else
        bale_beside_print(report, &beside);
    return good;
}

static bool run_engines(struct engines *e)
{
    struct bale_engine_report report = {.bench = &e->bench, .data = "text"};

    if (e->svg && !open_picture(e))
        return false;
    if (!bale_engine_bench_open(&e->how, &e->bench))
        return false;
    if (e->how.file)
        bale_bench_name(e->how.file, report.data, sizeof report.data);
    return e->beside ? show_beside(e, &report) : show(e, &report);
}

/* Sets defaults that depend on other options. With --beside one device must be named, because the
 * program needs to know it. */
static void complete(struct engines *e)
{
    if (e->how.seconds == 0)
        e->how.seconds = e->beside ? 2 : 0.5;
    if (e->beside)
        e->how.gpu.device_count = 1;
}

static int bench_engine_run(const struct bale_command *command, int argc, char **argv)
{
    struct engines e = {
        .how = {.sizes = {1 << 20, 8 << 20, 32 << 20, 128 << 20, 512 << 20},
                .size_count = 5,
                .threads = bale_cpus(),
                .seconds = 0.5,
                .gpu = {.verify = true, .release_ms = RELEASE_NEVER_MS, .watchdog_ms = WATCHDOG_MS},
                .tick = bench_engine_tick,
                .argument = &e},
        .picture = {.fd = -1}};
    int option, status;
    bool good;

    while ((option = bale_options_next(command, argc, argv, ":g:j:fh", long_options)) !=
           BALE_OPTION_END) {
        if (option == BALE_OPTION_BAD || option == BALE_OPTION_HELP)
            return bale_options_status(command, option);
        status = take_option(command, option, &e);
        if (status != 0)
            return status;
    }
    if (argc - optind > 1)
        return bale_usage_error(command, "one FILE at a time");
    if (e.beside && e.svg)
        return bale_usage_error(command,
                                "--beside and --svg contradict each other: it has no picture");
    e.how.file = argv[optind];
    complete(&e);
    good = run_engines(&e);
    bale_output_drop(&e.picture);
    bale_engine_bench_close(&e.bench);
    return good ? BALE_EXIT_DONE : BALE_EXIT_FAILED;
}

const struct bale_command bale_command_bench_engine = {
    .name = "bench engine",
    .summary = "measures the engines of the CPU and of a GPU",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = bench_engine_run,
};
