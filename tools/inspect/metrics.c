#include "tools/inspect/metrics.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/balefs.h"
#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/common/mounts.h"
#include "tools/inspect/mount_status.h"

/* A mount that was named. */
struct metrics_mount {
    char *label; /* mountpoint="...", escaped */
    bool up;
    struct bale_control_status status;
};

/* A line for each mount: a member of its status, divided by a power of ten. */
struct metric {
    const char *name, *type, *help;
    const char *labels; /* further ones, or "" */
    size_t offset;
    double unit;
};

#define GAUGE "gauge"
#define COUNTER "counter"
#define AT(member) offsetof(struct bale_control_status, member)

/* Metrics of one name must lie together. */
static const struct metric metrics[] = {
    {"balefs_read_only", GAUGE, "1: mounted read-only.", "", AT(read_only), 1},
    {"balefs_freeze_left_seconds", GAUGE, "The time until a freeze ends by itself; 0: not frozen.",
     "", AT(freeze_left), 1},
    {"balefs_waiting_requests", GAUGE, "What waits now, by what it waits for.", ",for=\"memory\"",
     AT(waits_memory), 1},
    {"balefs_waiting_requests", GAUGE, "", ",for=\"thaw\"", AT(waits_thaw), 1},
    {"balefs_waiting_requests", GAUGE, "", ",for=\"store\"", AT(waits_store), 1},
    {"balefs_longest_wait_seconds", GAUGE, "How long a request has waited for the store so far.",
     "", AT(longest_ms), 1e3},
    {"balefs_memory_limit_bytes", GAUGE, "The memory cap.", "", AT(memory_cap), 1},
    {"balefs_memory_bytes", GAUGE, "Memory in use, of the cap.", "", AT(memory_used), 1},
    {"balefs_cache_bytes", GAUGE, "Memory of the cache.", "", AT(cached), 1},
    {"balefs_dirty_bytes", GAUGE, "Data that is not stored yet.", "", AT(dirty), 1},
    {"balefs_dirty_limit_bytes", GAUGE, "The most data that may wait to be stored.", "",
     AT(dirty_limit), 1},
    {"balefs_reserve_bytes", GAUGE, "Disk space kept for data that is not stored yet.", "",
     AT(reserve), 1},
    {"balefs_open_files", GAUGE, "Files that are open or to be stored.", "", AT(files), 1},
    {"balefs_known_files", GAUGE, "Files and directories that the kernel knows.", "", AT(nodes), 1},
    {"balefs_read_bytes_total", COUNTER, "Bytes that programs read, without the kernel's cache.",
     "", AT(read), 1},
    {"balefs_written_bytes_total", COUNTER, "Bytes that programs wrote.", "", AT(written), 1},
    {"balefs_compressed_bytes_total", COUNTER, "Bytes that went through the encoder.", "",
     AT(raw_bytes), 1},
    {"balefs_stored_bytes_total", COUNTER, "Bytes that the encoder made of them.", "",
     AT(stored_bytes), 1},
    {"balefs_frames_total", COUNTER, "Frames that were stored.", "", AT(items), 1},
    {"balefs_commits_total", COUNTER, "Commits of files.", "", AT(commits), 1},
    {"balefs_syncs_total", COUNTER, "Syncs of the store or of files.", "", AT(syncs), 1},
    {"balefs_errors_total", COUNTER, "Failures to store something.", "", AT(errors), 1},
    {"balefs_waited_writes_total", COUNTER, "Writes that had to wait.", "", AT(throttled), 1},
    {"balefs_cache_extents_total", COUNTER, "Extents that were read, by where they were.",
     ",from=\"cache\"", AT(read_hits), 1},
    {"balefs_cache_extents_total", COUNTER, "", ",from=\"store\"", AT(read_misses), 1},
    {"balefs_cpu_seconds_total", COUNTER, "Processor time of the daemon.", "", AT(cpu_us), 1e6},
    {"balefs_engine_bytes_total", COUNTER, "Raw bytes, by engine and direction.",
     ",engine=\"cpu\",direction=\"encode\"", AT(cpu.encoded), 1},
    {"balefs_engine_bytes_total", COUNTER, "", ",engine=\"cpu\",direction=\"decode\"",
     AT(cpu.decoded), 1},
    {"balefs_engine_bytes_total", COUNTER, "", ",engine=\"gpu\",direction=\"encode\"",
     AT(gpu.work.encoded), 1},
    {"balefs_engine_bytes_total", COUNTER, "", ",engine=\"gpu\",direction=\"decode\"",
     AT(gpu.work.decoded), 1},
    {"balefs_gpu_batches_total", COUNTER, "Batches of the GPU.", "", AT(gpu.batches), 1},
    {"balefs_gpu_redone_total", COUNTER, "Items that the GPU left to the processors.", "",
     AT(gpu.redone), 1},
    {"balefs_gpu_mismatches_total", COUNTER, "Items that the GPU compressed wrong.", "",
     AT(gpu.mismatches), 1},
};

