#include "tools/bench/engine_report.h"

#include <string.h>

#include "kernels/frame/setting.h"
#include "tools/bench/report.h"
#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/common/size.h"

void bale_engine_gpu_text(const struct bale_engine_bench *bench, char *text, size_t size)
{
    char memory[BALE_TEXT], name[4 * BALE_GPU_NAME];

    if (bench->engines[BALE_SIDE_GPU])
        snprintf(text, size, "%s, %s of its memory, what it encodes is %sverified",
                 bale_clean_text(bench->device.device, name, sizeof name),
                 bale_size_text(bench->device.device_memory, memory),
                 bench->how->gpu.verify ? "" : "not ");
    else
        snprintf(text, size, "none: %s", bench->why.text);
}

static void print_head(const struct bale_engine_report *report, int width)
{
    const struct bale_engine_how *how = report->bench->how;
    char gpu[2 * BALE_REASON_SIZE], size[BALE_TEXT];

    bale_engine_gpu_text(report->bench, gpu, sizeof gpu);
    printf("%s, extents of %s; GB/s of raw data by bytes in flight, %g s each\n", report->data,
           bale_bench_size(BALE_EXTENT_DEFAULT, size), how->seconds);
    printf("CPU: %u thread%s\nGPU: %s\n\n", how->threads, how->threads == 1 ? "" : "s", gpu);
    printf("%-*s %-9s  %-6s  %6s", width, "codec", "direction", "engine", "ratio");
    for (unsigned s = 0; s < how->size_count; s++)
        printf(" %8s", bale_bench_size(how->sizes[s], size));
    printf(report->bench->engines[BALE_SIDE_GPU] ? "  GPU faster from\n" : "\n");
}

static void print_side(const struct bale_engine_report *report, const struct bale_engine_row *row,
                       enum bale_side side)
{
    const struct bale_engine_how *how = report->bench->how;
    uint64_t from = bale_engine_crossover(how, row);
    bool taken = row->sides[side].taken;
    char text[BALE_TEXT];

    printf("%-6s  ", bale_engine_side(side));
    if (row->kind == BALE_ITEM_ENCODE && taken)
        printf("%6.2f", row->sides[side].ratio);
    else
        printf("%6s", taken ? "" : "-");
    for (unsigned s = 0; s < how->size_count; s++) {
        snprintf(text, sizeof text, "%.2f", row->sides[side].rates[s].rate / 1e9);
        printf(" %8s", taken ? text : "-");
    }
    if (side == BALE_SIDE_GPU)
        printf("  %s", from > 0 ? bale_bench_size(from, text) : "never");
    putchar('\n');
}

void bale_engine_print(const struct bale_engine_report *report)
{
    char text[BALE_SETTING_TEXT];
    int width = 10;

    for (size_t i = 0; i < report->count; i++)
        width = bale_bench_width(width, report->rows[i].setting);
    print_head(report, width);
    for (size_t i = 0; i < report->count; i++) {
        const struct bale_engine_row *row = &report->rows[i];
        bale_setting_print(row->setting, text, sizeof text);
        printf("%-*s %-9s  ", width, text, bale_engine_direction(row->kind));
        print_side(report, row, BALE_SIDE_CPU);
        if (!report->bench->engines[BALE_SIDE_GPU])
            continue;
        printf("%-*s %-9s  ", width, "", "");
        print_side(report, row, BALE_SIDE_GPU);
    }
}

static json_t *rates_json(const struct bale_engine_how *how, const struct bale_flight_rate *rates)
{
    json_t *array = json_array();

    for (unsigned s = 0; s < how->size_count; s++) {
        json_t *object = json_object();
        bale_json_count(object, "in_flight", how->sizes[s]);
        json_object_set_new(object, "rate", json_real(rates[s].rate / 1e9));
        json_object_set_new(object, "least", json_real(rates[s].least / 1e9));
        json_object_set_new(object, "most", json_real(rates[s].most / 1e9));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *side_json(const struct bale_engine_how *how, const struct bale_engine_row *row,
                         enum bale_side side)
{
    if (!row->sides[side].taken)
        return json_null();
    json_t *object = json_object();
    if (row->kind == BALE_ITEM_ENCODE)
        json_object_set_new(object, "ratio", json_real(row->sides[side].ratio));
    json_object_set_new(object, "speeds", rates_json(how, row->sides[side].rates));
    return object;
}

static json_t *row_json(const struct bale_engine_how *how, const struct bale_engine_row *row)
{
    uint64_t from = bale_engine_crossover(how, row);
    json_t *object = json_object();
    char text[BALE_SETTING_TEXT];

    bale_setting_print(row->setting, text, sizeof text);
    bale_json_text(object, "codec", text);
    bale_json_text(object, "direction", bale_engine_direction(row->kind));
    json_object_set_new(object, "cpu", side_json(how, row, BALE_SIDE_CPU));
    json_object_set_new(object, "gpu", side_json(how, row, BALE_SIDE_GPU));
    json_object_set_new(object, "gpu_faster_from",
                        from > 0 ? json_integer((json_int_t)from) : json_null());
    return object;
}

json_t *bale_engine_json(const struct bale_engine_report *report)
{
    const struct bale_engine_bench *bench = report->bench;
    json_t *object = json_object(), *gpu = json_null();

    if (bench->engines[BALE_SIDE_GPU]) {
        gpu = json_object();
        bale_json_path(gpu, "device", bench->device.device);
        bale_json_count(gpu, "device_memory", bench->device.device_memory);
        json_object_set_new(gpu, "verify", json_boolean(bench->how->gpu.verify));
    } else {
        bale_json_path(object, "no_gpu", bench->why.text);
    }
    bale_json_path(object, "data", report->data);
    bale_json_count(object, "extent", BALE_EXTENT_DEFAULT);
    bale_json_count(object, "threads", bench->how->threads);
    json_object_set_new(object, "seconds", json_real(bench->how->seconds));
    json_object_set_new(object, "gpu", gpu);
    return object;
}

bool bale_engine_print_json(const struct bale_engine_report *report)
{
    json_t *object = bale_engine_json(report), *rows = json_array();

    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(rows, row_json(report->bench->how, &report->rows[i]));
    json_object_set_new(object, "codecs", rows);
    return bale_json_print(object);
}
