#include "tools/inspect/mount_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/codecs.h"
#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/common/mounts.h"
#include "tools/common/size.h"
#include "tools/inspect/writer.h"

#define WRITER 160

bool bale_mount_status_get(const char *path, struct bale_control_status *status)
{
    struct bale_mount_line mount;

    if (!bale_mounts_here(path, &mount)) {
        errno = ENOTTY;
        return false;
    }
    bool answered = bale_control_status_at(mount.point, status);
    int e = errno;
    bale_mount_line_free(&mount);
    errno = e;
    return answered;
}

static const struct {
    const char *name;
    size_t offset;
} figures[] = {
#define FIGURE(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct bale_control_status, name)                                          \
    }
    FIGURE(nodes),       FIGURE(memory_cap),  FIGURE(memory_used),  FIGURE(cached),
    FIGURE(dirty),       FIGURE(dirty_limit), FIGURE(files),        FIGURE(read_hits),
    FIGURE(read_misses), FIGURE(commits),     FIGURE(syncs),        FIGURE(items),
    FIGURE(errors),      FIGURE(raw_bytes),   FIGURE(stored_bytes), FIGURE(throttled),
    FIGURE(read),        FIGURE(written),     FIGURE(reserve),      FIGURE(cpu_us),
#undef FIGURE
};

static json_t *work_json(const struct bale_control_work *work)
{
    json_t *object = json_object();

    bale_json_count(object, "items", work->items);
    bale_json_count(object, "encoded", work->encoded);
    bale_json_count(object, "decoded", work->decoded);
    return object;
}

/* Names of the codecs of the set. */
static json_t *codecs_json(uint64_t codecs)
{
    json_t *names = json_array();

    for (uint8_t id = 0; id < 64; id++)
        if (codecs >> id & 1 && bale_codec_name(id))
            json_array_append_new(names, json_string(bale_codec_name(id)));
    return names;
}

static json_t *engines_json(const struct bale_control_status *status)
{
    const struct bale_control_gpu *gpu = &status->gpu;
    json_t *object = json_object();
    json_t *object_gpu = work_json(&gpu->work);

    bale_json_count(object_gpu, "batches", gpu->batches);
    bale_json_count(object_gpu, "redone", gpu->redone);
    bale_json_count(object_gpu, "mismatches", gpu->mismatches);
    json_object_set_new(object_gpu, "used", json_boolean(gpu->used));
    json_object_set_new(object_gpu, "open", json_boolean(gpu->open));
    json_object_set_new(object_gpu, "kept", json_boolean(gpu->kept));
    json_object_set_new(object_gpu, "device",
                        *gpu->device ? json_string(gpu->device) : json_null());
    bale_json_count(object_gpu, "device_memory", gpu->device_memory);
    bale_json_count(object_gpu, "pinned", gpu->pinned);
    json_object_set_new(object_gpu, "codecs", codecs_json(gpu->codecs));
    json_object_set_new(object, "cpu", work_json(&status->cpu));
    json_object_set_new(object, "gpu", object_gpu);
    return object;
}

static json_t *waiting_json(const struct bale_control_status *status)
{
    json_t *object = json_object();

    bale_json_count(object, "memory", status->waits_memory);
    bale_json_count(object, "thaw", status->waits_thaw);
    bale_json_count(object, "store", status->waits_store);
    bale_json_count(object, "longest_ms", status->longest_ms);
    return object;
}

json_t *bale_mount_status_json(const struct bale_control_status *status)
{
    json_t *object = json_object();
    char writer[WRITER] = "";

    if (status->read_only)
        bale_writer_find(status->store, writer, sizeof writer);
    bale_json_count(object, "pid", (uint64_t)status->pid);
    bale_json_text(object, "program", status->program);
    bale_json_path(object, "store", status->store);
    if (status->log[0])
        bale_json_path(object, "log", status->log);
    else
        json_object_set_new(object, "log", json_null());
    bale_json_text(object, "engine", status->engine);
    bale_json_text(object, "io", status->io);
    json_object_set_new(object, "read_only", json_boolean(status->read_only));
    if (writer[0])
        bale_json_text(object, "writer", writer);
    else
        json_object_set_new(object, "writer", json_null());
    json_object_set_new(object, "frozen", json_boolean(status->frozen));
    bale_json_count(object, "freeze_left", status->freeze_left);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        uint64_t value;
        memcpy(&value, (const char *)status + figures[i].offset, sizeof value);
        bale_json_count(object, figures[i].name, value);
    }
    json_object_set_new(object, "waiting", waiting_json(status));
    json_object_set_new(object, "engines", engines_json(status));
    return object;
}

static void print_work(const char *name, const struct bale_control_work *work)
{
    char encoded[BALE_TEXT], decoded[BALE_TEXT];

    printf("%-8s compressed %s, decompressed %s, in %llu pieces\n", name,
           bale_size_text(work->encoded, encoded), bale_size_text(work->decoded, decoded),
           (unsigned long long)work->items);
}

