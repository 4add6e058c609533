/* balefs recompress: has the daemon of a mount rewrite what is stored. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"
#include "kernels/frame/setting.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/inode_set.h"
#include "tools/common/json.h"
#include "tools/common/location.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/progress.h"
#include "tools/common/size.h"
#include "tools/mount/codec_difference.h"
#include "tools/mount/rate_limit.h"

static const char help[] =
    "usage: balefs recompress [--codec CODEC [--set]] [--rate SIZE/s] [--dry-run] [--json]\n"
    "                         PATH...\n"
    "\n"
    "Rewrites the contents of files and trees in a mount, with the codec that balefs get\n"
    "shows for each file, or with CODEC, and joins the pieces that small writes left. Files\n"
    "may be in use and written meanwhile. Times, modes and capabilities stay. The command\n"
    "gives way to programs that use the mount, and may be ended at any time: the next run\n"
    "skips what is already stored as requested.\n"
    "\n"
    "A file keeps the codec that was recorded when it was created or by balefs set, even if\n"
    "its directory is set later. To change such files give --codec, as in: balefs set DIR\n"
    "zstd:9 and balefs recompress --set --codec zstd:9 DIR.\n"
    "\n"
    "An extent that would not become smaller is kept, unless its codec differs from the one\n"
    "that was chosen by CODEC or, for the file, by balefs set.\n"
    "\n"
    "  -c, --codec CODEC  {codecs}\n"
    "                     (balefs help codecs). Later writes use the file's codec, unless\n"
    "                     you also give:\n"
    "  -s, --set          makes CODEC the files' own, as balefs set does\n"
    "  -r, --rate SIZE/s  processes at most so many bytes of files a second, as 20M/s;\n"
    "                     64K or more\n"
    "  -n, --dry-run      compresses, prints what would be gained, and stores nothing\n"
    "      --json         an object for one PATH, an array for several; sizes in bytes:\n"
    "                     {\"path\", \"files\", \"extents\", \"renewed\", \"logical\",\n"
    "                     \"before\", \"after\", \"damaged\"} extents: visited; renewed:\n"
    "                     rewritten; logical, before, after: bytes of files in rewritten\n"
    "                     extents, and their stored size before and after\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs recompress --set --codec zstd:9 /mnt/scratch/run1\n"
    "  balefs recompress --rate 20M/s --dry-run /mnt/scratch\n"
    "\n"
    "Exit status: 0 done, 1 something could not be done, 2 wrong usage.\n";

enum { OPTION_JSON = 256 };

static const struct option long_options[] = {
    {"codec", required_argument, NULL, 'c'},
    {"set", no_argument, NULL, 's'},
    {"rate", required_argument, NULL, 'r'},
    {"dry-run", no_argument, NULL, 'n'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* If other programs use the mount: how long to wait before the next try, and how many waits there
 * are before a rewrite is forced, so that the command ends. */
#define WAIT_NS 25000000
#define WAITS 10

struct work {
    /* What to do */
    const char *codec; /* in normal form, or NULL */
    struct bale_setting setting;
    bool set, dry;
    struct bale_rate_limit limit;

    /* Results for the current PATH */
    uint64_t files;
    struct bale_control_recompress sum;
    struct bale_inode_set seen;
    struct bale_codec_difference difference;

    struct bale_progress progress;
    uint64_t passed; /* bytes of files visited, of all paths */
    bool failed;
    json_t *json;
};

static void say(struct work *work, const char *path, const char *why)
{
    bale_progress_end(&work->progress);
    bale_message("%s: %s", path, why);
    work->failed = true;
}

static void say_refused(struct work *work, const char *path)
{
    switch (errno) {
    case EPERM:
        say(work, path, "may not be recompressed: be its owner, the mount's or root");
        break;
    case EROFS:
        say(work, path, "its container cannot be written: is that immutable?");
        break;
    case ENOTTY:
        say(work, path,
            "the program that serves its mount has no recompress: unmount it and mount it again");
        break;
    case ENOSPC:
    case EDQUOT:
        say(work, path, "there is no room to rewrite it: free some space");
        break;
    default:
        bale_progress_end(&work->progress);
        bale_message("%s: cannot be recompressed: %s: the daemon's log says more", path,
                     strerror(errno));
        work->failed = true;
    }
}

/* ---- One file ---- */

