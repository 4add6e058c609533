/* balefs stat: prints how much space files take. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/balefs.h"
#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/size.h"
#include "tools/inspect/metrics.h"
#include "tools/inspect/mount_status.h"
#include "tools/inspect/survey.h"
#include "tools/inspect/watch.h"

static const char help[] =
    "usage: balefs stat [--by-type] [--json] [PATH...]\n"
    "       balefs stat --watch [SECONDS] [--json] MNT\n"
    "       balefs stat --prometheus MNT...\n"
    "\n"
    "Prints how much space files and trees take, in a mount or in a store [.]. For a mount\n"
    "point it also prints the state of its daemon.\n"
    "\n"
    "  length       of the files, with holes\n"
    "  data         the part of it that has data: neither holes nor preallocated ranges\n"
    "  stored       what that takes, compressed\n"
    "  on disk      what is allocated in the store, with roots, indexes, and preallocated\n"
    "               and unused space\n"
    "  raw, referenced\n"
    "               of a codec: the data that was compressed, and the part of it that is\n"
    "               still in files. The rest was overwritten: balefs recompress frees it\n"
    "\n"
    "      --by-type  also by file name extension\n"
    "      --watch [SECONDS]\n"
    "                 prints what the mount's daemon does, every SECONDS [1], until the mount\n"
    "                 ends: bytes written, stored and read a second; the ratio; what was saved\n"
    "                 since it was mounted; what is to be stored; frames; writes that waited.\n"
    "                 On a terminal one line; with --json one object a line\n"
    "      --prometheus\n"
    "                 the state of mounts as metrics in the text format of Prometheus; does\n"
    "                 not count files\n"
    "      --json     an object for one PATH, an array for several; all sizes in bytes:\n"
    "                 {\"path\", \"files\", \"logical\", \"data\", \"stored\", \"disk\", "
    "\"ratio\",\n"
    "                 \"preallocated\", \"lossy\", \"bound\", \"saved\",\n"
    "                 \"codecs\": {\"zstd\": {\"extents\", \"raw\", \"logical\", \"stored\"},\n"
    "                 ...}, \"complete\", \"types\", \"mount\"}\n"
    "                 logical: length, or referenced; lossy: files with elements that were\n"
    "                 rounded; bound: the greatest error bound of any rounding of theirs;\n"
    "                 complete: false if a walk had to end\n"
    "  -h, --help\n"
    "\n"
    "A file with several names counts once for each PATH, and once in all. In a mount, new\n"
    "data counts after it has been stored: see balefs sync. The walk ends at a file or a\n"
    "directory that waits for a store that stalls, or for balefs thaw.\n"
    "\n"
    "Examples:\n"
    "  balefs stat --by-type /mnt/scratch\n"
    "  balefs stat --json /scratch/store | jq .ratio\n"
    "  balefs stat --watch 10 /mnt/scratch\n"
    "  balefs stat --prometheus /mnt/* >balefs.prom.new; mv balefs.prom.new balefs.prom\n"
    "\n"
    "Exit status: 0 done, 1 something could not be read, 2 wrong usage.\n";

enum { OPTION_JSON = 256, OPTION_TYPE, OPTION_WATCH, OPTION_METRICS };

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"by-type", no_argument, NULL, OPTION_TYPE},
    {"watch", optional_argument, NULL, OPTION_WATCH},
    {"prometheus", no_argument, NULL, OPTION_METRICS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct listing {
    json_t *json; /* an array, or NULL: tables */
    bool by_type, several, begun, failed;
    bool is_mount; /* the last path is a mount point, whose daemon answers with status */
    struct bale_control_status status;
    struct bale_types types;
    struct bale_survey survey;
};

static void list_json(struct listing *listing, const char *path, const struct bale_totals *totals,
                      bool complete)
{
    json_t *object = json_object();

    bale_json_path(object, "path", path);
    bale_totals_json(object, totals);
    json_object_set_new(
        object, "saved",
        json_integer((json_int_t)totals->space.data - (json_int_t)totals->space.stored));
    json_object_set_new(object, "complete", json_boolean(complete));
    if (listing->by_type)
        json_object_set_new(object, "types", bale_types_json(&listing->types));
    if (listing->is_mount)
        json_object_set_new(object, "mount", bale_mount_status_json(&listing->status));
    json_array_append_new(listing->json, object);
    bale_types_clear(&listing->types); /* start again for the next path */
}

