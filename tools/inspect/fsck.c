/* balefs fsck: checks a store and, with --repair, mends it. */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/engine/engine.h"
#include "tools/balefs.h"
#include "tools/common/message.h"
#include "tools/common/mounts.h"
#include "tools/common/options.h"
#include "tools/common/reader.h"
#include "tools/common/size.h"
#include "tools/inspect/fsck.h"
#include "tools/inspect/repair.h"

/* Exit codes of fsck(8). */
enum {
    EXIT_CORRECTED = 1,
    EXIT_ERRORS_LEFT = 4,
    EXIT_OPERATIONAL = 8,
    EXIT_USAGE = 16,
    EXIT_CANCELLED = 32,
    EXIT_DOUBT = 64 /* not of fsck(8) */
};

static const char help[] =
    "usage: balefs fsck [--data] [--repair [--yes] [--salvage] [--keep-doubts | --root ROOT]]\n"
    "                   [-j N] [--json] STORE\n"
    "\n"
    "Checks a store that is not mounted: its own files, and the roots and the index of every\n"
    "file in it. Changes nothing without --repair. Prints a line for each problem:\n"
    "PATH: offset N: what is wrong: expected X found Y.\n"
    "\n"
    "  -d, --data    also read all data, verify its checksums and decompress it\n"
    "      --repair  make the store's own files again if they are lost or damaged: from\n"
    "                their copies, or else from what the files in the store say; restore\n"
    "                lost pages of a file's index from its frames; and settle roots in\n"
    "                doubt (below): what is shown now stays, what is damaged in it is\n"
    "                accepted, and the file can be written again. On a terminal it lists\n"
    "                the problems and what it will do, and asks first\n"
    "  -y, --yes     do not ask\n"
    "      --salvage\n"
    "                with --repair: where lost pages cannot be restored, take the newest of\n"
    "                the frames that are whole. What was overwritten, punched or cut off may\n"
    "                come back; what no frame has gives an I/O error until it is written\n"
    "      --keep-doubts\n"
    "                with --repair: settle no root in doubt\n"
    "      --root ROOT\n"
    "                with --repair: older or newest, the root of a file in doubt that stays\n"
    "                instead\n"
    "  -j, --jobs N  check so many files at once [as many as there are processors]\n"
    "      --json    {\"store\", \"files\", \"bytes\", \"damaged\", \"problems\":\n"
    "                [{\"path\", \"what\", \"offset\", \"length\", \"position\",\n"
    "                \"expected\", \"found\"}, ...], \"doubts\": [{\"path\", \"what\",\n"
    "                \"serves\"}, ...], \"notes\", \"repaired\", \"unplaced\": [{\"path\",\n"
    "                \"offset\", \"length\", \"position\", \"generation\"}, ...]}\n"
    "  -h, --help\n"
    "\n"
    "The root of a file is in doubt if its last commit is not whole and was written in another\n"
    "store (the file was copied from there), or before the list of sessions was lost. balefs\n"
    "export and balefs cat read either state (--root).\n"
    "\n"
    "Examples:\n"
    "  balefs fsck --data /scratch/store\n"
    "  balefs fsck --repair /scratch/store\n"
    "\n"
    "Exit status, as fsck(8): 0 clean, 1 repaired, 4 problems found, 8 could not be checked,\n"
    "16 wrong usage, 32 cancelled; and 64 roots in doubt. They are added up.\n";

enum { OPTION_JSON = 256, OPTION_REPAIR, OPTION_ROOT, OPTION_KEEP_DOUBTS, OPTION_SALVAGE };

static const struct option long_options[] = {
    {"data", no_argument, NULL, 'd'},
    {"jobs", required_argument, NULL, 'j'},
    {"repair", no_argument, NULL, OPTION_REPAIR},
    {"yes", no_argument, NULL, 'y'},
    {"keep-doubts", no_argument, NULL, OPTION_KEEP_DOUBTS},
    {"root", required_argument, NULL, OPTION_ROOT},
    {"salvage", no_argument, NULL, OPTION_SALVAGE},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* ---- The store ------------------------------------------------------------------------------- */

/* Checks settings in attributes. A setting that this program cannot parse is ignored by it, but
 * another version may have written it. */
static void check_settings(struct bale_fsck *fsck, const char *path, const char *below)
{
    static const char *const names[] = {BALE_XATTR_CODEC, BALE_XATTR_EXTENT, BALE_XATTR_MATCH};
    char value[4096], clean[4096], text[BALE_REASON_SIZE + 16];
    struct bale_reason why;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ssize_t got = lgetxattr(path, names[i], value, sizeof value);
        if (got < 0 || bale_properties_check(names[i], value, (size_t)got, clean, &why) == BALE_OK)
            continue;
        snprintf(text, sizeof text, "note: %s", why.text);
        bale_fsck_note(fsck, below, text);
    }
}