static void add(struct bale_control_recompress *sum, const struct bale_control_recompress *some)
{
    sum->extents += some->extents;
    sum->rewritten += some->rewritten;
    sum->logical += some->logical;
    sum->before += some->before;
    sum->after += some->after;
    sum->damaged += some->damaged;
}

static struct bale_control_recompress request(const struct work *work, uint64_t offset)
{
    return (struct bale_control_recompress){
        .offset = offset,
        .end = UINT64_MAX,
        .flags = (work->codec ? BALE_CONTROL_SET_CODEC : 0) | (work->dry ? BALE_CONTROL_DRY : 0),
        .codec = work->setting.codec,
        .parameter = work->setting.parameter,
    };
}

/* Rewrites a file part by part. What is done stays done if the command ends early. */
static bool go_over(struct work *work, int fd, struct bale_control_recompress *file)
{
    uint64_t offset = 0, passed = work->passed;
    unsigned waits = 0;

    for (;;) {
        struct bale_control_recompress ask = request(work, offset);
        if (waits >= WAITS)
            ask.flags |= BALE_CONTROL_FORCE;
        if (ioctl(fd, BALE_IOC_RECOMPRESS, &ask) != 0 && errno != EINTR)
            return false;
        bale_progress_show(&work->progress, work->files, work->passed);
        if (ask.flags & BALE_CONTROL_BUSY) {
            waits++;
            nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
            continue;
        }
        waits = 0;
        add(file, &ask);
        uint64_t went = ask.offset > offset ? ask.offset - offset : 0;
        offset = ask.offset;
        work->passed = passed + offset;
        bale_rate_limit_keep(&work->limit, went);
        if (ask.flags & BALE_CONTROL_AT_END)
            return true;
    }
}

static void visit_file(struct work *work, const FTSENT *entry)
{
    struct bale_control_recompress file = {0};
    const struct stat *st = entry->fts_statp;
    int fd, err;

    if (st->st_nlink > 1 && (err = bale_inode_set_add(&work->seen, st->st_dev, st->st_ino)) <= 0) {
        if (err < 0)
            say(work, entry->fts_path, "out of memory");
        return;
    }
    fd = open(entry->fts_accpath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT)
            say(work, entry->fts_path, strerror(errno));
        return;
    }
    work->files++;
    if (!work->codec)
        bale_codec_difference_compare(&work->difference, fd, entry->fts_path);
    if ((work->set && !work->dry &&
         fsetxattr(fd, BALE_XATTR_CODEC, work->codec, strlen(work->codec), 0) != 0) ||
        !go_over(work, fd, &file))
        say_refused(work, entry->fts_path);
    /* frees the space of the old extents, which stay allocated until then */
    if (file.rewritten > 0 && !work->dry && fsync(fd) != 0)
        say_refused(work, entry->fts_path);
    if (file.damaged > 0)
        say(work, entry->fts_path,
            "is damaged, and the damaged part was not rewritten: see balefs fsck");
    add(&work->sum, &file);
    close(fd);
}

/* ---- Trees ---- */

static void visit(struct work *work, const FTSENT *entry)
{
    switch (entry->fts_info) {
    case FTS_F:
        visit_file(work, entry);
        break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        if (entry->fts_errno != ENOENT || entry->fts_level == 0)
            say(work, entry->fts_path, strerror(entry->fts_errno));
        break;
    default:
        break;
    }
}

static void walk(struct work *work, const char *path, char *real)
{
    char *roots[] = {real, NULL};
    FTSENT *entry;
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);

    if (!fts) {
        say(work, path, strerror(errno));
        return;
    }
    while (errno = 0, entry = fts_read(fts))
        visit(work, entry);
    if (errno != 0)
        say(work, path, strerror(errno));
    fts_close(fts);
}

/* A user who changed the codec of a directory may expect its files to change. */
static void advise(const struct work *work, const char *path)
{
    const struct bale_codec_difference *file = &work->difference;

    if (work->sum.rewritten == 0 && file->path)
        bale_message("%s: files keep the codec recorded for them: %s has %s, new files get %s: "
                     "give --codec %s, and --set to record it",
                     path, file->path, file->has, file->gets, file->gets);
}