/* Appends text as the value of a label; what is not UTF-8 becomes U+FFFD. */
static void add_label(FILE *out, const char *name, const char *text)
{
    json_t *object = json_object();

    bale_json_path(object, "path", text);
    const char *clean = json_string_value(json_object_get(object, "path"));
    fprintf(out, "%s=\"", name);
    for (const char *at = clean ? clean : ""; *at; at++)
        if (*at == '\n')
            fputs("\\n", out);
        else
            fprintf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    fputc('"', out);
    json_decref(object);
}

/* NULL: no memory. */
static char *label_of(const char *name, const char *text)
{
    char *label = NULL;
    size_t size;
    FILE *out = open_memstream(&label, &size);

    if (!out)
        return NULL;
    add_label(out, name, text);
    return fclose(out) == 0 ? label : NULL;
}

static bool ask_daemon(const char *path, struct metrics_mount *mount)
{
    char *point = bale_mounts_path(path);

    mount->up = bale_mount_status_get(path, &mount->status);
    if (!mount->up)
        bale_message("%s: no daemon answers: %s", path,
                     errno == ENOTTY  ? "no balefs of this version is mounted there"
                     : errno == EPERM ? "only root and the mount's owner may ask"
                                      : strerror(errno));
    mount->label = label_of("mountpoint", point ? point : path);
    free(point);
    return mount->up;
}

static void print_head(const char *name, const char *type, const char *help)
{
    printf("# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_metric(const struct metric *metric, const struct metrics_mount *mount)
{
    uint64_t value;

    if (!mount->up)
        return;
    memcpy(&value, (const char *)&mount->status + metric->offset, sizeof value);
    printf("%s{%s%s} ", metric->name, mount->label, metric->labels);
    if (metric->unit > 1)
        printf("%.6f\n", (double)value / metric->unit);
    else
        printf("%llu\n", (unsigned long long)value);
}

static void print_info(const struct metrics_mount *mount)
{
    const struct bale_control_status *status = &mount->status;

    if (!mount->up)
        return;
    printf("balefs_info{%s,", mount->label);
    add_label(stdout, "store", status->store);
    putchar(',');
    add_label(stdout, "version", status->program);
    putchar(',');
    add_label(stdout, "engine", status->engine);
    putchar(',');
    add_label(stdout, "io", status->io);
    printf("} 1\n");
}

static void print_all(const struct metrics_mount *mounts, int count)
{
    print_head("balefs_up", GAUGE, "1: the daemon of the mount answers.");
    for (int i = 0; i < count; i++)
        printf("balefs_up{%s} %d\n", mounts[i].label, mounts[i].up);
    print_head("balefs_info", GAUGE, "1, with what the mount is.");
    for (int i = 0; i < count; i++)
        print_info(&mounts[i]);
    print_head("balefs_frozen", GAUGE, "1: a freeze lasts.");
    for (int i = 0; i < count; i++)
        if (mounts[i].up)
            printf("balefs_frozen{%s} %u\n", mounts[i].label, mounts[i].status.frozen);
    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
        if (metrics[m].help[0])
            print_head(metrics[m].name, metrics[m].type, metrics[m].help);
        for (int i = 0; i < count; i++)
            print_metric(&metrics[m], &mounts[i]);
    }
}

/* Whether the label occurs already: a collector refuses a series that comes twice. */
static bool is_named(const struct metrics_mount *mounts, int count, const char *label)
{
    for (int i = 0; i < count; i++)
        if (strcmp(mounts[i].label, label) == 0)
            return true;
    return false;
}

int bale_metrics_print(int count, char **paths)
{
    struct metrics_mount *mounts = calloc((size_t)count, sizeof *mounts);
    bool good = mounts, complete = mounts;
    int used = 0;

    for (int i = 0; complete && i < count; i++) {
        good = ask_daemon(paths[i], &mounts[used]) && good;
        if (!mounts[used].label)
            complete = false;
        else if (is_named(mounts, used, mounts[used].label))
            free(mounts[used].label);
        else
            used++;
    }
    if (complete)
        print_all(mounts, used);
    else
        bale_message("out of memory");
    for (int i = 0; i < used; i++)
        free(mounts[i].label);
    free(mounts);
    return good && complete ? BALE_EXIT_DONE : BALE_EXIT_FAILED;
}