static void print_codecs(uint64_t codecs)
{
    const char *before = "         for ";

    for (uint8_t id = 0; id < 64; id++)
        if (codecs >> id & 1 && bale_codec_name(id)) {
            printf("%s%s", before, bale_codec_name(id));
            before = ", ";
        }
    if (codecs != 0)
        putchar('\n');
}

static void print_engines(const struct bale_control_status *status)
{
    const struct bale_control_gpu *gpu = &status->gpu;
    char texts[2][BALE_TEXT], clean[sizeof gpu->device * 4];

    print_work("cpu", &status->cpu);
    if (!*gpu->device)
        return;
    print_work("gpu", &gpu->work);
    printf("         %llu batches; %llu pieces left to the cpu, %llu of them compressed wrong\n",
           (unsigned long long)gpu->batches, (unsigned long long)gpu->redone,
           (unsigned long long)gpu->mismatches);
    printf("         %s, %s,\n         %s of its memory, %s pinned\n",
           bale_clean_text(gpu->device, clean, sizeof clean),
           !gpu->used  ? "no longer used"
           : gpu->open ? "open"
           : gpu->kept ? "idle, with its context kept"
                       : "closed while it is idle",
           bale_size_text(gpu->device_memory, texts[0]), bale_size_text(gpu->pinned, texts[1]));
    print_codecs(gpu->codecs);
}

static void print_frozen(const struct bale_control_status *status)
{
    if (status->frozen)
        printf("frozen   thaws by itself in %llu s; %llu requests wait for that\n",
               (unsigned long long)status->freeze_left, (unsigned long long)status->waits_thaw);
}

static void print_waiting(const struct bale_control_status *status)
{
    if (status->waits_memory > 0)
        printf("waiting  %llu writes%s\n", (unsigned long long)status->waits_memory,
               status->frozen ? ", until the thaw" : " for memory");
    if (status->waits_store > 0)
        printf("waiting  %llu requests for the store, the longest for %llu s so far\n",
               (unsigned long long)status->waits_store,
               (unsigned long long)status->longest_ms / 1000);
}

static void print_reads(const struct bale_control_status *status)
{
    char text[BALE_TEXT];
    unsigned long long extents = status->read_hits + status->read_misses;

    printf("reads    %s; %llu extents, %llu%% from the cache\n", bale_size_text(status->read, text),
           extents, extents ? 100 * (unsigned long long)status->read_hits / extents : 0);
}

static void print_writes(const struct bale_control_status *status)
{
    char texts[3][BALE_TEXT];

    printf("writes   %s; %s compressed to %s in %llu frames\n",
           bale_size_text(status->written, texts[0]), bale_size_text(status->raw_bytes, texts[1]),
           bale_size_text(status->stored_bytes, texts[2]), (unsigned long long)status->items);
    printf("         %llu commits, %llu syncs, %llu writes had to wait, %llu errors\n",
           (unsigned long long)status->commits, (unsigned long long)status->syncs,
           (unsigned long long)status->throttled, (unsigned long long)status->errors);
}

static void print_writer(const char *store)
{
    char writer[WRITER], clean[sizeof writer * 4];

    bale_writer_find(store, writer, sizeof writer);
    if (writer[0])
        printf("writer   %s: its commits show here\n",
               bale_clean_text(writer, clean, sizeof clean));
}

void bale_mount_status_print(const struct bale_control_status *status)
{
    char texts[5][BALE_TEXT], clean[4096];

    printf("\nstore    %s\n", bale_clean_text(status->store, clean, sizeof clean));
    printf("daemon   process %d, balefs %s, engine %s, io=%s%s%s\n", status->pid, status->program,
           status->engine, status->io, status->read_only ? ", read-only" : "",
           status->frozen ? ", frozen" : "");
    if (status->log[0])
        printf("log      %s\n", bale_clean_text(status->log, clean, sizeof clean));
    if (status->read_only)
        print_writer(status->store);
    print_frozen(status);
    print_waiting(status);
    printf("memory   %s of %s; cache %s, to be stored %s (%s at most)\n",
           bale_size_text(status->memory_used, texts[0]),
           bale_size_text(status->memory_cap, texts[1]), bale_size_text(status->cached, texts[2]),
           bale_size_text(status->dirty, texts[3]), bale_size_text(status->dirty_limit, texts[4]));
    if (!status->read_only)
        printf(
            "reserve  %s of the disk kept for what is to be stored: 9/8 of the most that may be, "
            "1/16 of what was free at most\n",
            bale_size_text(status->reserve, texts[0]));
    printf("files    %llu open or to be stored, %llu known\n", (unsigned long long)status->files,
           (unsigned long long)status->nodes);
    print_reads(status);
    print_writes(status);
    print_engines(status);
}
