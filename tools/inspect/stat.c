/* balefs stat: prints how much space files take. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/size.h"
#include "tools/inspect/survey.h"
#include "tools/inspect/watch.h"

static const char help[] =
    "usage: balefs stat [--by-type] [--json] [PATH...]\n"
    "       balefs stat --watch[=SECONDS] [--json] MNT\n"
    "\n"
    "Prints how much space files and trees take, in a mount or in a store [.]: their length,\n"
    "the stored size, and the ratio of written data to stored size (holes do not count), in\n"
    "total and by codec. For a mount point it also prints the state of its daemon.\n"
    "\n"
    "      --by-type  also by file name extension\n"
    "      --watch[=SECONDS]\n"
    "                 prints what the mount's daemon does, every SECONDS [1], until the mount\n"
    "                 ends: bytes written, compressed, stored, and saved since it was mounted.\n"
    "                 On a terminal one line; with --json one object a line\n"
    "      --json     an object for one PATH, an array for several; all sizes in bytes:\n"
    "                 {\"path\", \"files\", \"logical\", \"data\", \"stored\", \"disk\",\n"
    "                 \"saved\", \"ratio\", \"codecs\": {\"zstd\": {\"extents\", \"logical\",\n"
    "                 \"stored\"}, ...}, \"types\", \"mount\"} logical: length; data: the\n"
    "                 part without holes; disk: allocated in the store\n"
    "  -h, --help\n"
    "\n"
    "A file with several names counts once for each PATH. In a mount, new data counts after\n"
    "it has been stored: see balefs sync.\n"
    "\n"
    "Examples:\n"
    "  balefs stat --by-type /mnt/scratch\n"
    "  balefs stat --json /scratch/store | jq .ratio\n"
    "  balefs stat --watch=10 /mnt/scratch\n"
    "\n"
    "Exit status: 0 done, 1 something could not be read, 2 wrong usage.\n";

enum { OPTION_JSON = 256, OPTION_TYPE, OPTION_WATCH };

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"by-type", no_argument, NULL, OPTION_TYPE},
    {"watch", optional_argument, NULL, OPTION_WATCH},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct listing {
    json_t *json; /* an array, or NULL: tables */
    bool by_type, several, begun, failed, is_mount, read_only;
    struct bale_control_status status; /* of the last path if is_mount */
    struct bale_types types;
    struct bale_totals total;
    struct bale_survey survey;
};

/* Gets the status of a mount point. False: path is not one, or its daemon does not answer. */
static bool mount_status(const struct bale_location *location, struct bale_control_status *status,
                         bool *read_only)
{
    struct statvfs fs;

    if (!location->mounted || strcmp(location->real, location->top) != 0)
        return false;
    int fd = open(location->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool answered = fd >= 0 && bale_control_status(fd, status);

    *read_only = answered && fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY);
    if (fd >= 0)
        close(fd);
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
    FIGURE(written),     FIGURE(cpu_us),
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
    json_object_set_new(object_gpu, "device",
                        *gpu->device ? json_string(gpu->device) : json_null());
    bale_json_count(object_gpu, "device_memory", gpu->device_memory);
    bale_json_count(object_gpu, "pinned", gpu->pinned);
    json_object_set_new(object_gpu, "codecs", codecs_json(gpu->codecs));
    json_object_set_new(object, "cpu", work_json(&status->cpu));
    json_object_set_new(object, "gpu", object_gpu);
    return object;
}

static json_t *status_json(const struct bale_control_status *status, bool read_only)
{
    json_t *object = json_object();

    bale_json_count(object, "pid", (uint64_t)status->pid);
    bale_json_text(object, "program", status->program);
    bale_json_path(object, "store", status->store);
    bale_json_text(object, "engine", status->engine);
    bale_json_text(object, "io", status->io);
    json_object_set_new(object, "read_only", json_boolean(read_only));
    json_object_set_new(object, "frozen", json_boolean(status->frozen));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        uint64_t value;
        memcpy(&value, (const char *)status + figures[i].offset, sizeof value);
        bale_json_count(object, figures[i].name, value);
    }
    json_object_set_new(object, "engines", engines_json(status));
    return object;
}

