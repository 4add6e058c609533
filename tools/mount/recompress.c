/* balefs recompress: has the daemon of a mount rewrite what is stored. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "format/err.h"
#include "format/reason.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/size.h"
#include "tools/common/stop_signal.h"
#include "tools/mount/recompress.h"

static const char help[] =
    "usage: balefs recompress [--set] [--codec CODEC] [--rate SIZE/s] [--dry-run] [--json]\n"
    "                         PATH...\n"
    "       balefs recompress --round [--codec CODEC] [--rate SIZE/s] [--json] FILE...\n"
    "\n"
    "Rewrites the contents of files and trees in a mount, with the codec that balefs get\n"
    "shows for each file, or with CODEC, and joins the pieces that small writes left. Files\n"
    "may be in use and written meanwhile. Times, modes and capabilities stay. The command\n"
    "gives way to programs that use the mount, and may be ended at any time: it prints what\n"
    "was done, and the next run skips what is already stored as requested.\n"
    "\n"
    "A file keeps the codec that was recorded when it was created or by balefs set, even if\n"
    "its directory is set later. --set changes that, as in: balefs set DIR zstd:9 and\n"
    "balefs recompress --set DIR.\n"
    "\n"
    "An extent that would not become smaller is kept, unless its codec differs from the one\n"
    "that was chosen by CODEC or, for the file, by --set or balefs set.\n"
    "\n"
    "  -s, --set          records for each file the codec that a new file of its name would\n"
    "                     get, from match lines, directory and store, or CODEC. Lossy ones\n"
    "                     are left to balefs set\n"
    "  -c, --codec CODEC  {codecs}\n"
    "                     (balefs help codecs), also where a match line says another. Later\n"
    "                     writes use the file's codec, unless you also give --set\n"
    "      --round        first rounds the elements that FILE has, within the error bound of\n"
    "                     its codec (cusz), as if they were written again: its values and\n"
    "                     times change. Without it a bound concerns later writes alone.\n"
    "                     CODEC, which has a bound, is recorded for FILE before; rel=E without\n"
    "                     range= is of FILE's own range, for which it is read first\n"
    "  -r, --rate SIZE/s  processes at most so many bytes of files a second, as 20M/s;\n"
    "                     64K or more\n"
    "  -n, --dry-run      compresses, prints what would be gained, and stores nothing\n"
    "      --json         an object for one PATH, an array for several; sizes in bytes:\n"
    "                     {\"path\", \"files\", \"extents\", \"renewed\", \"logical\",\n"
    "                     \"before\", \"after\", \"damaged\", \"interrupted\", \"rounded\"}\n"
    "                     extents: visited; renewed: rewritten; rounded: with elements that\n"
    "                     changed; logical, before, after: bytes of files in rewritten\n"
    "                     extents, and their stored size before and after\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs recompress --set /mnt/scratch/run1\n"
    "  balefs recompress --rate 20M/s --dry-run /mnt/scratch\n"
    "  balefs recompress --round --codec cusz:f32,rel=1e-3 old.f32\n"
    "\n"
    "Exit status: 0 done, 1 something could not be done, 2 wrong usage; after a signal, as\n"
    "that signal's.\n";

enum { OPTION_JSON = 256, OPTION_ROUND };

static const struct option long_options[] = {
    {"codec", required_argument, NULL, 'c'}, {"set", no_argument, NULL, 's'},
    {"rate", required_argument, NULL, 'r'},  {"round", no_argument, NULL, OPTION_ROUND},
    {"dry-run", no_argument, NULL, 'n'},     {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
};

struct recompress {
    struct bale_recompress_work work;
    json_t *json; /* an array, or NULL: text */
};

static void print_tree(const struct bale_recompress_work *work, const char *path)
{
    const struct bale_control_recompress *sum = &work->sum;
    char before[BALE_TEXT], after[BALE_TEXT], clean[4096];

    printf("%s: %" PRIu64 " files, %" PRIu64 " extents", bale_clean_text(path, clean, sizeof clean),
           work->files, sum->extents);
    if (work->round)
        printf(", %" PRIu64 " rounded", work->rounded);
    printf(", %" PRIu64 " %s", sum->rewritten,
           work->dry     ? "to be rewritten"
           : work->round ? "only rewritten"
                         : "rewritten");
    if (sum->rewritten > 0)
        printf(": %s %s %s", bale_size_text(sum->before, before),
               work->dry ? "would become" : "became", bale_size_text(sum->after, after));
    puts(bale_stop_signal ? "; interrupted: the next run goes on" : "");
    fflush(stdout);
}

static json_t *tree_json(const struct bale_recompress_work *work, const char *path)
{
    const struct bale_control_recompress *sum = &work->sum;
    json_t *object = json_object();

    bale_json_path(object, "path", path);
    bale_json_count(object, "files", work->files);
    bale_json_count(object, "extents", sum->extents);
    bale_json_count(object, "renewed", sum->rewritten);
    bale_json_count(object, "logical", sum->logical);
    bale_json_count(object, "before", sum->before);
    bale_json_count(object, "after", sum->after);
    bale_json_count(object, "damaged", sum->damaged);
    json_object_set_new(object, "interrupted", json_boolean(bale_stop_signal));
    bale_json_count(object, "rounded", work->rounded);
    return object;
}

