/* balefs import: copies plain files into a store, without a mount. */
#include "tools/transfer/import.h"
#include "tools/transfer/move.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/store/file.h"
#include "kernels/frame/setting.h"
#include "tools/balefs.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/output_path.h"
#include "tools/common/size.h"
#include "tools/common/stored_path.h"

static const char help[] =
    "usage: balefs import [--create] [--codec CODEC] [--match 'GLOB CODEC']... [-j N]\n"
    "                     DIR STORE[/SUB]\n"
    "       balefs import --move [--no-lease] ... DIR STORE[/SUB]|MNT[/SUB]\n"
    "\n"
    "Copies the contents of DIR into a store that is not mounted, without a mount and without\n"
    "/dev/fuse, as cp -a DIR/. MOUNTPOINT would. Keeps holes, modes, times, hard and\n"
    "symbolic links, fifos, extended attributes and ACLs (in stores made by root); as root\n"
    "owners and devices too. Volume, directories and match lines choose how files are stored;\n"
    "attributes user.balefs.* of DIR's files and directories are used as settings.\n"
    "\n"
    "When it ends with 0 everything is on the disk. A file gets its name only when it is\n"
    "complete, so an interrupted import leaves a good store: run it again, and it skips\n"
    "existing files with the same size, time and mode. Other files of the same name are\n"
    "replaced; nothing else is removed.\n"
    "\n"
    "A missing SUB is created if its parent directory exists.\n"
    "\n"
    "With --move, each file is removed from DIR once its copy is durable and was read back,\n"
    "if it did not change meanwhile and nobody else has it open; a file that stays is named,\n"
    "and run again, the import goes on. DIR itself stays, empty. So it needs only the space of\n"
    "the files under way, and also goes into a mount.\n"
    "\n"
    "      --create       make the store if there is none (balefs init has more choices)\n"
    "  -c, --codec CODEC  for all files, instead of what the store says (balefs help codecs):\n"
    "                     {codecs}\n"
    "  -m, --match 'GLOB CODEC'\n"
    "                     for files whose name matches, before --codec; may be given again,\n"
    "                     the first match wins. With an error bound (cusz) the copies of such\n"
    "                     files are rounded, with rel=E without range= within E of each\n"
    "                     file's own range, for which it is read twice\n"
    "      --move         remove what was imported\n"
    "      --no-lease     with --move where the file system of DIR has no leases (NFS, SMB):\n"
    "                     you know that nobody writes below DIR\n"
    "  -j, --jobs N       read so many files at once [twice as many as processors]\n"
    "  -h, --help\n"
    "\n"
    "Example:\n"
    "  balefs import --create --codec zstd:3 /home/ann/run1 /scratch/store\n"
    "\n"
    "Exit status: 0 done, 1 failed, or not everything could be kept, 2 wrong usage.\n";

enum { OPTION_CREATE = 256, OPTION_MOVE, OPTION_NO_LEASE };

static const struct option long_options[] = {
    {"create", no_argument, NULL, OPTION_CREATE},
    {"move", no_argument, NULL, OPTION_MOVE},
    {"no-lease", no_argument, NULL, OPTION_NO_LEASE},
    {"codec", required_argument, NULL, 'c'},
    {"match", required_argument, NULL, 'm'},
    {"jobs", required_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct import_command {
    struct bale_import import;
    struct bale_transfer transfer;
    struct bale_move move;
    const char *directory, *path; /* as the user named them */
    bool create;
};

static int create_store(const char *path)
{
    struct bale_reason why;
    int err = bale_store_init_missing(path, &why);

    if (err != BALE_OK)
        bale_message("%s", why.text);
    return err;
}

/* Logs what no file reports: one that finds no space is tried again, and reported if that does not
 * help. */
static void log_other(enum bale_level level, const char *line)
{
    (void)level;
    if (!strstr(line, bale_err_text(BALE_E_NOSPACE)) && !strstr(line, bale_err_text(BALE_E_DQUOT)))
        bale_message("%s", line);
}

static int open_volume(struct import_command *c)
{
    struct bale_import *import = &c->import;
    struct bale_volume_options options = {.caller_caches =
                                              true}; /* nothing is read a second time */

    bale_store_volume_options(import->store, &options);
    if (c->transfer.move) {
        bale_log_to(log_other, BALE_LOG_WARNING);
        options.reserve_fd = -1; /* space is scarce */
    }
    import->reader.store = import->store;
    import->reader.config = options.container;
    import->reader.config.writable = false;
    bale_store_defaults(import->store, &import->defaults);
    import->reader.defaults = import->defaults;
    import->modes_in_container = bale_store_config(import->store)->modes_in_container;
    c->transfer.sync_each = !bale_store_believes_syncfs(import->store);
    c->transfer.rules.acls =
        !import->modes_in_container && bale_store_abilities(import->store)->posix_acl;
    return bale_volume_create(&options, &import->volume);
}

static int make_below(int dir, const char *name)
{
    if (mkdirat(dir, name, 0700) != 0 && errno != EEXIST)
        return -1;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        (void)bale_properties_inherit(dir, fd);
    return fd;
}

/* A directory of the store; "" is its top. -1 and errno. */
static int open_directory(const struct import_command *c, const char *below)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};

    return (int)syscall(SYS_openat2, bale_store_root_fd(c->import.store), *below ? below : ".",
                        &how, sizeof how);
}