static void report_tree(struct work *work, const char *path)
{
    const struct bale_control_recompress *sum = &work->sum;
    char before[BALE_TEXT], after[BALE_TEXT], clean[4096];

    if (!work->json) {
        printf("%s: %" PRIu64 " files, %" PRIu64 " extents, %" PRIu64 " %s",
               bale_clean_text(path, clean, sizeof clean), work->files, sum->extents,
               sum->rewritten, work->dry ? "to be rewritten" : "rewritten");
        if (sum->rewritten > 0)
            printf(": %s %s %s", bale_size_text(sum->before, before),
                   work->dry ? "would become" : "became", bale_size_text(sum->after, after));
        putchar('\n');
        fflush(stdout);
        return;
    }
    json_t *object = json_object();
    bale_json_path(object, "path", path);
    bale_json_count(object, "files", work->files);
    bale_json_count(object, "extents", sum->extents);
    bale_json_count(object, "renewed", sum->rewritten);
    bale_json_count(object, "logical", sum->logical);
    bale_json_count(object, "before", sum->before);
    bale_json_count(object, "after", sum->after);
    bale_json_count(object, "damaged", sum->damaged);
    json_array_append_new(work->json, object);
}

static void do_tree(struct work *work, const char *path, const struct bale_location *location)
{
    struct statvfs mount;

    if (statvfs(location->real, &mount) == 0 && mount.f_flag & ST_RDONLY) {
        say(work, path, "cannot be written: mount the store without -o ro");
        return;
    }
    work->files = 0;
    work->sum = (struct bale_control_recompress){0};
    bale_codec_difference_begin(&work->difference, location->store);
    walk(work, path, location->real);
    bale_progress_end(&work->progress);
    report_tree(work, path);
    advise(work, path);
    bale_codec_difference_end(&work->difference);
    bale_inode_set_clear(&work->seen);
}

static void do_path(struct work *work, const char *path)
{
    struct bale_control_status mount;
    struct bale_location location;

    if (bale_control_status_by_name(path, &mount) && mount.frozen)
        bale_message("%s: its mount is frozen: waiting for balefs thaw", path);
    if (bale_location_find(path, &location) != BALE_OK) {
        work->failed = true;
        return;
    }
    if (!location.mounted)
        say(work, path, "lies in a store, not in a mount: mount the store, and name it there");
    else
        do_tree(work, path, &location);
    bale_location_free(&location);
}

/* ---- Options ---- */

static int take_codec(const struct bale_command *command, const char *text, char *clean,
                      struct work *work)
{
    struct bale_reason why;

    if (bale_setting_parse(text, &work->setting, &why) != BALE_OK)
        return bale_usage_error(command, "--codec %s: %s", text, why.text);
    if (work->setting.field.type != BALE_FIELD_NONE)
        return bale_usage_error(
            command,
            "--codec %s: says something about an array, which differs from "
            "file to file: give it to the files with balefs set, and recompress "
            "without --codec",
            text);
    bale_setting_print(work->setting, clean, BALE_SETTING_TEXT);
    work->codec = clean;
    return 0;
}

static int take_rate(const struct bale_command *command, const char *text, struct work *work)
{
    struct bale_reason why;

    if (bale_rate_limit_parse(text, &work->limit, &why) != BALE_OK)
        return bale_usage_error(command, "--rate %s: %s", text, why.text);
    return 0;
}

static int recompress_run(const struct bale_command *command, int argc, char **argv)
{
    char codec[BALE_SETTING_TEXT];
    struct work work = {0};
    int option, status = 0;

    while (status == 0 && (option = bale_options_next(command, argc, argv, ":c:sr:nh",
                                                      long_options)) != BALE_OPTION_END)
        if (option == 'c')
            status = take_codec(command, optarg, codec, &work);
        else if (option == 's')
            work.set = true;
        else if (option == 'r')
            status = take_rate(command, optarg, &work);
        else if (option == 'n')
            work.dry = true;
        else if (option == OPTION_JSON)
            work.json = work.json ? work.json : json_array();
        else
            return bale_options_status(command, option);
    if (status == 0 && work.set && !work.codec)
        status = bale_usage_error(command, "--set needs --codec");
    if (status == 0 && optind == argc)
        status = bale_usage_error(command, "PATH is missing");
    if (status != 0)
        return status;
    bale_progress_begin(&work.progress, "recompressed");
    for (int i = optind; i < argc; i++)
        do_path(&work, argv[i]);
    if (work.json && !bale_json_print_list(work.json, argc - optind == 1))
        work.failed = true;
    return work.failed ? BALE_EXIT_FAILED : BALE_EXIT_DONE;
}

const struct bale_command bale_command_recompress = {
    .name = "recompress",
    .summary = "rewrites the data of files with the codec now chosen for them",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = recompress_run,
};
