/* balefs fsck: checks a store without changing it. */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/pool.h"
#include "kernels/engine/engine.h"
#include "tools/balefs.h"
#include "tools/common/inode_set.h"
#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/common/mounts.h"
#include "tools/common/options.h"
#include "tools/common/progress.h"
#include "tools/common/reader.h"
#include "tools/common/size.h"
#include "tools/inspect/fault.h"
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
    "usage: balefs fsck [--data] [--repair [--root ROOT]] [-j N] [--json] STORE\n"
    "\n"
    "Checks a store that is not mounted: its own files, and the roots and the index of every\n"
    "file in it. Changes nothing without --repair. Prints a line for each problem:\n"
    "PATH: offset N: what is wrong: expected X found Y.\n"
    "\n"
    "  -d, --data    also read all data, verify its checksums and decompress it\n"
    "      --repair  make the store's own files again if they are lost or damaged: from\n"
    "                their copies, or else from what the files in the store say; and\n"
    "                settle roots in doubt (below): what is shown now stays, what is\n"
    "                damaged in it is accepted, and the file can be written again\n"
    "      --root ROOT\n"
    "                with --repair: older or newest, the root of a file in doubt that stays\n"
    "                instead\n"
    "  -j, --jobs N  check so many files at once [as many as there are processors]\n"
    "      --json    {\"store\", \"files\", \"bytes\", \"damaged\", \"problems\":\n"
    "                [{\"path\", \"what\", \"offset\", \"length\", \"position\",\n"
    "                \"expected\", \"found\"}, ...], \"doubts\": [{\"path\", \"what\",\n"
    "                \"serves\"}, ...], \"notes\", \"repaired\"}\n"
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

enum { OPTION_JSON = 256, OPTION_REPAIR, OPTION_ROOT };
enum { QUEUED = 4 }; /* files for each thread */