static void do_tree(struct recompress *recompress, const char *path,
                    const struct bale_location *location)
{
    struct bale_recompress_work *work = &recompress->work;

    work->files = work->rounded = 0;
    work->sum = (struct bale_control_recompress){0};
    bale_new_codecs_begin(&work->new_codecs, location->store);
    if (work->set && !work->codec && !work->new_codecs.open)
        bale_recompress_say(work, path,
                            "what new files get is not known, as its store cannot be read here: "
                            "give --codec");
    else
        bale_recompress_tree(work, path, location->real);
    bale_progress_end(&work->progress);
    if (recompress->json)
        json_array_append_new(recompress->json, tree_json(work, path));
    else
        print_tree(work, path);
    bale_recompress_note_path(work);
    bale_new_codecs_end(&work->new_codecs);
}

/* False: it cannot be recompressed; a message was printed. */
static bool find_tree(struct bale_recompress_work *work, const char *path,
                      struct bale_location *location)
{
    struct statvfs mount;
    struct stat st;

    if (bale_location_find(path, location) != BALE_OK) {
        work->failed = true;
        return false;
    }
    if (!location->mounted)
        bale_recompress_say(work, path,
                            "lies in a store, not in a mount: mount the store, and name it there");
    else if (statvfs(location->real, &mount) == 0 && mount.f_flag & ST_RDONLY)
        bale_recompress_say(work, path, "cannot be written: mount the store without -o ro");
    else if (work->round && (stat(location->real, &st) != 0 || !S_ISREG(st.st_mode)))
        bale_recompress_say(work, path,
                            "is no regular file: name the files whose values may change");
    else
        return true;
    bale_location_free(location);
    return false;
}

static void do_paths(struct recompress *recompress, int count, char **paths)
{
    struct bale_recompress_work *work = &recompress->work;
    struct bale_control_status mount;
    struct bale_location location;

    bale_progress_begin(&work->progress, "recompressed");
    for (int i = 0; i < count && !work->progress.quiet; i++) {
        char *real = realpath(paths[i], NULL);
        if (real)
            bale_recompress_count(work, real);
        free(real);
    }
    clock_gettime(CLOCK_MONOTONIC, &work->begun);
    for (int i = 0; i < count && !bale_stop_signal; i++) {
        if (bale_control_status_by_name(paths[i], &mount) && mount.frozen)
            bale_message("%s: its mount is frozen: waiting for balefs thaw", paths[i]);
        if (find_tree(work, paths[i], &location)) {
            do_tree(recompress, paths[i], &location);
            bale_location_free(&location);
        }
    }
    bale_recompress_advise(work);
}

/* ---- Options ---- */

static int take_codec(const struct bale_command *command, const char *text, char *clean,
                      struct bale_recompress_work *work)
{
    struct bale_reason why;

    if (bale_setting_parse(text, &work->setting, &why) != BALE_OK)
        return bale_codec_error(command, "--codec %s: %s", text, why.text);
    if (work->setting.field.type != BALE_FIELD_NONE)
        return bale_usage_error(
            command,
            "--codec %s: says something about an array, which differs from "
            "file to file: give it to the files with balefs set, and recompress "
            "without --codec, or round them with --round",
            text);
    bale_setting_print(work->setting, clean, BALE_SETTING_TEXT);
    work->codec = clean;
    return 0;
}

/* The codec of --round. */
static int take_bound(const struct bale_command *command, const char *text,
                      struct bale_recompress_work *work)
{
    struct bale_reason why;

    if (bale_setting_parse_relative(text, &work->setting, &work->relative, &why) != BALE_OK)
        return bale_codec_error(command, "--codec %s: %s", text, why.text);
    if (!bale_codec_is_lossy(work->setting.codec))
        return bale_usage_error(
            command, "--codec %s: has no error bound, as cusz:f32,abs=1e-3 has for --round", text);
    work->bounds = true;
    return 0;
}

static int take_rate(const struct bale_command *command, const char *text,
                     struct bale_recompress_work *work)
{
    struct bale_reason why;

    if (bale_rate_limit_parse(text, &work->limit, &why) != BALE_OK)
        return bale_usage_error(command, "--rate %s: %s", text, why.text);
    return 0;
}

static int recompress_run(const struct bale_command *command, int argc, char **argv)
{
    char codec[BALE_SETTING_TEXT];
    const char *text = NULL;
    struct recompress recompress = {0};
    struct bale_recompress_work *work = &recompress.work;
    int option, status = 0;

    while (status == 0 && (option = bale_options_next(command, argc, argv, ":c:sr:nh",
                                                      long_options)) != BALE_OPTION_END)
        if (option == 'c')
            text = optarg;
        else if (option == 's')
            work->set = true;
        else if (option == 'r')
            status = take_rate(command, optarg, work);
        else if (option == 'n')
            work->dry = true;
        else if (option == OPTION_ROUND)
            work->round = true;
        else if (option == OPTION_JSON)
            recompress.json = recompress.json ? recompress.json : json_array();
        else
            return bale_options_status(command, option);
    if (status == 0 && work->round && (work->set || work->dry))
        status = bale_usage_error(command, "--round rounds within the bound that is recorded for a "
                                           "file, or that of --codec, so give neither --set nor "
                                           "--dry-run");
    if (status == 0 && text)
        status =
            work->round ? take_bound(command, text, work) : take_codec(command, text, codec, work);
    if (status == 0 && optind == argc)
        status = bale_usage_error(command, "PATH is missing");
    if (status != 0)
        return status;
    bale_stop_signals_note();
    do_paths(&recompress, argc - optind, argv + optind);
    if (recompress.json && !bale_json_print_list(recompress.json, argc - optind == 1))
        work->failed = true;
    if (bale_stop_signal) {
        fflush(stdout);
        raise(bale_stop_signal);
    }
    return work->failed ? BALE_EXIT_FAILED : BALE_EXIT_DONE;
}

const struct bale_command bale_command_recompress = {
    .name = "recompress",
    .summary = "rewrites the data of files with the codec now chosen for them",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = recompress_run,
};
