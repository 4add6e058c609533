/* balefs export: writes the plain files of a store, without a mount. */
#include "tools/transfer/export.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/file.h"
#include "fs/store/platform.h"
#include "kernels/engine/engine.h"
#include "tools/balefs.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/output.h"
#include "tools/common/output_path.h"
#include "tools/common/size.h"
#include "tools/common/stored_path.h"
#include "tools/transfer/move.h"

static const char help[] =
    "usage: balefs export [-j N] [--settings] [--root ROOT] STORE[/SUB] DIR\n"
    "       balefs export --move [--no-lease] [-j N] [--settings] STORE[/SUB] DIR\n"
    "       balefs export --tar [-o FILE] [-f] [-j N] [--settings] [--root ROOT]\n"
    "                     STORE[/SUB]\n"
    "\n"
    "Writes the plain files of a store, or of a part of it, to a directory (which is made\n"
    "if it does not exist) or as a tar archive. Needs no mount, no /dev/fuse and no more\n"
    "rights than to read the store. Keeps holes, modes, times, hard and symbolic links,\n"
    "fifos, extended attributes and ACLs; as root owners and devices too.\n"
    "\n"
    "During the export the store is locked, so that it cannot be mounted for writing. If it\n"
    "is mounted already, each file is exported as of its last commit, complete: data written\n"
    "in the last 5 s may be missing (balefs sync MOUNTPOINT commits it), and files may be of\n"
    "different moments.\n"
    "\n"
    "A damaged file is exported as NAME.damaged, with every byte at its offset and zeros for\n"
    "what is lost; messages list the ranges, and the exit status is 1.\n"
    "\n"
    "In a directory, existing files are replaced, unless they have the same size, time and\n"
    "mode, so that an interrupted export can be run again. A file gets its name only when it\n"
    "is complete.\n"
    "\n"
    "With --move, each file is removed from the store once what was written is durable and\n"
    "was read back, and nobody else has it open; a file that stays is named, and run again,\n"
    "the export goes on. The store, or SUB, itself stays. Damaged files stay.\n"
    "\n"
    "Neither DIR nor FILE may lie in the store itself or in a mount of it, nor in the\n"
    "directory of another store.\n"
    "\n"
    "  -t, --tar          a tar archive (pax) on standard output: files as dir/file, and what\n"
    "                     is exported itself, with its mode and times, as ./\n"
    "  -o, --output FILE  writes the archive to FILE, which appears when it is complete (-:\n"
    "                     standard output)\n"
    "  -f, --force        replaces FILE if it is there\n"
    "  -j, --jobs N       work with so many threads [as many as there are processors]\n"
    "      --move         remove what was exported from the store, which must not be mounted\n"
    "      --no-lease     with --move where the file system of the store has no leases (NFS)\n"
    "      --settings     keeps codec, extent size and match lines as the attributes\n"
    "                     user.balefs.*, for balefs import\n"
    "      --root ROOT    older or newest: of the two states that a file may have, export this\n"
    "                     one, as far as it can be read, not the one that a mount shows\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs export /scratch/store/run1 /home/ann/run1\n"
    "  balefs export --tar /scratch/store | ssh archive tar -x -C /data\n"
    "\n"
    "Exit status: 0 done, 1 failed, or not everything could be kept, 2 wrong usage.\n";

enum { OPTION_SETTINGS = 256, OPTION_ROOT, OPTION_MOVE, OPTION_NO_LEASE };