static void list_row(struct listing *listing, const char *path, const struct bale_totals *totals)
{
    if (!listing->begun)
        bale_space_head("path");
    listing->begun = true;
    bale_space_row(&totals->space, path);
}

static void print_saved(const struct bale_totals *total)
{
    const struct bale_space *space = &total->space;
    char texts[2][BALE_TEXT];

    if (space->data >= space->stored && space->data > 0)
        printf("\nsaved    %s of %s, %.0f%%\n",
               bale_size_text(space->data - space->stored, texts[0]),
               bale_size_text(space->data, texts[1]),
               100 * (double)(space->data - space->stored) / (double)space->data);
    if (total->lossy > 0)
        printf("\nlossy    %llu files, in which elements were rounded, by %.15g at most\n",
               (unsigned long long)total->lossy, total->bound);
    if (total->preallocated > 0)
        printf("\nunused   %s on disk, which are preallocated and have no data yet\n",
               bale_size_text(total->preallocated, texts[0]));
}

/* Prints everything after the rows of the paths. */
static void print_rest(struct listing *listing)
{
    const struct bale_totals *all = &listing->survey.all;

    if (listing->several && listing->begun)
        bale_space_row(&all->space, "in all");
    if (all->space.files > 0) {
        putchar('\n');
        bale_totals_codecs(all);
        print_saved(all);
    }
    if (listing->by_type && all->space.files > 0) {
        putchar('\n');
        bale_types_print(&listing->types);
    }
    if (listing->is_mount && !listing->several)
        bale_mount_status_print(&listing->status);
}

/* False: no further path can be surveyed. */
static bool stat_path(struct listing *listing, const char *path)
{
    struct bale_totals totals;
    int err = bale_survey_path(&listing->survey, path, &totals);

    if (err != BALE_OK)
        listing->failed = true;
    if (err != BALE_OK && err != BALE_E_BUSY)
        return true;
    listing->is_mount = bale_mount_status_get(path, &listing->status);
    if (listing->json)
        list_json(listing, path, &totals, err == BALE_OK);
    else
        list_row(listing, path, &totals);
    return err == BALE_OK;
}

static void stat_paths(struct listing *listing, int count, char **paths)
{
    static char here[] = ".";
    bool more = true;

    listing->several = count > 1;
    listing->survey.once = listing->several && !listing->json;
    if (listing->by_type)
        listing->survey.types = &listing->types;
    bale_survey_begin(&listing->survey);
    if (count == 0)
        stat_path(listing, here);
    for (int i = 0; i < count; i++)
        if (more)
            more = stat_path(listing, paths[i]);
        else
            bale_message("%s: not counted", paths[i]);
    if (listing->json && !bale_json_print_list(listing->json, count <= 1))
        listing->failed = true;
    if (!listing->json)
        print_rest(listing);
    if (listing->survey.failed)
        listing->failed = true;
    bale_survey_end(&listing->survey);
    if (!bale_survey_hangs())
        bale_types_clear(&listing->types);
}

static int stat_run(const struct bale_command *command, int argc, char **argv)
{
    static struct listing listing;
    bool json = false, watch = false, metrics = false;
    double seconds = 1;
    int option;

    while ((option = bale_options_next(command, argc, argv, ":h", long_options)) != BALE_OPTION_END)
        if (option == OPTION_JSON)
            json = true;
        else if (option == OPTION_TYPE)
            listing.by_type = true;
        else if (option == OPTION_METRICS)
            metrics = true;
        else if (option != OPTION_WATCH)
            return bale_options_status(command, option);
        else if (watch = true, optarg && !bale_watch_interval(optarg, &seconds))
            return bale_usage_error(command, "--watch=%s: give seconds, 0.1 to 3600", optarg);
        else if (!optarg && optind < argc && bale_watch_interval(argv[optind], &seconds))
            optind++; /* the word that follows: --watch 5 */
    if (metrics && (argc == optind || json || watch || listing.by_type))
        return bale_usage_error(command, "--prometheus needs MNT, and goes with no other option");
    if (metrics)
        return bale_metrics_print(argc - optind, argv + optind);
    if (watch && argc - optind > 1 && access(argv[optind], F_OK) != 0)
        return bale_usage_error(command, "--watch %s: give seconds, 0.1 to 3600", argv[optind]);
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
