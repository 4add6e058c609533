/* balefs bench: measures ratio and speed of codecs on the user's data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"
#include "kernels/engine/engine.h"
#include "kernels/engine/plugin_loader.h"
#include "kernels/frame/setting.h"
#include "tools/balefs.h"
#include "tools/bench/data.h"
#include "tools/bench/gpu.h"
#include "tools/bench/measure.h"
#include "tools/bench/report.h"
#include "tools/bench/sample.h"
#include "tools/bench/settings.h"
#include "tools/bench/svg.h"
#include "tools/common/gpu_options.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/size.h"

static const char help[] =
    "usage: balefs bench [OPTIONS] PATH...\n"
    "       balefs bench engine [OPTIONS] [FILE]\n"
    "\n"
    "Compresses the bytes of files, and of directories with everything below them, in memory\n"
    "with one codec after the other, as a mount would, and decompresses them. Prints ratio\n"
    "and speed: MB (10^6 bytes) of raw data a second on one core, on all cores and, if there\n"
    "is a GPU, by its kernels on the first part (128 MiB in chunks of 64K) in its memory,\n"
    "where zstd and lz4 are nvCOMP's. Compares the result with the input. With cusz the\n"
    "elements are rounded first; on the GPU this is part of the time.\n"
    "\n"
    "balefs bench engine measures a GPU as mounts use it: balefs bench engine --help.\n"
    "\n"
    "      --codec CODEC  {codecs}\n"
    "                     (balefs help codecs); may be given again [a selection of all there\n"
    "                     are]\n"
    "  -e, --extent SIZE  bytes that become one frame [128K]: 16K to 64M, in steps of 4K\n"
    "      --chunk SIZE   bytes of a frame compressed together [64K]: 4K to 64M, a power\n"
    "                     of two\n"
    "  -l, --limit SIZE   takes SIZE bytes at most [256M], as whole extents that are spread\n"
    "                     evenly over all files; needs three times as much memory,\n"
    "                     and with cusz four times\n"
    "  -r, --runs N       measures each N times and prints the median [5]; a slow codec is\n"
    "                     measured less often\n"
    "  -j, --threads N    what \"all cores\" means [as many as there are CPUs]\n"
    "      --engine WORD  auto: with the GPU, if there is one; cpu: without it; gpu: fails if\n"
    "                     there is none [auto]\n"
    "      --svg OUT      also draws a picture into OUT\n"
    "  -f, --force        replaces OUT even if it is not such a picture\n"
    "      --json         an object: bytes, of (the bytes of all files), files, extent, chunk,\n"
    "                     runs, threads, gpu (its name or null), and codecs, an array of\n"
    "                     codec, stored, ratio, frames, one, all and gpu (compress,\n"
    "                     decompress: MB/s; of the last also bytes and ratio, of cusz rounding\n"
    "                     alone, and it is there only if the GPU has the codec)\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs bench --svg codecs.svg run1\n"
    "  balefs bench --codec lz4 --codec zstd:3 --extent 1M field.h5\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

enum { OPTION_CODEC = 256, OPTION_CHUNK, OPTION_ENGINE, OPTION_SVG, OPTION_JSON };

static const struct option long_options[] = {
    {"codec", required_argument, NULL, OPTION_CODEC},
    {"extent", required_argument, NULL, 'e'},
    {"chunk", required_argument, NULL, OPTION_CHUNK},
    {"limit", required_argument, NULL, 'l'},
    {"runs", required_argument, NULL, 'r'},
    {"threads", required_argument, NULL, 'j'},
    {"engine", required_argument, NULL, OPTION_ENGINE},
    {"svg", required_argument, NULL, OPTION_SVG},
    {"force", no_argument, NULL, 'f'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct bench {
    struct bale_bench_how how;
    struct bale_bench_settings settings;
    struct bale_bench_result results[BALE_BENCH_SETTINGS];
    enum bale_engine_choice engine;
    char gpu[BALE_GPU_NAME]; /* "": there is no GPU */
    const char *svg;
    bool json, force;
    struct bale_output picture; /* of svg */
    int names;
    struct bale_bench_sample sample;
    struct bale_bench_data *data;
    struct bale_progress progress;
    unsigned ticks;     /* ticks so far */
    unsigned gpu_ticks; /* the most ticks that the GPU's trials make */
};

