/* balefs inspect: prints what is inside a container. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "format/root.h"
#include "kernels/frame/setting.h"
#include "tools/balefs.h"
#include "tools/common/json.h"
#include "tools/common/location.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/reader.h"
#include "tools/common/size.h"
#include "tools/inspect/extent_map.h"
#include "tools/inspect/root_slots.h"
#include "tools/inspect/totals.h"

static const char help[] =
    "usage: balefs inspect [--json] FILE...\n"
    "       balefs inspect --svg OUT [-f] FILE\n"
    "\n"
    "Prints what is inside a container: both root slots, the index, the table of extents\n"
    "and the free space. The level or options of an extent's codec come from its frame; if\n"
    "that is damaged, only the codec is printed. FILE is a container of a store, or a file\n"
    "in a mount: then its container is read, as of the last commit (see balefs sync).\n"
    "Changes nothing. FORMAT.md explains the fields.\n"
    "\n"
    "      --json  an object for one FILE, an array for several: path, container, roots,\n"
    "              index, extents, free, waiting; checksums and ids as hexadecimal text\n"
    "      --svg OUT\n"
    "              draws the file's extents as a map into OUT, an SVG picture (-: standard\n"
    "              output): hues are codecs; the better compressed, the paler\n"
    "  -f, --force\n"
    "              replaces OUT even if it is not such a picture\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs inspect /scratch/store/run1/out.dat\n"
    "  balefs inspect --json /mnt/scratch/run1/out.dat | jq .extents\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

enum { OPTION_JSON = 256, OPTION_SVG };

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"svg", required_argument, NULL, OPTION_SVG},
    {"force", no_argument, NULL, 'f'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct inspection {
    const char *path;
    char *container;
    struct bale_root_slots roots;
    struct bale_container_usage usage;
    struct bale_container *open; /* NULL: the container cannot be opened */
    json_t *extents;             /* NULL: extents are printed at once */
    bool begun;                  /* the table of extents has begun */
};

/* ---- Extents --------------------------------------------------------------------------------- */

/* Gets the setting that the extent was encoded with from its frame's head. False: the head is
 * damaged. */
static bool encoded_with(const struct inspection *in, const struct bale_segment *segment,
                         char text[static BALE_SETTING_TEXT])
{
    struct bale_frame frame;

    if (bale_container_read_head(in->open, segment, &frame) != BALE_OK)
        return false;
    bale_setting_print(
        (struct bale_setting){.codec = frame.codec, .parameter = (int16_t)frame.parameter}, text,
        BALE_SETTING_TEXT);
    return true;
}

static int print_extent(void *arg, const struct bale_segment *segment)
{
    struct inspection *in = arg;
    char setting[BALE_SETTING_TEXT], name[24], ratio[BALE_TEXT];

    if (!in->begun)
        printf("%14s %10s  %-15s %14s %10s %8s %10s %8s %8s\n", "offset", "length", "codec",
               "position", "stored", "ratio", "generation", "skip", "chunk");
    in->begun = true;
    if (segment->flags & BALE_SEGMENT_UNWRITTEN)
        printf("%14" PRIu64 " %10" PRIu32 "  unwritten\n", segment->offset, segment->length);
    else
        printf("%14" PRIu64 " %10" PRIu32 "  %-15s %14" PRIu64 " %10" PRIu32 " %8s %10" PRIu64
               " %8" PRIu32 " %8u\n",
               segment->offset, segment->length,
               encoded_with(in, segment, setting) ? setting
                                                  : bale_codec_title(segment->codec, name),
               segment->position, segment->frame_length,
               bale_ratio_text(segment->length, segment->frame_length, ratio), segment->generation,
               segment->skip, 1u << segment->chunk_log2);
    return ferror(stdout) ? BALE_E_IO : BALE_OK;
}