static const struct option long_options[] = {
    {"tar", no_argument, NULL, 't'},
    {"output", required_argument, NULL, 'o'},
    {"force", no_argument, NULL, 'f'},
    {"jobs", required_argument, NULL, 'j'},
    {"settings", no_argument, NULL, OPTION_SETTINGS},
    {"root", required_argument, NULL, OPTION_ROOT},
    {"move", no_argument, NULL, OPTION_MOVE},
    {"no-lease", no_argument, NULL, OPTION_NO_LEASE},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Where the export goes. */
struct target {
    const char *directory;  /* or NULL: */
    struct bale_move *move; /* of the files to the directory; or NULL */
    const char *archive;    /* NULL: standard output */
    bool force;
};

/* Opens the store with its lock if possible. If another process writes to it, the export reads the
 * last commit of each container. */
static int open_store(struct bale_export *export, const char *top)
{
    struct bale_reason why;
    int err = bale_reader_open(top, BALE_STORE_READONLY, &export->reader, &why);

    export->live = err == BALE_E_BUSY || err == BALE_E_PERM || err == BALE_E_RDONLY;
    if (export->live)
        err = bale_reader_open(top, BALE_STORE_UNLOCKED, &export->reader, &why);
    if (err != BALE_OK)
        bale_message("%s", why.text);
    else
        export->reader.config.pick = export->pick;
    return err;
}

static int open_source(const struct bale_export *export, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    int fd = (int)syscall(SYS_openat2, bale_store_root_fd(export->reader.store),
                          *export->below ? export->below : ".", &how, sizeof how);

    if (fd < 0)
        bale_message("%s: cannot be opened: %s%s", path, strerror(errno),
                     errno == ENOTDIR ? ": for a single file use balefs cat" : "");
    return fd;
}

/* Whether the export may be written to path: not into the tree that is exported. */
static bool may_go_to(const struct bale_export *export, const char *path)
{
    return bale_output_path_check_store(bale_store_path(export->reader.store), path,
                                        "export to another place") == BALE_OK &&
           bale_output_path_check_stores(path) == BALE_OK;
}

static int open_directory(const struct bale_export *export, const char *directory)
{
    if (!may_go_to(export, directory))
        return -1;
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        bale_message("%s: cannot be made: %s", directory, strerror(errno));
        return -1;
    }
    int to = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0)
        bale_message("%s: cannot be opened: %s", directory, strerror(errno));
    return to;
}