static int take_size(const struct bale_command *command, int option, struct bench *bench)
{
    uint64_t limit;

    switch (option) {
    case 'e':
        return bale_extent_size_parse(optarg, &bench->how.extent)
                   ? 0
                   : bale_usage_error(command, "--extent %s: it is 16K to 64M, in steps of 4K",
                                      optarg);
    case OPTION_CHUNK:
        return bale_chunk_parse(optarg, &bench->how.chunk_log2)
                   ? 0
                   : bale_usage_error(command, "--chunk %s: it is a power of two from 4K to 64M",
                                      optarg);
    default:
        if (!bale_size_parse(optarg, &limit) || limit == 0 || limit > SIZE_MAX / 8)
            return bale_usage_error(command, "--limit %s: give a size, like 64M", optarg);
        bench->sample.limit = (size_t)limit;
        return 0;
    }
}

/* 0, or the exit code. */
static int take_option(const struct bale_command *command, int option, struct bench *bench)
{
    const char *wrong;
    struct bale_reason why;

    switch (option) {
    case OPTION_CODEC:
        return bale_bench_settings_add(&bench->settings, optarg, &why)
                   ? 0
                   : bale_codec_error(command, "--codec %s: %s", optarg, why.text);
    case 'r':
        return bale_count_take(command, "runs", 1000, &bench->how.runs);
    case 'j':
        return bale_count_take(command, "threads", 4096, &bench->how.threads);
    case OPTION_ENGINE:
        wrong = bale_engine_choice_parse(optarg, &bench->engine);
        return wrong ? bale_usage_error(command, "--engine %s: %s", optarg, wrong) : 0;
    case OPTION_SVG:
        bench->svg = optarg;
        return strcmp(optarg, "-") != 0
                   ? 0
                   : bale_usage_error(command,
                                      "--svg -: the table is on standard output: name a file");
    case 'f':
        bench->force = true;
        return 0;
    case OPTION_JSON:
        bench->json = true;
        return 0;
    default:
        return take_size(command, option, bench);
    }
}

static bool take_sample(struct bench *bench)
{
    struct bale_bench_sample *sample = &bench->sample;
    const uint8_t *at;

    sample->extent = bench->how.extent;
    if (!bale_bench_sample_take(sample))
        return false;
    at = sample->bytes;
    for (size_t i = 0; i < sample->count; at += sample->lengths[i++])
        if (bale_bench_add(bench->data, at, sample->lengths[i]) != BALE_OK) {
            bale_message("out of memory: give a smaller --limit");
            return false;
        }
    return true;
}

static void bench_tick(void *argument, const struct bale_setting *setting)
{
    struct bench *bench = argument;
    unsigned all =
        bench->gpu_ticks + bale_bench_ticks(&bench->how) * (unsigned)bench->settings.count;
    char text[BALE_SETTING_TEXT];

    bale_setting_print(*setting, text, sizeof text);
    bale_progress_bar(&bench->progress, bench->ticks++, all, text);
}

/* Measures the GPU first, because that is short: if it fails, little time is lost. */
static bool measure_gpu(struct bench *bench)
{
    char note[BALE_BENCH_NOTE];
    bool good;

    for (size_t i = 0; i < bench->settings.count; i++)
        bench->results[i].setting = bench->settings.list[i];
    bench->gpu_ticks = (unsigned)bench->settings.count;
    bale_progress_begin(&bench->progress, "");
    good = bale_bench_gpu(bench->data, bench->engine, bench->results, bench->settings.count,
                          bench->gpu, note);
    bale_progress_end(&bench->progress);
    if (!bench->gpu[0])
        bench->gpu_ticks = 0;
    if (note[0])
        bale_message("%s", note);
    return good;
}

static bool measure(struct bench *bench)
{
    char text[BALE_SETTING_TEXT];
    int err = BALE_OK;

    bale_progress_begin(&bench->progress, "");
    for (size_t i = 0; i < bench->settings.count && err == BALE_OK; i++) {
        bench->ticks = bench->gpu_ticks + bale_bench_ticks(&bench->how) * (unsigned)i;
        err = bale_bench_measure(bench->data, bench->settings.list[i], &bench->results[i]);
        bale_setting_print(bench->settings.list[i], text, sizeof text);
    }
    bale_progress_end(&bench->progress);
    if (err == BALE_E_NOMEM)
        bale_message("%s: out of memory: give a smaller --limit", text);
    else if (err == BALE_E_CORRUPT)
        bale_message(
            "%s: the decompressed bytes differ from the input: check this machine's memory, and "
            "report it",
            text);
    else if (err < 0)
        bale_message("%s: %s", text, bale_err_text(err));
    return err == BALE_OK;
}