static void visit(struct bale_fsck *fsck, FTS *fts, FTSENT *entry)
{
    const char *below = entry->fts_path + strlen(bale_store_path(fsck->reader.store));
    const struct stat *st = entry->fts_statp;

    below += strspn(below, "/");
    switch (entry->fts_info) {
    case FTS_D:
        if (entry->fts_level == 1 && strcmp(entry->fts_name, BALE_STORE_DIR) == 0)
            fts_set(fts, entry, FTS_SKIP);
        else
            check_settings(fsck, entry->fts_path, below);
        break;
    case FTS_F:
        if (st->st_nlink == 1 || bale_inode_set_add(&fsck->seen, st->st_dev, st->st_ino) != 0)
            bale_fsck_submit(fsck, below);
        break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        bale_fsck_unreadable(fsck, below, strerror(entry->fts_errno));
        break;
    default:
        break;
    }
}

static void check_tree(struct bale_fsck *fsck)
{
    char *roots[] = {(char *)bale_store_path(fsck->reader.store), NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    FTSENT *entry;

    while (fts && (errno = 0, entry = fts_read(fts)))
        visit(fsck, fts, entry);
    if (errno != 0)
        bale_fsck_unreadable(fsck, "", strerror(errno));
    if (fts)
        fts_close(fts);
}

static int conclude(struct bale_fsck *fsck)
{
    char size[BALE_TEXT];
    bool printed = true;

    bale_progress_end(&fsck->progress);
    if (fsck->as_json)
        printed = bale_fsck_print(fsck);
    else
        printf("%s: %" PRIu64 " files, %s stored: %" PRIu64 " damaged%s%s\n",
               bale_store_path(fsck->reader.store), fsck->files, bale_size_text(fsck->bytes, size),
               fsck->damaged, fsck->doubts ? ", and roots are in doubt" : "",
               fsck->unreadable ? ", and not everything could be checked" : "");
    return (json_array_size(fsck->repaired) > 0 && !fsck->plan ? EXIT_CORRECTED : 0) |
           (fsck->damaged ? EXIT_ERRORS_LEFT : 0) | (fsck->doubts ? EXIT_DOUBT : 0) |
           (fsck->unreadable || !printed ? EXIT_OPERATIONAL : 0);
}

static void note_reach(struct bale_fsck *fsck)
{
    const char *reach = bale_store_reach(fsck->reader.store);
    char text[BALE_REASON_SIZE];

    if (!reach)
        return;
    snprintf(text, sizeof text, "note: the store %s: balefs set --closed closes it", reach);
    bale_fsck_note(fsck, "", text);
}

/* Without --repair, nothing was changed. With it, the store is as after a crash: a repair replaces
 * each of the store's own files as a whole. */
static void cancel_fsck(int number)
{
    (void)number;
    _exit(EXIT_CANCELLED);
}

/* Opens the store; with --repair after making what opening needs. */
static int open_store(struct bale_fsck *fsck, const char *path, struct bale_reason *why)
{
    struct bale_reason done = {0};
    bool write = fsck->repair && !fsck->plan;
    int err = write ? bale_repair_volume(path, &done, why) : BALE_OK;

    if (err == BALE_OK)
        err = bale_reader_open_silently(path, write ? BALE_STORE_REPAIR : BALE_STORE_READONLY,
                                        &fsck->reader, why);
    if (err == BALE_OK && done.text[0] != '\0')
        bale_fsck_repaired(fsck, BALE_STORE_DIR "/volume.json", done.text);
    return err;
}

/* Reports what opening has found in .balefs. */
static void check_own_files(struct bale_fsck *fsck)
{
    const struct bale_store_notice *notice;

    for (unsigned i = 0; (notice = bale_store_notice(fsck->reader.store, i)); i++)
        if (notice->repaired) {
            bale_fsck_repaired(fsck, notice->below, notice->text);
        } else {
            bale_fsck_problem(fsck, notice->below, &(struct bale_fault){.what = notice->text});
            fsck->damaged++;
        }
}

static int check_store(struct bale_fsck *fsck, const char *path)
{
    struct sigaction action = {.sa_handler = cancel_fsck};
    struct bale_mount_line mount;
    struct bale_reason why;
    int status = EXIT_OPERATIONAL;

    if (bale_mounts_here(path, &mount)) {
        bale_message(
            "%s: is not a store but a mount of the store %s: unmount it with balefs umount "
            "%s, then check the store",
            path, mount.source, path);
        bale_mount_line_free(&mount);
        return EXIT_OPERATIONAL;
    }
    /* Each line is printed at once, also if the check is cancelled later. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    int err = open_store(fsck, path, &why);

    if (err != BALE_OK) {
        bale_message("%s", why.text);
        return err == BALE_E_CORRUPT ? EXIT_ERRORS_LEFT : EXIT_OPERATIONAL;
    }
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    err = bale_pool_create("balefs-pool", fsck->threads, &fsck->pool);
    if (err == BALE_OK) {
        bale_progress_begin(&fsck->progress, "checked");
        check_own_files(fsck);
        note_reach(fsck);
        check_tree(fsck);
        bale_pool_destroy(fsck->pool);
        status = conclude(fsck);
    } else {
        bale_message("cannot start threads: %s", bale_err_text(err));
    }
    bale_inode_set_clear(&fsck->seen);
    err = bale_store_close(fsck->reader.store, true, NULL);
    if (err != BALE_OK) {
        bale_message("%s: cannot be synced: %s: check the disk", path, bale_err_text(err));
        status |= EXIT_OPERATIONAL;
    }
    return status;
}

/* Checks the store with the settings of fsck. */
static int check_once(const struct bale_fsck *settings, const char *path)
{
    struct bale_fsck fsck = *settings;

    fsck.problems = json_array();
    fsck.doubts_list = json_array();
    fsck.notes = json_array();
    fsck.repaired = json_array();
    fsck.unplaced = json_array();
    int status = check_store(&fsck, path);
    json_decref(fsck.problems);
    json_decref(fsck.doubts_list);
    json_decref(fsck.notes);
    json_decref(fsck.repaired);
    json_decref(fsck.unplaced);
    return status;
}

static bool user_agrees(const char *path)
{
    char answer[16] = "";

    fprintf(stderr,
            "%s: repair what is listed? What a repair replaces in files is kept in %s/%s. [y/N] ",
            path, path, BALE_STORE_DIR "/damaged");
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* On a terminal: lists the problems and what would be done, then asks. */
static int check_and_ask(struct bale_fsck *fsck, const char *path)
{
    fsck->plan = true;
    int status = check_once(fsck, path);
    if (status == 0 || status & (EXIT_USAGE | EXIT_CANCELLED) || !user_agrees(path))
        return status;
    fsck->plan = false;
    return check_once(fsck, path);
}

static int fsck_run(const struct bale_command *command, int argc, char **argv)
{
    struct bale_fsck fsck = {.threads = bale_cpus(),
                             .lock = PTHREAD_MUTEX_INITIALIZER,
                             .less = PTHREAD_COND_INITIALIZER};
    bool asks = isatty(STDIN_FILENO);
    int option, status;

    while ((option = bale_options_next(command, argc, argv, ":dyj:h", long_options)) !=
           BALE_OPTION_END)
        if (option == 'd')
            fsck.data = true;
        else if (option == 'y')
            asks = false;
        else if (option == OPTION_REPAIR)
            fsck.repair = true;
        else if (option == OPTION_KEEP_DOUBTS)
            fsck.keep_doubts = true;
        else if (option == OPTION_SALVAGE)
            fsck.salvage = true;
        else if (option == OPTION_JSON)
            fsck.as_json = true;
        else if (option != 'j' && option != OPTION_ROOT)
            return bale_options_status(command, option);
        else if ((status = option == 'j' ? bale_count_take(command, "jobs", 1024, &fsck.threads)
                                         : bale_root_take(command, &fsck.pick)) != 0)
            return status;
    if (argc - optind != 1)
        return bale_usage_error(command,
                                optind < argc ? "one STORE at a time" : "STORE is missing");
    if (fsck.pick != BALE_PICK_BY_RULES && !fsck.repair)
        return bale_usage_error(command, "--root is for --repair: balefs cat and balefs export "
                                         "have a --root of their own");
    if (fsck.salvage && !fsck.repair)
        return bale_usage_error(command, "--salvage is for --repair");
    return fsck.repair && asks && !fsck.as_json ? check_and_ask(&fsck, argv[optind])
                                                : check_once(&fsck, argv[optind]);
}

const struct bale_command bale_command_fsck = {
    .name = "fsck",
    .summary = "checks a store, and repairs it",
    .help = help,
    .usage = EXIT_USAGE,
    .run = fsck_run,
};