/* Syncs the directories above the target, which a mount may have made and not synced. Shortens
 * path to nothing. -1 and errno. */
static int sync_above(const struct import_command *c, char *path)
{
    while (*path) {
        char *slash = strrchr(path, '/');
        *(slash ? slash : path) = '\0';
        int fd = open_directory(c, path);
        if (fd < 0)
            return -1;
        int err = bale_sync_directory(fd), e = errno;
        close(fd);
        errno = e;
        if (err < 0)
            return -1;
    }
    return 0;
}

/* Opens the target directory and creates it if it is missing, as cp and rsync do. */
static int open_below(const struct import_command *c, const struct bale_stored_path *stored)
{
    const char *slash = strrchr(stored->below, '/');
    const char *name = slash ? slash + 1 : stored->below;
    char *path = strdup(stored->below);
    int dir = -1, fd = -1, e;

    if (!path) {
        errno = ENOMEM;
    } else if (!stored->missing) {
        fd = open_directory(c, path);
    } else {
        path[slash ? slash - stored->below : 0] = '\0';
        dir = open_directory(c, path);
        fd = dir < 0 ? -1 : make_below(dir, name);
        strcpy(path, stored->below);
    }
    e = errno;
    if (fd >= 0 && c->transfer.sync_each && sync_above(c, path) != 0) {
        e = errno;
        close(fd);
        fd = -1;
    }
    if (dir >= 0)
        close(dir);
    free(path);
    if (fd < 0)
        bale_message("%s: cannot be %s: %s", c->path, stored->missing ? "made" : "opened",
                     strerror(e));
    return fd;
}