static void name_data(const struct bench *bench, char *text, size_t size)
{
    if (bench->names == 1)
        bale_bench_name(bench->sample.names[0], text, size);
    else
        snprintf(text, size, "%llu files", (unsigned long long)bench->sample.files);
}

/* Opens the picture before anything is measured, which takes minutes. */
static bool open_picture(struct bench *bench)
{
    struct stat *sources = calloc((size_t)bench->names, sizeof *sources);
    const struct bale_output_rules rules = {.sources = sources,
                                            .count = (size_t)bench->names,
                                            .replace = bench->force,
                                            .picture = true};
    bool good = sources != NULL;

    if (!good)
        bale_message("%s: out of memory", bench->svg);
    for (int i = 0; good && i < bench->names; i++)
        bale_output_source(bench->sample.names[i], &sources[i]);
    good = good && bale_output_open(bench->svg, &rules, &bench->picture);
    free(sources);
    return good;
}

/* What the picture shows. */
struct bench_picture {
    const struct bench *bench;
    const struct bale_bench_report *report;
};

static void draw_picture(const void *arg, FILE *out)
{
    const struct bench_picture *picture = arg;
    char title[60], subtitle[256];

    name_data(picture->bench, title, sizeof title);
    bale_bench_describe(picture->report, subtitle, sizeof subtitle);
    bale_bench_svg(picture->report, title, subtitle, out);
}

static bool draw_bench(struct bench *bench, const struct bale_bench_report *report)
{
    const struct bench_picture picture = {.bench = bench, .report = report};

    return bale_output_draw(&bench->picture, draw_picture, &picture);
}

static bool run_bench(struct bench *bench)
{
    bool good = true;

    if (bale_bench_create(&bench->how, &bench->data) < 0) {
        bale_message("%u threads cannot be started: give fewer with --threads", bench->how.threads);
        return false;
    }
    if ((bench->svg && !open_picture(bench)) || !take_sample(bench) || !measure_gpu(bench) ||
        !measure(bench))
        return false;
    struct bale_bench_report report = {
        .how = &bench->how,
        .results = bench->results,
        .count = bench->settings.count,
        .raw = bench->sample.size,
        .total = bench->sample.total,
        .files = bench->sample.files,
        .gpu = bench->gpu[0] ? bench->gpu : NULL,
    };
    if (bench->json)
        good = bale_bench_print_json(&report);
    else
        bale_bench_print(&report);
    return (!bench->svg || draw_bench(bench, &report)) && good;
}

static int bench_run(const struct bale_command *command, int argc, char **argv)
{
    struct bench bench = {.how = {.extent = BALE_EXTENT_DEFAULT,
                                  .chunk_log2 = BALE_CHUNK_LOG2_DEFAULT,
                                  .threads = bale_cpus(),
                                  .runs = 5,
                                  .tick = bench_tick,
                                  .argument = &bench},
                          .sample.limit = (size_t)256 << 20,
                          .picture = {.fd = -1}};
    int option, status;
    bool good;

    while ((option = bale_options_next(command, argc, argv, ":e:l:r:j:fh", long_options)) !=
           BALE_OPTION_END) {
        if (option == BALE_OPTION_BAD || option == BALE_OPTION_HELP)
            return bale_options_status(command, option);
        status = take_option(command, option, &bench);
        if (status != 0)
            return status;
    }
    if (optind == argc)
        return bale_usage_error(command, "PATH is missing");
    bale_plugin_set_environment();
    for (size_t i = 0; i < bench.settings.count; i++)
        if (!bale_codec_takes_chunks(bench.settings.list[i].codec, bench.how.chunk_log2))
            return bale_usage_error(command, "--chunk: chunks of %s are 64K at most",
                                    bale_codec_name(bench.settings.list[i].codec));
    if (bench.settings.count == 0)
        bale_bench_settings_all(&bench.settings, bench.how.chunk_log2);
    bench.sample.names = argv + optind;
    bench.names = argc - optind;
    good = run_bench(&bench);
    bale_output_drop(&bench.picture);
    bale_bench_destroy(bench.data);
    free(bench.sample.bytes);
    free(bench.sample.lengths);
    return good ? BALE_EXIT_DONE : BALE_EXIT_FAILED;
}

const struct bale_command bale_command_bench = {
    .name = "bench",
    .summary = "measures codecs on files: ratio and speed",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = bench_run,
};