static void print_work(const char *name, const struct bale_control_work *work)
{
    char encoded[BALE_TEXT], decoded[BALE_TEXT];

    printf("%-8s %s compressed and %s decompressed in %llu pieces", name,
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
    putchar('\n');
    if (!*gpu->device)
        return;
    print_work("gpu", &gpu->work);
    printf(" and %llu batches; %llu pieces left to the cpu, %llu of them compressed wrong\n",
           (unsigned long long)gpu->batches, (unsigned long long)gpu->redone,
           (unsigned long long)gpu->mismatches);
    printf("         %s, %s, %s of its memory, %s pinned\n",
           bale_clean_text(gpu->device, clean, sizeof clean),
           !gpu->used  ? "no longer used"
           : gpu->open ? "open"
                       : "closed while it is idle",
           bale_size_text(gpu->device_memory, texts[0]), bale_size_text(gpu->pinned, texts[1]));
    print_codecs(gpu->codecs);
}

static void print_status(const struct bale_control_status *status, bool read_only)
{
    char texts[6][BALE_TEXT], clean[4096];
    unsigned long long reads = status->read_hits + status->read_misses;

    printf("\nstore    %s\n", bale_clean_text(status->store, clean, sizeof clean));
    printf("daemon   process %d, balefs %s, engine %s, io=%s%s%s\n", status->pid, status->program,
           status->engine, status->io, read_only ? ", read-only" : "",
           status->frozen ? ", frozen" : "");
    printf("memory   %s of %s: cache %s, of which to be stored %s of at most %s\n",
           bale_size_text(status->memory_used, texts[0]),
           bale_size_text(status->memory_cap, texts[1]), bale_size_text(status->cached, texts[2]),
           bale_size_text(status->dirty, texts[3]), bale_size_text(status->dirty_limit, texts[4]));
    printf("files    %llu open or to be stored, %llu known\n", (unsigned long long)status->files,
           (unsigned long long)status->nodes);
    printf("reads    %llu extents, %llu%% from the cache\n", reads,
           reads ? 100 * (unsigned long long)status->read_hits / reads : 0);
    printf("writes   %s, of which %s compressed to %s in %llu frames; %llu commits, %llu syncs, "
           "%llu waits, %llu errors\n",
           bale_size_text(status->written, texts[0]), bale_size_text(status->raw_bytes, texts[1]),
           bale_size_text(status->stored_bytes, texts[2]), (unsigned long long)status->items,
           (unsigned long long)status->commits, (unsigned long long)status->syncs,
           (unsigned long long)status->throttled, (unsigned long long)status->errors);
    print_engines(status);
}

static void list(struct listing *listing, const char *path, const struct bale_location *location,
                 const struct bale_totals *totals)
{
    bool is_mount = mount_status(location, &listing->status, &listing->read_only);

    listing->is_mount = is_mount;
    bale_totals_add(&listing->total, totals);
    if (!listing->json) {
        if (!listing->begun)
            bale_totals_head("files", "path");
        listing->begun = true;
        bale_totals_row(totals->files, totals->logical, totals->data, totals->stored, path);
        return;
    }
    json_t *object = json_object();
    bale_json_path(object, "path", path);
    bale_totals_json(object, totals);
    json_object_set_new(object, "saved",
                        json_integer((json_int_t)totals->data - (json_int_t)totals->stored));
    if (listing->by_type)
        json_object_set_new(object, "types", bale_types_json(&listing->types));
    if (is_mount)
        json_object_set_new(object, "mount", status_json(&listing->status, listing->read_only));
    json_array_append_new(listing->json, object);
    bale_types_clear(&listing->types); /* start again for the next path */
}

static void print_saved(const struct bale_totals *total)
{
    char saved[BALE_TEXT], data[BALE_TEXT];

    if (total->data >= total->stored && total->data > 0)
        printf("\nsaved    %s of %s, %.0f%%\n", bale_size_text(total->data - total->stored, saved),
               bale_size_text(total->data, data),
               100 * (double)(total->data - total->stored) / (double)total->data);
}

/* Prints everything after the rows of the paths. */
static void print_rest(struct listing *listing)
{
    const struct bale_totals *total = &listing->total;

    if (listing->several && listing->begun)
        bale_totals_row(total->files, total->logical, total->data, total->stored, "in all");
    if (total->files > 0) {
        putchar('\n');
        bale_totals_codecs(total);
        print_saved(total);
    }
    if (listing->by_type && total->files > 0) {
        putchar('\n');
        bale_types_print(&listing->types);
    }
    if (listing->is_mount && !listing->several)
        print_status(&listing->status, listing->read_only);
}

static void stat_path(struct listing *listing, const char *path)
{
    struct bale_location location;
    struct bale_totals totals;

    if (bale_location_find(path, &location) != BALE_OK) {
        listing->failed = true;
        return;
    }
    if (bale_survey(&listing->survey, path, &location, &totals) == BALE_OK)
        list(listing, path, &location, &totals);
    else
        listing->failed = true;
    bale_location_free(&location);
}

static void stat_paths(struct listing *listing, int count, char **paths)
{
    static char here[] = ".";

    listing->several = count > 1;
    if (listing->by_type)
        listing->survey.types = &listing->types;
    if (count == 0)
        stat_path(listing, here);
    for (int i = 0; i < count; i++)
        stat_path(listing, paths[i]);
    if (listing->json && !bale_json_print_list(listing->json, count <= 1))
        listing->failed = true;
    if (!listing->json)
        print_rest(listing);
    if (listing->survey.failed)
        listing->failed = true;
    bale_survey_end(&listing->survey);
    bale_types_clear(&listing->types);
}

static int stat_run(const struct bale_command *command, int argc, char **argv)
{
    static struct listing listing;
    bool json = false, watch = false;
    double seconds = 1;
    int option;

    while ((option = bale_options_next(command, argc, argv, ":h", long_options)) != BALE_OPTION_END)
        if (option == OPTION_JSON)
            json = true;
        else if (option == OPTION_TYPE)
            listing.by_type = true;
        else if (option != OPTION_WATCH)
            return bale_options_status(command, option);
        else if (watch = true, optarg && !bale_watch_interval(optarg, &seconds))
            return bale_usage_error(command, "--watch=%s: give seconds, 0.1 to 3600", optarg);
    if (watch && (argc - optind != 1 || listing.by_type))
        return bale_usage_error(command, "--watch needs one MNT, and nothing but --json");
    if (watch)
        return bale_watch(argv[optind], seconds, json);
    if (json)
        listing.json = json_array();
    stat_paths(&listing, argc - optind, argv + optind);
    return listing.failed ? BALE_EXIT_FAILED : BALE_EXIT_DONE;
}

const struct bale_command bale_command_stat = {
    .name = "stat",
    .summary = "prints how much space files take, and the state of a mount",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = stat_run,
};