static int open_source(const struct import_command *c)
{
    struct stat st;
    int fd = open(c->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) {
        bale_message("%s: cannot be opened: %s", c->directory, strerror(errno));
    } else if (fstatat(fd, BALE_STORE_DIR, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        bale_message("%s: has " BALE_STORE_DIR
                     " in it, as a store has: export the store first, or remove that directory",
                     c->directory);
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Takes over from. */
static int copy(struct import_command *c, int from, const struct bale_stored_path *stored)
{
    int err = open_volume(c);
    int to = err == BALE_OK ? open_below(c, stored) : -1;

    c->transfer.to_store = *stored->below ? NULL : c->import.store;
    if (err != BALE_OK)
        bale_message("%s: cannot be written: %s", c->path, bale_err_text(err));
    if (to < 0) {
        close(from);
        return BALE_E_INVALID;
    }
    bale_transfer_signals();
    err = bale_transfer_run(&c->transfer, from, to, "", "imported");
    if (err != BALE_OK)
        bale_message("cannot start threads: %s", bale_err_text(err));
    else if (atomic_load(&bale_transfer_signal))
        bale_message("%s: interrupted: the store is good; run it again to complete it", c->path);
    if (atomic_load(&bale_transfer_stop))
        err = BALE_E_CANCELLED;
    return err;
}

/* Stores everything durably and closes the store. */
static int close_store(struct import_command *c)
{
    struct bale_import *import = &c->import;
    int err = import->volume ? bale_volume_destroy(import->volume) : BALE_OK;
    int closed = bale_store_close(import->store, err == BALE_OK, NULL);

    err = err != BALE_OK ? err : closed;
    if (err != BALE_OK)
        bale_message("%s: what was imported may not be on the disk: %s: check it and import again",
                     c->path, bale_err_text(err));
    return err;
}

/* Checks everything that can be refused before it creates a store. */
static int find_target(const struct import_command *c, struct bale_stored_path *stored)
{
    static const char instead[] = "use cp -a or --move, or unmount it first";

    if (!c->create || !bale_output_path_check_all(c->path))
        return bale_stored_path_find_new(c->path, instead, stored);
    if (bale_output_path_check_tree(c->directory, c->path, "import something else") != BALE_OK ||
        create_store(c->path) != BALE_OK)
        return BALE_E_INVALID;
    return bale_stored_path_find(c->path, instead, stored);
}

static int import_directory(struct import_command *c)
{
    struct bale_stored_path stored = {0};
    struct bale_reason why;
    int status = BALE_EXIT_FAILED;
    int from = open_source(c);

    c->transfer.from_top = c->directory;
    c->transfer.to_top = c->path;
    if (from >= 0 && c->transfer.move && bale_import_is_mounted(c->path))
        return bale_import_mounted(&c->transfer, from);
    if (from < 0 || find_target(c, &stored) != BALE_OK)
        goto out;
    if (bale_output_path_check_store(stored.top, c->directory, "import something else") != BALE_OK)
        goto out;
    if (bale_store_open(stored.top, BALE_STORE_WRITE, &c->import.store, &why) != BALE_OK) {
        bale_message("%s", why.text);
        goto out;
    }
    if (bale_store_watch(c->import.store) != BALE_OK)
        bale_message("%s: its lock cannot be watched: out of memory", stored.top);
    int err = copy(c, from, &stored);
    from = -1;
    int closed = close_store(c);
    if (err == BALE_OK && closed == BALE_OK)
        bale_import_report(&c->transfer);
    status = err == BALE_OK && closed == BALE_OK && !c->transfer.failed ? BALE_EXIT_DONE
                                                                        : BALE_EXIT_FAILED;
out:
    if (from >= 0)
        close(from);
    bale_stored_path_free(&stored);
    return status;
}

static int import_run(const struct bale_command *command, int argc, char **argv)
{
    struct import_command c = {0};
    struct bale_import_choice all = {0};
    unsigned threads = 2 * bale_cpus();
    bool move = false;
    int option, status = 0;

    while (status == 0 && (option = bale_options_next(command, argc, argv, ":c:m:j:h",
                                                      long_options)) != BALE_OPTION_END)
        if (option == OPTION_CREATE)
            c.create = true;
        else if (option == OPTION_MOVE)
            move = true;
        else if (option == OPTION_NO_LEASE)
            c.move.no_lease = true;
        else if (option == 'c')
            status = bale_import_take_codec(command, optarg, &all);
        else if (option == 'm')
            status = bale_import_take_match(command, optarg, &c.import);
        else if (option == 'j')
            status = bale_count_take(command, "jobs", 1024, &threads);
        else
            return bale_options_status(command, option);
    if (status == 0)
        status = bale_import_end_choices(command, &c.import, &all, move);
    if (status != 0)
        return status;
    if (argc - optind < 2)
        return bale_usage_error(command, optind < argc ? "STORE is missing" : "DIR is missing");
    if (argc - optind > 2)
        return bale_usage_error(command, "one DIR and one STORE at a time");
    if (c.move.no_lease && !move)
        return bale_usage_error(command, "--no-lease is for --move");
    c.directory = argv[optind];
    c.path = argv[optind + 1];
    c.transfer = (struct bale_transfer){
        .file = bale_import_file,
        .entered = bale_import_entered,
        .arg = &c.import,
        .threads = threads,
        .move = move ? &c.move : NULL,
    };
    c.move.same = bale_import_same;
    c.move.control = -1;
    return import_directory(&c);
}

const struct bale_command bale_command_import = {
    .name = "import",
    .summary = "copies plain files into a store without a mount",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = import_run,
};
