/* balefs scrub: reads everything that a mounted store has, beside the programs that use it. */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "kernels/frame/registry.h"
#include "tools/balefs.h"
#include "tools/common/inode_set.h"
#include "tools/common/json.h"
#include "tools/common/location.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/progress.h"
#include "tools/common/rate_limit.h"
#include "tools/common/reader.h"
#include "tools/common/size.h"
#include "tools/common/stop_signal.h"
#include "tools/inspect/fault.h"
#include "tools/inspect/scrub_file.h"
#include "tools/inspect/scrub_state.h"

static const char help[] =
    "usage: balefs scrub [--rate SIZE/s] [--restart] [--json] MNT\n"
    "\n"
    "Reads and decompresses everything that the store of a mount has stored, verifies all\n"
    "checksums, and prints a line for each problem, as balefs fsck --data does for a store\n"
    "that is not mounted. It reads the store beside the programs that use the mount, when they\n"
    "leave the disk and the processors idle; so it needs the right to read the store: be root\n"
    "or the store's owner. After it was ended early, by any cause, the next run goes on where\n"
    "it was: .balefs/scrub.json in the store says where.\n"
    "\n"
    "  -r, --rate SIZE/s  reads at most so many stored bytes a second, as 20M/s; 64K or more\n"
    "      --restart      begins again\n"
    "      --json         {\"mount\", \"store\", \"begun\", \"continued\", \"finished\", "
    "\"files\",\n"
    "                     \"bytes\", \"damaged\", \"problems\": [{\"path\", \"what\", \"offset\",\n"
    "                     \"length\", \"position\", \"expected\", \"found\"}, ...]} bytes: as "
    "they\n"
    "                     are stored; damaged: files\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs scrub /mnt/scratch\n"
    "  balefs scrub --rate 20M/s /mnt/scratch &\n"
    "\n"
    "Exit status: 0 nothing is damaged, 1 something is or could not be read, 2 wrong usage;\n"
    "after a signal, as that signal's.\n";

enum { OPTION_JSON = 256, OPTION_RESTART };