/* Makes the name of the target durable, where a sync of the file system does not do that. */
static int sync_above(const struct bale_transfer *transfer, int to)
{
    int above = transfer->sync_each ? openat(to, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int err = above < 0 ? BALE_OK : bale_sync_directory(above);

    if (above >= 0)
        close(above);
    return err;
}

static int to_directory(struct bale_export *export, int from, const struct target *target)
{
    const char *directory = target->directory;
    struct bale_transfer transfer = {
        .file = bale_export_file,
        .arg = export,
        .from_top = bale_store_path(export->reader.store),
        .to_top = directory,
        .from_store = *export->below ? NULL : export->reader.store,
        .rules = {.settings = export->settings, .acls = true},
        .threads = export->threads,
        .move = target->move,
        .walk = {.one_device = true, .hidden = *export->below ? NULL : BALE_STORE_DIR},
    };
    char size[BALE_TEXT];

    int to = open_directory(export, directory);

    if (to < 0) {
        close(from);
        return BALE_EXIT_FAILED;
    }
    transfer.sync_each = transfer.move && !bale_platform_believes_syncfs(to);
    bale_transfer_signals();
    int err = sync_above(&transfer, to);
    if (err == BALE_OK)
        err = bale_transfer_run(&transfer, from, to, export->below, "exported");
    if (err != BALE_OK) {
        bale_message("cannot start threads: %s", bale_err_text(err));
        return BALE_EXIT_FAILED;
    }
    if (atomic_load(&bale_transfer_stop)) {
        bale_message("%s: interrupted: run it again to complete it", directory);
        return BALE_EXIT_FAILED;
    }
    printf("%s: %" PRIu64 " files, %s exported", directory, transfer.files,
           bale_size_text(transfer.bytes, size));
    if (transfer.kept)
        printf(", %" PRIu64 " were there", transfer.kept);
    bale_move_report(&transfer, export->store);
    printf("%s\n", transfer.failed ? ", and not everything could be" : "");
    return transfer.failed ? BALE_EXIT_FAILED : BALE_EXIT_DONE;
}

/* Refuses to move from a store that somebody writes to, because its daemon knows the files. */
static bool may_move(const struct bale_export *export, const struct target *target)
{
    if (target->move && export->live)
        bale_message(
            "%s: is in use, so that nothing can be removed from it: unmount it first, or be "
            "its owner",
            export->store);
    return !target->move || !export->live;
}

static int to_archive(const struct bale_export *export, int from, const struct target *to)
{
    const struct bale_output_rules rules = {.replace = to->force};
    struct bale_output target = {.fd = -1};
    bool whole;

    if (!may_go_to(export, to->archive ? to->archive : "/dev/stdout") ||
        !bale_output_open(to->archive, &rules, &target)) {
        close(from);
        return BALE_EXIT_FAILED;
    }
    int status = bale_export_tar(export, from, target.fd, target.name, &whole);
    if (!whole)
        bale_output_drop(&target);
    else if (!bale_output_finish(&target, NULL))
        status = BALE_EXIT_FAILED;
    return status;
}

static int export_store(struct bale_export *export, const struct target *target)
{
    struct bale_stored_path stored;
    int from, status = BALE_EXIT_FAILED;

    if (bale_stored_path_find(export->store, "use cp or tar", &stored) != BALE_OK)
        return status;
    export->below = stored.below;
    if (open_store(export, stored.top) == BALE_OK && may_move(export, target) &&
        (from = open_source(export, export->store)) >= 0)
        status = target->directory ? to_directory(export, from, target)
                                   : to_archive(export, from, target);
    bale_reader_close(&export->reader);
    bale_stored_path_free(&stored);
    return status;
}

static int export_run(const struct bale_command *command, int argc, char **argv)
{
    struct bale_export export = {.threads = bale_cpus()};
    struct bale_move move = {.same = bale_export_same, .control = -1};
    struct target target = {0};
    bool tar = false;
    int option, status;

    while ((option = bale_options_next(command, argc, argv, ":to:fj:h", long_options)) !=
           BALE_OPTION_END)
        if (option == 't')
            tar = true;
        else if (option == 'o')
            target.archive = optarg;
        else if (option == 'f')
            target.force = true;
        else if (option == OPTION_MOVE)
            target.move = &move;
        else if (option == OPTION_NO_LEASE)
            move.no_lease = true;
        else if (option == OPTION_SETTINGS)
            export.settings = true;
        else if (option != 'j' && option != OPTION_ROOT)
            return bale_options_status(command, option);
        else if ((status = option == 'j' ? bale_count_take(command, "jobs", 1024, &export.threads)
                                         : bale_root_take(command, &export.pick)) != 0)
            return status;
    int left = argc - optind;
    if (target.archive && !tar)
        return bale_usage_error(command, "--output is for --tar");
    if (target.move && (tar || export.pick != BALE_PICK_BY_RULES))
        return bale_usage_error(command, "--move is neither for --tar nor for --root");
    if (move.no_lease && !target.move)
        return bale_usage_error(command, "--no-lease is for --move");
    if (left < 1)
        return bale_usage_error(command, "STORE is missing");
    if (!tar && left < 2)
        return bale_usage_error(command, "DIR is missing: or give --tar");
    if (left > (tar ? 1 : 2))
        return bale_usage_error(command,
                                tar ? "one STORE at a time" : "one STORE and one DIR at a time");
    if (target.archive && strcmp(target.archive, "-") == 0)
        target.archive = NULL;
    if (tar && !target.archive && isatty(STDOUT_FILENO))
        return bale_usage_error(command,
                                "an archive is not for a terminal: give -o FILE or a pipe");
    export.store = argv[optind];
    target.directory = tar ? NULL : argv[optind + 1];
    return export_store(&export, &target);
}

const struct bale_command bale_command_export = {
    .name = "export",
    .summary = "writes the plain files of a store to a directory or a tar archive",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = export_run,
};