static const struct option long_options[] = {
    {"data", no_argument, NULL, 'd'},
    {"jobs", required_argument, NULL, 'j'},
    {"repair", no_argument, NULL, OPTION_REPAIR},
    {"root", required_argument, NULL, OPTION_ROOT},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct fsck {
    struct bale_reader reader;
    bool data, repair, as_json;
    enum bale_root_pick pick;
    unsigned threads;
    struct bale_pool *pool;
    struct bale_inode_set seen;

    pthread_mutex_t lock; /* guards all members below */
    pthread_cond_t less;  /* signalled when flying decreases */
    uint64_t flying;
    uint64_t files, bytes, damaged;
    uint64_t doubts; /* files whose root is in doubt */
    bool unreadable; /* something could not be checked */
    json_t *problems, *doubts_list, *notes, *repaired;
    struct bale_progress progress;
};

/* One container that is checked. */
struct fsck_file {
    struct bale_job job;
    struct fsck *fsck;
    bool damaged;
    enum bale_recovery recovery;
    char below[]; /* relative to the store */
};

/* ---- Reports, from any thread ---------------------------------------------------------------- */

/* Prints a line to stdout, because problems are the result of the command. The name may contain
 * anything, so it is cleaned. */
static void print_line(struct fsck *fsck, const char *below, const char *text)
{
    char clean[8192], path[8192];

    snprintf(path, sizeof path, "%s%s%s: %s", bale_store_path(fsck->reader.store),
             *below ? "/" : "", below, text);
    bale_progress_end(&fsck->progress);
    printf("%s\n", bale_clean_text(path, clean, sizeof clean));
}

/* Adds {"path", key} to list and returns it. Under lock. */
static json_t *add_text(json_t *list, const char *below, const char *key, const char *text)
{
    json_t *object = json_object();

    bale_json_path(object, "path", below);
    bale_json_path(object, key, text);
    json_array_append_new(list, object);
    return object;
}

static void note(struct fsck *fsck, const char *below, const char *text)
{
    pthread_mutex_lock(&fsck->lock);
    if (fsck->as_json)
        add_text(fsck->notes, below, "note", text);
    else
        print_line(fsck, below, text);
    pthread_mutex_unlock(&fsck->lock);
}

static void report_problem(struct fsck *fsck, const char *below, const struct bale_fault *fault)
{
    char text[512];

    pthread_mutex_lock(&fsck->lock);
    if (fsck->as_json) {
        json_array_append_new(fsck->problems, bale_fault_json(below, fault));
    } else {
        bale_fault_text(fault, text, sizeof text);
        print_line(fsck, below, text);
    }
    pthread_mutex_unlock(&fsck->lock);
}

static void report_fault(void *arg, const struct bale_fault *fault)
{
    struct fsck_file *file = arg;

    file->damaged = true;
    report_problem(file->fsck, file->below, fault);
}

/* text: what was wrong and what was done. */
static void report_repaired(struct fsck *fsck, const char *below, const char *text)
{
    char line[BALE_REASON_SIZE + 16];

    pthread_mutex_lock(&fsck->lock);
    add_text(fsck->repaired, below, "what", text);
    if (!fsck->as_json) {
        snprintf(line, sizeof line, "repaired: %s", text);
        print_line(fsck, below, line);
    }
    pthread_mutex_unlock(&fsck->lock);
}

static void cannot_check(struct fsck *fsck, const char *below, const char *why)
{
    pthread_mutex_lock(&fsck->lock);
    fsck->unreadable = true;
    bale_progress_end(&fsck->progress);
    bale_message("%s%s%s: %s", bale_store_path(fsck->reader.store), *below ? "/" : "", below, why);
    pthread_mutex_unlock(&fsck->lock);
}

/* ---- One container --------------------------------------------------------------------------- */

/* find -perm sees only the backing file's. */
static void note_set_id(const struct fsck_file *file, struct bale_container *container,
                        uint16_t mode)
{
    char text[BALE_REASON_SIZE];
    struct stat st;

    if (!(mode & (S_ISUID | S_ISGID)) || !file->fsck->reader.config.modes_in_container ||
        fstat(bale_io_fd(bale_container_io(container)), &st) != 0)
        return;
    mode &= 07777;
    if (bale_root_permissions(mode, st.st_mode) == mode)
        snprintf(text, sizeof text, "note: mode %04o, of user %u and group %u", mode,
                 (unsigned)st.st_uid, (unsigned)st.st_gid);
    else
        snprintf(text, sizeof text,
                 "note: mode %04o is in the container, and the backing file has %04o: only what "
                 "both have counts",
                 mode, st.st_mode & 07777);
    note(file->fsck, file->below, text);
}

/* The root that serves, in words; NULL: it is not in doubt. */
static const char *serving(enum bale_recovery recovery)
{
    switch (recovery) {
    case BALE_RECOVERY_MISSING:
        return "older";
    case BALE_RECOVERY_DAMAGE:
        return "newest";
    case BALE_RECOVERY_BLANK:
        return "none";
    default:
        return NULL;
    }
}

static void report_recovery(struct fsck_file *file, enum bale_recovery recovery)
{
    struct fsck *fsck = file->fsck;
    const char *what = bale_recovery_text(recovery), *serves = serving(recovery);
    char text[BALE_REASON_SIZE];

    file->recovery = recovery;
    if (recovery == BALE_RECOVERY_CUT_OFF) {
        snprintf(text, sizeof text, "note: %s", what);
        note(fsck, file->below, text);
    }
    if (!serves)
        return;
    pthread_mutex_lock(&fsck->lock);
    if (fsck->as_json)
        json_object_set_new(add_text(fsck->doubts_list, file->below, "what", what), "serves",
                            json_string(serves));
    else
        print_line(fsck, file->below, what);
    pthread_mutex_unlock(&fsck->lock);
}

/* Settles what the check has found. Nothing else has the container open. */
static void repair_container(struct fsck_file *file)
{
    struct fsck *fsck = file->fsck;
    bool doubt = serving(file->recovery);
    struct bale_reason why;
    int err = BALE_OK;

    if (doubt || file->recovery == BALE_RECOVERY_SLOT) {
        if (fsck->repair)
            err = bale_repair_container(&fsck->reader, file->below,
                                        doubt ? fsck->pick : BALE_PICK_BY_RULES, &why);
        if (fsck->repair && err == BALE_OK) {
            report_repaired(fsck, file->below, doubt ? "its root is settled" : "its root slots");
            doubt = false;
        }
    }
    if (err != BALE_OK)
        cannot_check(fsck, file->below, why.text);
    pthread_mutex_lock(&fsck->lock);
    fsck->doubts += doubt;
    pthread_mutex_unlock(&fsck->lock);
}

static uint64_t check_container(struct fsck_file *file, struct bale_container *container,
                                struct bale_scratch *scratch)
{
    struct fsck *fsck = file->fsck;
    struct bale_container_attr attr;
    char text[BALE_REASON_SIZE];

    report_recovery(file, bale_container_recovery(container));
    bale_container_attr(container, &attr);
    note_set_id(file, container, attr.mode);
    int err = bale_container_check(container, scratch, fsck->data, report_fault, file);
    if (err != BALE_OK && err != BALE_E_CORRUPT) {
        snprintf(text, sizeof text, "cannot be checked: %s", bale_err_text(err));
        cannot_check(fsck, file->below, text);
    }
    return attr.stored;
}

static void fsck_file_check(struct bale_job *job, struct bale_scratch *scratch)
{
    static const struct bale_fault no_root = {.what = "no root is whole"};
    struct fsck_file *file = (struct fsck_file *)job;
    struct fsck *fsck = file->fsck;
    struct bale_container *container;
    struct bale_reason why;
    uint64_t stored = 0;
    int err = bale_reader_open_container_at(&fsck->reader, file->below, &container, &why);

    if (err == BALE_OK) {
        stored = check_container(file, container, scratch);
        bale_container_close(container);
        repair_container(file);
    } else if (err == BALE_E_CORRUPT) {
        report_fault(file, &no_root);
    } else {
        cannot_check(fsck, file->below, why.text);
    }
    pthread_mutex_lock(&fsck->lock);
    fsck->files++;
    fsck->bytes += stored;
    fsck->damaged += file->damaged;
    fsck->flying--;
    bale_progress_show(&fsck->progress, fsck->files, fsck->bytes);
    pthread_cond_signal(&fsck->less);
    pthread_mutex_unlock(&fsck->lock);
    free(file);
}

/* Waits while too many files are queued, because a store may have more files than fit in memory. */
static void submit_file(struct fsck *fsck, const char *below)
{
    size_t length = strlen(below) + 1;
    struct fsck_file *file = calloc(1, sizeof *file + length);

    if (!file) {
        cannot_check(fsck, below, "out of memory");
        return;
    }
    file->job.run = fsck_file_check;
    file->fsck = fsck;
    memcpy(file->below, below, length);
    pthread_mutex_lock(&fsck->lock);
    while (fsck->flying >= QUEUED * fsck->threads)
        pthread_cond_wait(&fsck->less, &fsck->lock);
    fsck->flying++;
    pthread_mutex_unlock(&fsck->lock);
    bale_pool_submit(fsck->pool, &file->job);
}

/* ---- The store ------------------------------------------------------------------------------- */

/* Checks settings in attributes. A setting that this program cannot parse is ignored by it, but
 * another version may have written it. */
static void check_settings(struct fsck *fsck, const char *path, const char *below)
{
    static const char *const names[] = {BALE_XATTR_CODEC, BALE_XATTR_EXTENT, BALE_XATTR_MATCH};
    char value[4096], clean[4096], text[BALE_REASON_SIZE + 16];
    struct bale_reason why;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ssize_t got = lgetxattr(path, names[i], value, sizeof value);
        if (got < 0 || bale_properties_check(names[i], value, (size_t)got, clean, &why) == BALE_OK)
            continue;
        snprintf(text, sizeof text, "note: %s", why.text);
        note(fsck, below, text);
    }
}