static const struct option long_options[] = {
    {"rate", required_argument, NULL, 'r'},
    {"restart", no_argument, NULL, OPTION_RESTART},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

#define KEEP_EVERY 2 /* seconds */

struct scrub {
    const char *mount;
    const char *store;
    struct bale_reader reader;
    struct bale_scratch *scratch;
    struct bale_rate_limit limit;
    struct bale_scrub_state state;
    struct bale_inode_set seen;
    struct bale_progress progress;
    time_t kept;
    const char *below; /* the file that is read */
    bool damaged;      /* it is */
    bool failed;       /* something could not be read */
    bool unkept;       /* the state could not be written, and that was said */
    bool restart, as_json;
};

/* Lowers the priority of this process for processor and disk, because programs come first. */
static void stand_back(void)
{
    enum { WHO_PROCESS = 1, CLASS_IDLE = 3, CLASS_SHIFT = 13 };

    (void)setpriority(PRIO_PROCESS, 0, 19);
    (void)syscall(SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE << CLASS_SHIFT);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void say(struct scrub *scrub, const char *below, const char *why)
{
    bale_progress_end(&scrub->progress);
    bale_message("%s%s%s: %s", scrub->mount, *below ? "/" : "", below, why);
    scrub->failed = true;
}

static void print_problem(void *arg, const struct bale_fault *fault)
{
    struct scrub *scrub = arg;
    char text[512], path[8192], clean[8192];

    scrub->damaged = true;
    json_array_append_new(scrub->state.problems, bale_fault_json(scrub->below, fault));
    if (scrub->as_json)
        return;
    bale_fault_text(fault, text, sizeof text);
    snprintf(path, sizeof path, "%s/%s: %s", scrub->mount, scrub->below, text);
    bale_progress_end(&scrub->progress);
    printf("%s\n", bale_clean_text(path, clean, sizeof clean));
}

static void keep(struct scrub *scrub, bool finished)
{
    scrub->kept = time(NULL);
    if (bale_scrub_state_keep(&scrub->state, finished) || scrub->unkept)
        return;
    scrub->unkept = true;
    bale_progress_end(&scrub->progress);
    bale_message("%s/" BALE_STORE_DIR "/scrub.json: cannot be written: %s: if this scrub is ended "
                 "early, the next one begins again",
                 scrub->store, strerror(errno));
}

static bool next_frame(void *arg, uint64_t offset, uint64_t stored)
{
    struct scrub *scrub = arg;

    bale_scrub_state_move(&scrub->state, scrub->below, offset);
    scrub->state.bytes += stored;
    bale_progress_show(&scrub->progress, scrub->state.files, scrub->state.bytes);
    if (time(NULL) - scrub->kept >= KEEP_EVERY)
        keep(scrub, false);
    bale_rate_limit_keep(&scrub->limit, stored);
    return !bale_stop_signal;
}

static void read_file(struct scrub *scrub, const char *below, uint64_t offset)
{
    struct bale_scrub_file file = {.reader = &scrub->reader,
                                   .scratch = scrub->scratch,
                                   .below = below,
                                   .offset = offset,
                                   .next = next_frame,
                                   .problem = print_problem,
                                   .arg = scrub};
    struct bale_reason why;

    scrub->below = below;
    scrub->damaged = false;
    int err = bale_scrub_file(&file, &why);
    scrub->state.damaged += scrub->damaged;
    if (err == BALE_E_STALE)
        say(scrub, below, "changed all the time, and was not read to its end");
    else if (err != BALE_OK && err != BALE_E_NOENT)
        say(scrub, below, why.text);
    if (bale_stop_signal)
        return;
    scrub->state.files += err != BALE_E_NOENT;
    bale_scrub_state_move(&scrub->state, below, UINT64_MAX);
}

/* ---- The tree -------------------------------------------------------------------------------- */

static int compare_entries(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Whether an earlier run has read everything in the directory. */
static bool is_done(const char *directory, const char *last)
{
    size_t length = strlen(directory);

    return length > 0 && bale_scrub_order(directory, last) < 0 &&
           !(strncmp(directory, last, length) == 0 && last[length] == '/');
}

static void visit_file(struct scrub *scrub, const FTSENT *entry, const char *below,
                       const char *last, uint64_t offset)
{
    const struct stat *st = entry->fts_statp;
    int order = last ? bale_scrub_order(below, last) : 1;

    if (order < 0 || (order == 0 && offset == UINT64_MAX))
        return;
    if (st->st_nlink == 1 || bale_inode_set_add(&scrub->seen, st->st_dev, st->st_ino) != 0)
        read_file(scrub, below, order == 0 ? offset : 0);
}

/* last, offset: what an earlier run has read last. */
static void visit(struct scrub *scrub, FTS *fts, FTSENT *entry, const char *last, uint64_t offset)
{
    const char *below = entry->fts_path + strlen(scrub->store);

    below += strspn(below, "/");
    switch (entry->fts_info) {
    case FTS_D:
        if ((entry->fts_level == 1 && strcmp(entry->fts_name, BALE_STORE_DIR) == 0) ||
            (last && is_done(below, last)))
            fts_set(fts, entry, FTS_SKIP);
        break;
    case FTS_F:
        visit_file(scrub, entry, below, last, offset);
        break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        if (entry->fts_errno != ENOENT)
            say(scrub, below, strerror(entry->fts_errno));
        break;
    default:
        break;
    }
}

static void walk(struct scrub *scrub)
{
    char *roots[] = {(char *)scrub->store, NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, compare_entries);
    char *last = scrub->state.path ? strdup(scrub->state.path) : NULL;
    const uint64_t offset = scrub->state.offset;
    FTSENT *entry;

    while (fts && !bale_stop_signal && (errno = 0, entry = fts_read(fts)))
        visit(scrub, fts, entry, last, offset);
    if (!bale_stop_signal && errno != 0)
        say(scrub, "", strerror(errno));
    if (fts)
        fts_close(fts);
    free(last);
}

/* ---- The command ----------------------------------------------------------------------------- */

static bool report(const struct scrub *scrub)
{
    const struct bale_scrub_state *state = &scrub->state;
    char size[BALE_TEXT];

    if (!scrub->as_json) {
        printf("%s: %" PRIu64 " files, %s read: %" PRIu64 " damaged%s%s\n", scrub->mount,
               state->files, bale_size_text(state->bytes, size), state->damaged,
               scrub->failed ? ", and not everything could be read" : "",
               bale_stop_signal ? "; interrupted: the next run goes on" : "");
        return true;
    }
    json_t *object = json_object();
    bale_json_path(object, "mount", scrub->mount);
    bale_json_path(object, "store", scrub->store);
    bale_json_text(object, "begun", state->begun);
    json_object_set_new(object, "continued", json_boolean(state->continued));
    json_object_set_new(object, "finished", json_boolean(!bale_stop_signal));
    bale_json_count(object, "files", state->files);
    bale_json_count(object, "bytes", state->bytes);
    bale_json_count(object, "damaged", state->damaged);
    json_object_set(object, "problems", state->problems);
    return bale_json_print(object);
}

static int scrub_store(struct scrub *scrub)
{
    struct bale_reason why;
    int err = bale_scrub_state_open(bale_store_root_fd(scrub->reader.store), scrub->restart,
                                    &scrub->state, &why);

    if (err == BALE_OK)
        err = bale_scratch_create(&scrub->scratch);
    if (err != BALE_OK) {
        bale_message("%s: %s", scrub->mount, err == BALE_E_BUSY ? why.text : bale_err_text(err));
        bale_scrub_state_close(&scrub->state);
        return BALE_EXIT_FAILED;
    }
    if (why.text[0] != '\0')
        bale_message("%s/%s", scrub->store, why.text);
    if (scrub->state.continued)
        bale_message("%s: goes on with the scrub of %s, which was ended early", scrub->mount,
                     scrub->state.begun);
    setvbuf(stdout, NULL, _IOLBF, 0);
    bale_stop_signals_note();
    stand_back();
    keep(scrub, false);
    bale_progress_begin(&scrub->progress, "scrubbed");
    walk(scrub);
    bale_progress_end(&scrub->progress);
    keep(scrub, !bale_stop_signal);
    bool done = report(scrub) && !scrub->failed && scrub->state.damaged == 0;
    bale_scratch_destroy(scrub->scratch);
    bale_scrub_state_close(&scrub->state);
    bale_inode_set_clear(&scrub->seen);
    return done ? BALE_EXIT_DONE : BALE_EXIT_FAILED;
}

static int scrub_mount(struct scrub *scrub, const struct bale_location *location)
{
    struct bale_reason why;

    if (!location->mounted || !location->store) {
        bale_message("%s: is in no mount: balefs fsck --data checks a store that is not mounted",
                     scrub->mount);
        return BALE_EXIT_FAILED;
    }
    scrub->mount = location->top;
    scrub->store = location->store;
    if (bale_reader_open(scrub->store, BALE_STORE_UNLOCKED, &scrub->reader, &why) != BALE_OK) {
        bale_message("%s", why.text);
        return BALE_EXIT_FAILED;
    }
    int status = scrub_store(scrub);
    bale_reader_close(&scrub->reader);
    return status;
}

static int scrub_run(const struct bale_command *command, int argc, char **argv)
{
    struct bale_location location;
    struct scrub scrub = {0};
    struct bale_reason why;
    int option;

    while ((option = bale_options_next(command, argc, argv, ":r:h", long_options)) !=
           BALE_OPTION_END)
        if (option == OPTION_RESTART)
            scrub.restart = true;
        else if (option == OPTION_JSON)
            scrub.as_json = true;
        else if (option != 'r')
            return bale_options_status(command, option);
        else if (bale_rate_limit_parse(optarg, &scrub.limit, &why) != BALE_OK)
            return bale_usage_error(command, "--rate %s: %s", optarg, why.text);
    if (argc - optind != 1)
        return bale_usage_error(command, optind < argc ? "one MNT at a time" : "MNT is missing");
    scrub.mount = argv[optind];
    if (bale_location_find(argv[optind], &location) != BALE_OK)
        return BALE_EXIT_FAILED;
    int status = scrub_mount(&scrub, &location);
    bale_location_free(&location);
    if (bale_stop_signal) {
        fflush(stdout);
        raise(bale_stop_signal);
    }
    return status;
}

const struct bale_command bale_command_scrub = {
    .name = "scrub",
    .summary = "reads everything of a mounted store, and reports damage",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = scrub_run,
};
