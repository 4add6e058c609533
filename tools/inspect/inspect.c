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

struct root_slot {
    const char *state; /* "valid", "zero", "damaged", "unsupported" */
    struct bale_root root;
    char feature[5];
};

struct inspection {
    const char *path;
    char *container;
    struct root_slot slots[BALE_SLOTS];
    struct bale_container_attr attr; /* of the chosen root */
    struct bale_container_usage usage;
    uint64_t rejected;
    struct bale_container *open; /* NULL: the container cannot be opened */
    json_t *extents;             /* NULL: extents are printed at once */
    bool begun;                  /* the table of extents has begun */
};

/* ---- Root slots ------------------------------------------------------------------------------ */

static void read_slot(const uint8_t *bytes, struct root_slot *slot)
{
    static const uint8_t zeros[BALE_ROOT_SIZE];
    int err = bale_root_decode(bytes, &slot->root, slot->feature);

    if (err == BALE_OK)
        slot->state = "valid";
    else if (err == BALE_E_UNSUPPORTED)
        slot->state = "unsupported";
    else
        slot->state = memcmp(bytes, zeros, sizeof zeros) == 0 ? "zero" : "damaged";
}

static int read_slots(int fd, struct inspection *in)
{
    uint8_t head[BALE_DATA_START] = {0};

    if (pread(fd, head, sizeof head, 0) < 0)
        return bale_err_from_errno(errno);
    for (unsigned i = 0; i < BALE_SLOTS; i++)
        read_slot(head + i * BALE_ROOT_SIZE, &in->slots[i]);
    return BALE_OK;
}

static const char *setting_text(const struct bale_root *root, char text[static BALE_SETTING_TEXT])
{
    struct bale_setting setting = {.codec = root->codec, .parameter = (int16_t)root->parameter};

    bale_setting_print(setting, text, BALE_SETTING_TEXT);
    return text;
}

static const char *time_text(int64_t nanoseconds, char text[static 48])
{
    int64_t second = nanoseconds / 1000000000, rest = nanoseconds % 1000000000;
    char date[32];
    struct tm tm;

    if (rest < 0) {
        rest += 1000000000;
        second--;
    }
    time_t time = (time_t)second;
    gmtime_r(&time, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, 48, "%s.%09" PRId64 "Z", date, rest);
    return text;
}

static void print_slot(const struct inspection *in, unsigned number)
{
    const struct root_slot *slot = &in->slots[number];
    const struct bale_root *root = &slot->root;
    char setting[BALE_SETTING_TEXT], when[48];
    bool chosen = in->attr.generation && root->generation == in->attr.generation;

    printf("root %u: %s%s%s\n", number, slot->state, slot->feature[0] ? ": feature " : "",
           slot->feature);
    if (strcmp(slot->state, "valid") != 0)
        return;
    printf("  generation %" PRIu64 "%s, durable %" PRIu64 ", session %" PRIu32 "\n",
           root->generation,
           chosen                             ? " (chosen)"
           : root->generation == in->rejected ? " (rejected: its data is not all there)"
                                              : "",
           root->durable, root->session);
    printf("  size %" PRIu64 ", stored %" PRIu64 ", end %" PRIu64 ", mtime %s\n", root->size,
           root->stored, root->end, time_text(root->mtime, when));
    printf("  codec %s%s, extent %" PRIu32 "%s, mode ", setting_text(root, setting),
           root->flags & BALE_ROOT_CODEC_EXPLICIT ? " (chosen)" : "", root->extent,
           root->flags & BALE_ROOT_EXTENT_EXPLICIT ? " (chosen)" : "");
    printf(root->mode & BALE_ROOT_MODE_IN_CONTAINER ? "%04o" : "of the inode",
           (unsigned)root->mode & 07777u);
    printf(", container 0x%016" PRIx64 "\n", root->container_id);
    if (root->height == 0)
        printf("  no data\n");
    else
        printf("  %s at %" PRIu64 ", %" PRIu32 " bytes, height %u, checksum 0x%016" PRIx64 "\n",
               root->height == BALE_HEIGHT_DIRECT ? "one frame" : "index", root->tree.position,
               root->tree.length, root->height, root->tree.checksum);
}

static json_t *slot_json(const struct inspection *in, unsigned number)
{
    const struct root_slot *slot = &in->slots[number];
    const struct bale_root *root = &slot->root;
    char setting[BALE_SETTING_TEXT];
    json_t *object = json_object();

    bale_json_count(object, "slot", number);
    bale_json_text(object, "state", slot->state);
    if (slot->feature[0])
        bale_json_text(object, "feature", slot->feature);
    if (strcmp(slot->state, "valid") != 0)
        return object;
    json_object_set_new(object, "chosen", json_boolean(root->generation == in->attr.generation));
    json_object_set_new(object, "rejected", json_boolean(root->generation == in->rejected));
    bale_json_count(object, "generation", root->generation);
    bale_json_count(object, "durable", root->durable);
    bale_json_count(object, "session", root->session);
    bale_json_count(object, "size", root->size);
    bale_json_count(object, "end", root->end);
    bale_json_count(object, "stored", root->stored);
    json_object_set_new(object, "mtime", json_integer(root->mtime));
    bale_json_hex(object, "container_id", root->container_id);
    bale_json_count(object, "flags", root->flags);
    bale_json_count(object, "mode", root->mode);
    bale_json_text(object, "codec", setting_text(root, setting));
    bale_json_count(object, "extent", root->extent);
    bale_json_count(object, "height", root->height);
    bale_json_count(object, "tree_position", root->tree.position);
    bale_json_count(object, "tree_length", root->tree.length);
    bale_json_hex(object, "tree_checksum", root->tree.checksum);
    return object;
}

/* ---- Extents --------------------------------------------------------------------------------- */

/* The setting that the extent was encoded with, from its frame's head. False: that is damaged. */
static bool encoded_with(const struct inspection *in, const struct bale_segment *segment,
                         char text[static BALE_SETTING_TEXT])
{
    struct bale_frame frame;

    if (bale_container_read_head(in->open, segment, &frame) != BALE_OK)
        return false;
    bale_setting_print((struct bale_setting){frame.codec, (int16_t)frame.parameter}, text,
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
        print_slot(in, i);
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
        json_array_append_new(roots, slot_json(in, i));
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
    int fd, err = bale_reader_open_file(reader, below, &fd, why);

    if (err != BALE_OK)
        return err;
    err = read_slots(fd, in);
    if (err != BALE_OK) {
        bale_reason_set(why, "cannot be read: %s", bale_err_text(err));
        close(fd);
        return err;
    }
    err = bale_reader_open_container(reader, fd, &in->open, why);
    if (err == BALE_OK) {
        bale_container_attr(in->open, &in->attr);
        in->rejected = bale_container_rejected(in->open);
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
    if (all && in.slots[0].state)
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