static void visit(struct fsck *fsck, FTS *fts, FTSENT *entry)
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
            submit_file(fsck, below);
        break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        cannot_check(fsck, below, strerror(entry->fts_errno));
        break;
    default:
        break;
    }
}

static void check_tree(struct fsck *fsck)
{
    char *roots[] = {(char *)bale_store_path(fsck->reader.store), NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    FTSENT *entry;

    while (fts && (errno = 0, entry = fts_read(fts)))
        visit(fsck, fts, entry);
    if (errno != 0)
        cannot_check(fsck, "", strerror(errno));
    if (fts)
        fts_close(fts);
}

static bool print_json(struct fsck *fsck)
{
    json_t *object = json_object();

    bale_json_path(object, "store", bale_store_path(fsck->reader.store));
    bale_json_count(object, "files", fsck->files);
    bale_json_count(object, "bytes", fsck->bytes);
    bale_json_count(object, "damaged", fsck->damaged);
    json_object_set(object, "problems", fsck->problems);
    json_object_set(object, "doubts", fsck->doubts_list);
    json_object_set(object, "notes", fsck->notes);
    json_object_set(object, "repaired", fsck->repaired);
    return bale_json_print(object);
}

static int conclude(struct fsck *fsck)
{
    char size[BALE_TEXT];
    bool printed = true;

    bale_progress_end(&fsck->progress);
    if (fsck->as_json)
        printed = print_json(fsck);
    else
        printf("%s: %" PRIu64 " files, %s stored: %" PRIu64 " damaged%s%s\n",
               bale_store_path(fsck->reader.store), fsck->files, bale_size_text(fsck->bytes, size),
               fsck->damaged, fsck->doubts ? ", and roots are in doubt" : "",
               fsck->unreadable ? ", and not everything could be checked" : "");
    return (json_array_size(fsck->repaired) > 0 ? EXIT_CORRECTED : 0) |
           (fsck->damaged ? EXIT_ERRORS_LEFT : 0) | (fsck->doubts ? EXIT_DOUBT : 0) |
           (fsck->unreadable || !printed ? EXIT_OPERATIONAL : 0);
}

static void note_reach(struct fsck *fsck)
{
    const char *reach = bale_store_reach(fsck->reader.store);
    char text[BALE_REASON_SIZE];

    if (!reach)
        return;
    snprintf(text, sizeof text, "note: the store %s: balefs set --closed closes it", reach);
    note(fsck, "", text);
}

/* Without --repair nothing was changed. With it the store is as after a crash: each file of its own
 * is replaced as a whole. */
static void cancel_fsck(int number)
{
    (void)number;
    _exit(EXIT_CANCELLED);
}

/* Opens the store; with --repair after making what opening needs. */
static int open_store(struct fsck *fsck, const char *path, struct bale_reason *why)
{
    struct bale_reason done = {0};
    int err = fsck->repair ? bale_repair_volume(path, &done, why) : BALE_OK;

    if (err == BALE_OK)
        err = bale_reader_open_silently(
            path, fsck->repair ? BALE_STORE_REPAIR : BALE_STORE_READONLY, &fsck->reader, why);
    if (err == BALE_OK && done.text[0] != '\0')
        report_repaired(fsck, BALE_STORE_DIR "/volume.json", done.text);
    return err;
}

/* Reports what opening has found in .balefs. */
static void check_own_files(struct fsck *fsck)
{
    const struct bale_store_notice *notice;

    for (unsigned i = 0; (notice = bale_store_notice(fsck->reader.store, i)); i++)
        if (notice->repaired) {
            report_repaired(fsck, notice->below, notice->text);
        } else {
            report_problem(fsck, notice->below, &(struct bale_fault){.what = notice->text});
            fsck->damaged++;
        }
}

static int check_store(struct fsck *fsck, const char *path)
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
    setvbuf(stdout, NULL, _IOLBF,
            0); /* prints each line at once, so that it is out if the check is cancelled */
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

static int fsck_run(const struct bale_command *command, int argc, char **argv)
{
    struct fsck fsck = {.threads = bale_cpus(),
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .less = PTHREAD_COND_INITIALIZER};
    int option, status;

    while ((option = bale_options_next(command, argc, argv, ":dj:h", long_options)) !=
           BALE_OPTION_END)
        if (option == 'd')
            fsck.data = true;
        else if (option == OPTION_REPAIR)
            fsck.repair = true;
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
    fsck.problems = json_array();
    fsck.doubts_list = json_array();
    fsck.notes = json_array();
    fsck.repaired = json_array();
    status = check_store(&fsck, argv[optind]);
    json_decref(fsck.problems);
    json_decref(fsck.doubts_list);
    json_decref(fsck.notes);
    json_decref(fsck.repaired);
    return status;
}

const struct bale_command bale_command_fsck = {
    .name = "fsck",
    .summary = "checks a store, and repairs its own files",
    .help = help,
    .usage = EXIT_USAGE,
    .run = fsck_run,
};
