#include "tools/bench/report.h"

#include <stdio.h>
#include <string.h>

#include "kernels/frame/setting.h"
#include "tools/common/json.h"
#include "tools/common/size.h"

const char *bale_bench_size(uint64_t size, char text[static BALE_TEXT])
{
    if (size % (1 << 20) == 0)
        snprintf(text, BALE_TEXT, "%llu MiB", (unsigned long long)size >> 20);
    else
        snprintf(text, BALE_TEXT, "%llu KiB", (unsigned long long)size >> 10);
    return text;
}

int bale_bench_width(int width, struct bale_setting setting)
{
    char text[BALE_SETTING_TEXT];

    bale_setting_print(setting, text, sizeof text);
    return (int)strlen(text) > width ? (int)strlen(text) : width;
}

void bale_bench_describe(const struct bale_bench_report *report, char *text, size_t size)
{
    char raw[BALE_TEXT], total[BALE_TEXT], extent[BALE_TEXT], chunk[BALE_TEXT], of[64] = "";

    if (report->raw < report->total)
        snprintf(of, sizeof of, " of %s", bale_size_text(report->total, total));
    snprintf(text, size, "%s%s, extents of %s, chunks of %s, median of %u run%s",
             bale_size_text(report->raw, raw), of, bale_bench_size(report->how->extent, extent),
             bale_bench_size(UINT64_C(1) << report->how->chunk_log2, chunk), report->how->runs,
             report->how->runs == 1 ? "" : "s");
}

bool bale_bench_has_gpu(const struct bale_bench_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->results[i].gpu.raw > 0)
            return true;
    return false;
}

bool bale_bench_is_nvcomp(struct bale_setting setting)
{
    const struct bale_codec_about *codec = bale_codec_about(setting.codec);

    return codec && codec->closed;
}

void bale_bench_describe_gpu(const struct bale_bench_report *report, char *text, size_t size)
{
    uint64_t most = 0;
    char raw[BALE_TEXT];
    bool nvcomp = false, lossy = false;

    for (size_t i = 0; i < report->count; i++) {
        const struct bale_bench_result *result = &report->results[i];
        most = result->gpu.raw > most ? result->gpu.raw : most;
        nvcomp |= result->gpu.raw > 0 && bale_bench_is_nvcomp(result->setting);
        lossy |= result->gpu.rounding > 0;
    }
    snprintf(text, size, "GPU kernels: %s, %s%s in its memory, no copies%s%s", report->gpu,
             most < report->raw ? "the first " : "", bale_size_text(most, raw),
             lossy ? "; cusz: with rounding" : "",
             nvcomp ? "; zstd and lz4: nvCOMP's, of ratios of their own" : "");
}

static void print_frames(const struct bale_bench_result *result)
{
    for (int id = 0; id < BALE_CODEC_AUTO; id++)
        if (result->frames[id] > 0)
            printf(" %s:%llu", bale_codec_name((uint8_t)id),
                   (unsigned long long)result->frames[id]);
    putchar('\n');
}

static void print_speed(struct bale_bench_speed speed)
{
    printf("  %10.0f  %10.0f", speed.compress / 1e6, speed.decompress / 1e6);
}

static void print_gpu(const struct bale_bench_gpu *gpu)
{
    if (gpu->raw > 0)
        print_speed(gpu->speed);
    else
        printf("  %10s  %10s", "-", "-");
}

static void print_head(const struct bale_bench_report *report, int width)
{
    const bool several = report->how->threads > 1, gpu = bale_bench_has_gpu(report);
    char cores[32];

    snprintf(cores, sizeof cores, "%u cores", report->how->threads);
    printf("%*s  %-22s", width + 7, "", "one core");
    if (several)
        printf("  %-*s", gpu ? 22 : 0, cores);
    if (gpu)
        printf("  GPU kernels");
    printf("\n%-*s %6s  %10s  %10s", width, "codec", "ratio", "compress", "decompress");
    for (int pairs = several + gpu; pairs > 0; pairs--)
        printf("  %10s  %10s", "compress", "decompress");
    printf("  frames\n");
}

void bale_bench_print(const struct bale_bench_report *report)
{
    char text[256];
    int width = 10;
    const bool several = report->how->threads > 1, gpu = bale_bench_has_gpu(report);

    for (size_t i = 0; i < report->count; i++)
        width = bale_bench_width(width, report->results[i].setting);
    bale_bench_describe(report, text, sizeof text);
    printf("%s; MB/s\n\n", text);
    print_head(report, width);
    for (size_t i = 0; i < report->count; i++) {
        const struct bale_bench_result *result = &report->results[i];
        bale_setting_print(result->setting, text, sizeof text);
        printf("%-*s %6.2f", width, text, (double)report->raw / (double)result->stored);
        print_speed(result->one);
        if (several)
            print_speed(result->all);
        if (gpu)
            print_gpu(&result->gpu);
        putchar(' ');
        print_frames(result);
    }
    if (gpu) {
        bale_bench_describe_gpu(report, text, sizeof text);
        printf("\n%s\n", text);
    }
}

static json_t *speed_json(struct bale_bench_speed speed)
{
    json_t *object = json_object();

    json_object_set_new(object, "compress", json_real(speed.compress / 1e6));
    json_object_set_new(object, "decompress", json_real(speed.decompress / 1e6));
    return object;
}

static json_t *gpu_json(const struct bale_bench_gpu *gpu)
{
    json_t *object = speed_json(gpu->speed);

    bale_json_count(object, "bytes", gpu->raw);
    bale_json_ratio(object, "ratio", gpu->raw, gpu->stored);
    if (gpu->rounding > 0)
        json_object_set_new(object, "rounding", json_real(gpu->rounding / 1e6));
    return object;
}

static json_t *result_json(const struct bale_bench_report *report,
                           const struct bale_bench_result *result)
{
    json_t *object = json_object(), *frames = json_object();
    char text[BALE_SETTING_TEXT];

    bale_setting_print(result->setting, text, sizeof text);
    bale_json_text(object, "codec", text);
    bale_json_count(object, "stored", result->stored);
    bale_json_ratio(object, "ratio", report->raw, result->stored);
    for (int id = 0; id < BALE_CODEC_AUTO; id++)
        if (result->frames[id] > 0)
            bale_json_count(frames, bale_codec_name((uint8_t)id), result->frames[id]);
    json_object_set_new(object, "frames", frames);
    json_object_set_new(object, "one", speed_json(result->one));
    json_object_set_new(object, "all", speed_json(result->all));
    if (result->gpu.raw > 0)
        json_object_set_new(object, "gpu", gpu_json(&result->gpu));
    return object;
}

bool bale_bench_print_json(const struct bale_bench_report *report)
{
    json_t *object = json_object(), *codecs = json_array();

    bale_json_count(object, "bytes", report->raw);
    bale_json_count(object, "of", report->total);
    bale_json_count(object, "files", report->files);
    bale_json_count(object, "extent", report->how->extent);
    bale_json_count(object, "chunk", UINT64_C(1) << report->how->chunk_log2);
    bale_json_count(object, "runs", report->how->runs);
    bale_json_count(object, "threads", report->how->threads);
    if (report->gpu)
        bale_json_text(object, "gpu", report->gpu);
    else
        json_object_set_new(object, "gpu", json_null());
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(codecs, result_json(report, &report->results[i]));
    json_object_set_new(object, "codecs", codecs);
    return bale_json_print(object);
}