static int keep_extent(void *arg, const struct bale_segment *segment)
{
    const struct inspection *in = arg;
    json_t *object = json_object();
    char setting[BALE_SETTING_TEXT], name[24];
    bool unwritten = segment->flags & BALE_SEGMENT_UNWRITTEN;

    bale_json_count(object, "offset", segment->offset);
    bale_json_count(object, "length", segment->length);
    json_object_set_new(object, "unwritten", json_boolean(unwritten));
    if (!unwritten) {
        bale_json_text(object, "codec", bale_codec_title(segment->codec, name));
        if (encoded_with(in, segment, setting))
            bale_json_text(object, "setting", setting);
        bale_json_count(object, "position", segment->position);
        bale_json_count(object, "stored", segment->frame_length);
        bale_json_count(object, "generation", segment->generation);
        bale_json_count(object, "skip", segment->skip);
        bale_json_count(object, "chunk", (uint64_t)1 << segment->chunk_log2);
        bale_json_hex(object, "checksum", segment->checksum);
    }
    return json_array_append_new(in->extents, object) == 0 ? BALE_OK : BALE_E_NOMEM;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void print_head(const struct inspection *in)
{
    const struct bale_container_usage *usage = &in->usage;
    char clean[4096];

    printf("file     %s\n", bale_clean_text(in->path, clean, sizeof clean));
    printf("stored   %s\n", bale_clean_text(in->container, clean, sizeof clean));
    for (unsigned i = 0; i < BALE_SLOTS; i++)
        bale_root_slot_print(&in->roots, i);
    printf("index: %" PRIu64 " pages, %" PRIu64 " bytes, height %d\n", usage->pages,
           usage->page_bytes, usage->height);
    printf("free: %" PRIu64 " bytes, and %" PRIu64 " once a newer commit is durable; %" PRIu64
           " reserved\n",
           usage->free, usage->deferred, usage->unwritten);
}

static json_t *as_json(struct inspection *in)
{
    json_t *object = json_object(), *roots = json_array(), *index = json_object();

    bale_json_path(object, "path", in->path);
    bale_json_path(object, "container", in->container);
    for (unsigned i = 0; i < BALE_SLOTS; i++)
        json_array_append_new(roots, bale_root_slot_json(&in->roots, i));
    json_object_set_new(object, "roots", roots);
    bale_json_count(index, "pages", in->usage.pages);
    bale_json_count(index, "bytes", in->usage.page_bytes);
    bale_json_count(index, "height", (uint64_t)in->usage.height);
    json_object_set_new(object, "index", index);
    json_object_set(object, "extents", in->extents);
    bale_json_count(object, "free", in->usage.free);
    bale_json_count(object, "waiting", in->usage.deferred);
    bale_json_count(object, "unwritten", in->usage.unwritten);
    return object;
}

/* Reads the root slots first, because they can be shown even if the container cannot be opened. */
static int inspect_container(const struct bale_reader *reader, const char *below,
                             struct inspection *in, struct bale_reason *why)
{
    struct bale_container_attr attr;
    int fd, err = bale_reader_open_file(reader, below, &fd, why);

    if (err != BALE_OK)
        return err;
    err = bale_root_slots_read(fd, &in->roots);
    if (err != BALE_OK) {
        bale_reason_set(why, "cannot be read: %s", bale_err_text(err));
        close(fd);
        return err;
    }
    err = bale_reader_open_container(reader, fd, &in->open, why);
    if (err == BALE_OK) {
        bale_container_attr(in->open, &attr);
        in->roots.chosen = attr.generation;
        in->roots.rejected = bale_container_rejected(in->open);
        err = bale_container_usage(in->open, &in->usage);
        if (!in->extents)
            print_head(in);
        if (err == BALE_OK)
            err = bale_container_walk(in->open, in->extents ? keep_extent : print_extent, in);
        if (err == BALE_OK && !in->extents && !in->begun)
            printf("no extents: it contains no data\n");
        if (err != BALE_OK)
            bale_reason_set(why, "its index cannot be read: %s: see balefs fsck",
                            bale_err_text(err));
        bale_container_close(in->open);
    } else if (!in->extents) {
        print_head(in);
    }
    return err;
}

/* Inspects the container in the store, also of a file in a mount. */
static int inspect_location(const char *path, const struct bale_location *location, json_t *all)
{
    struct inspection in = {.path = path, .extents = all ? json_array() : NULL};
    struct bale_reader reader = {0};
    struct bale_reason why;
    struct bale_reason where = {0};
    int err = BALE_E_INVALID;

    if (!location->store) {
        bale_message("%s: its mount does not say where its store is: name the container", path);
        goto out;
    }
    if (asprintf(&in.container, "%s/%s", location->store, location->below) < 0) {
        in.container = NULL;
        err = BALE_E_NOMEM;
        goto out;
    }
    err = bale_reader_open(location->store, BALE_STORE_UNLOCKED, &reader, &why);
    if (err != BALE_OK) {
        bale_message("%s", why.text);
        goto out;
    }
    err = inspect_container(&reader, location->below, &in, &where);
    if (all && in.roots.slots[0].state)
        json_array_append_new(all, as_json(&in));
    if (err != BALE_OK && !ferror(stdout))
        bale_message("%s: %s", path, where.text);
out:
    bale_reader_close(&reader);
    free(in.container);
    json_decref(in.extents);
    return err;
}

static int inspect_run(const struct bale_command *command, int argc, char **argv)
{
    int option, status = BALE_EXIT_DONE;
    struct bale_location location;
    const char *svg = NULL;
    bool json = false, force = false;

    while ((option = bale_options_next(command, argc, argv, ":fh", long_options)) !=
           BALE_OPTION_END)
        if (option == OPTION_SVG)
            svg = optarg;
        else if (option == 'f')
            force = true;
        else if (option == OPTION_JSON)
            json = true;
        else
            return bale_options_status(command, option);
    if (optind == argc)
        return bale_usage_error(command, "FILE is missing");
    if (svg && (json || argc - optind > 1))
        return bale_usage_error(command, json ? "--svg and --json exclude each other"
                                              : "--svg is for one FILE at a time");
    if (svg)
        return bale_draw_extents(argv[optind], svg, force) == BALE_OK ? BALE_EXIT_DONE
                                                                      : BALE_EXIT_FAILED;
    json_t *all = json ? json_array() : NULL;
    for (int i = optind; i < argc; i++) {
        if (!all && i > optind)
            putchar('\n');
        int err = bale_location_find(argv[i], &location);
        if (err == BALE_OK) {
            err = inspect_location(argv[i], &location, all);
            bale_location_free(&location);
        }
        if (err != BALE_OK)
            status = BALE_EXIT_FAILED;
    }
    if (all && !bale_json_print_list(all, argc - optind == 1))
        status = BALE_EXIT_FAILED;
    return status;
}

const struct bale_command bale_command_inspect = {
    .name = "inspect",
    .summary = "prints what is inside a container",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = inspect_run,
};
