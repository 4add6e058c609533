/* The walk of balefs recompress. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "kernels/frame/field.h"
#include "tools/common/message.h"
#include "tools/common/relative.h"
#include "tools/common/stop_signal.h"
#include "tools/mount/recompress.h"

/* If other programs use the mount: how long to wait before the next try, and how many waits there
 * are before a rewrite is forced, so that the command ends. */
#define WAIT_NS 25000000
#define WAITS 10

void bale_recompress_say(struct bale_recompress_work *work, const char *path, const char *why)
{
    bale_progress_end(&work->progress);
    bale_message("%s: %s", path, why);
    work->failed = true;
}

static void say_refused(struct bale_recompress_work *work, const char *path)
{
    switch (errno) {
    case EPERM:
        bale_recompress_say(work, path,
                            "may not be recompressed: be its owner, the mount's or root");
        break;
    case EROFS:
        bale_recompress_say(work, path, "its container cannot be written: is that immutable?");
        break;
    case ENOTTY:
        bale_recompress_say(
            work, path,
            "the program that serves its mount has no recompress: unmount it and mount it again");
        break;
    case ENOSPC:
    case EDQUOT:
        bale_recompress_say(work, path, "there is no room to rewrite it: free some space");
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

/* setting: NULL: the file's own. */
static struct bale_control_recompress request(const struct bale_recompress_work *work,
                                              const struct bale_setting *setting, uint64_t offset)
{
    return (struct bale_control_recompress){
        .offset = offset,
        .end = UINT64_MAX,
        .flags = (setting ? BALE_CONTROL_SET_CODEC : 0) | (work->dry ? BALE_CONTROL_DRY : 0),
        .codec = setting ? setting->codec : 0,
        .parameter = setting ? setting->parameter : 0,
    };
}

static double seconds_since(const struct timespec *begun)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + (double)(now.tv_nsec - begun->tv_nsec) / 1e9;
}

static void time_text(double seconds, char *text, size_t size)
{
    if (seconds < 120)
        snprintf(text, size, ", %.0f s left", seconds);
    else if (seconds < 7200)
        snprintf(text, size, ", %.0f min left", seconds / 60);
    else
        snprintf(text, size, ", %.0f h left", seconds / 3600);
}

/* Shows the progress, measured in blocks on the disk: holes take none, and so do not distort it.
 * part: how much of a file with that many blocks is done. */
static void show_progress(struct bale_recompress_work *work, double part, uint64_t blocks)
{
    double all = (double)work->all_blocks, seconds = seconds_since(&work->begun);
    double done = all > 0 ? ((double)work->passed_blocks + part * (double)blocks) / all : 0;
    char left[32] = "";

    done = done < 1 ? done : 1;
    if (done > 0.01 && seconds > 1)
        time_text(seconds / done * (1 - done), left, sizeof left);
    bale_progress_text(&work->progress, "recompressed %" PRIu64 " of %" PRIu64 " files, %.0f %%%s",
                       work->passed_files, work->all_files, 100 * done, left);
}

/* Rewrites a file part by part. What is done stays done if a signal ends it early. */
static bool go_over(struct bale_recompress_work *work, int fd, const struct stat *st,
                    const struct bale_setting *setting, struct bale_control_recompress *file)
{
    uint64_t offset = 0;
    unsigned waits = 0;

    while (!bale_stop_signal) {
        struct bale_control_recompress ask = request(work, setting, offset);
        if (waits >= WAITS)
            ask.flags |= BALE_CONTROL_FORCE;
        if (ioctl(fd, BALE_IOC_RECOMPRESS, &ask) != 0 && errno != EINTR)
            return false;
        show_progress(work, (double)offset / (double)(st->st_size + 1), (uint64_t)st->st_blocks);
        if (ask.flags & BALE_CONTROL_BUSY) {
            waits++;
            nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
            continue;
        }
        waits = 0;
        add(file, &ask);
        uint64_t went = ask.offset > offset ? ask.offset - offset : 0;
        offset = ask.offset;
        bale_rate_limit_keep(&work->limit, went);
        if (ask.flags & BALE_CONTROL_AT_END)
            break;
    }
    return true;
}

/* Has the elements that a file has rounded, part by part. */
static bool round_file(struct bale_recompress_work *work, int fd, const char *path)
{
    struct bale_control_recompress ask = {.offset = 0};

    while (!bale_stop_signal && !(ask.flags & BALE_CONTROL_AT_END)) {
        uint64_t offset = ask.offset;
        ask.flags = BALE_CONTROL_ROUND;
        if (ioctl(fd, BALE_IOC_RECOMPRESS, &ask) != 0) {
            if (errno != EINTR)
                return false;
            continue;
        }
        if (ask.flags & BALE_CONTROL_BUSY)
            nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
        work->rounded += ask.rewritten;
        bale_rate_limit_keep(&work->limit, ask.offset - offset);
    }
    if (ask.flags & BALE_CONTROL_AT_END && ask.flags & BALE_CONTROL_ROUND)
        bale_recompress_say(work, path,
                            "was not rounded: it is no array, or its codec has no error bound: see "
                            "balefs get and the daemon's log");
    return true;
}

/* Records the setting that the file is to have, if that is requested. *setting: what to rewrite the
 * file with, or NULL: its own setting. False: it failed. */
static bool choose_codec(struct bale_recompress_work *work, int fd, const char *path,
                         struct bale_new_codec *gets, const struct bale_setting **setting)
{
    char has[BALE_SETTING_TEXT] = "";
    bool known = fgetxattr(fd, BALE_XATTR_CODEC, has, sizeof has - 1) > 0 &&
                 bale_new_codec_find(&work->new_codecs, path, gets) &&
                 !bale_codec_is_lossy(gets->setting.codec);
    const char *wanted = work->codec;

    *setting = work->codec ? &work->setting : NULL;
    if (known && !work->round)
        bale_recompress_note(work, path, has, gets);
    if (known && work->set && !work->codec && strcmp(has, gets->text) != 0) {
        wanted = gets->text;
        *setting = gets->setting.field.type == BALE_FIELD_NONE ? &gets->setting : NULL;
    }
    return !work->set || work->dry || !wanted ||
           fsetxattr(fd, BALE_XATTR_CODEC, wanted, strlen(wanted), 0) == 0;
}

static bool is_stopped(void)
{
    return bale_stop_signal;
}

/* Gives a relative bound the file's range. False after a message, but for a signal. */
static bool find_range(struct bale_recompress_work *work, int fd, const char *path,
                       struct bale_setting *setting)
{
    char text[sizeof(struct bale_reason) + 32];
    struct bale_reason why;

    switch (bale_relative_setting(fd, work->relative, is_stopped, setting, &why)) {
    case BALE_RELATIVE_BOUND:
        bale_progress_end(&work->progress);
        bale_message("%s: each element is rounded by %.9g at most", path,
                     bale_field_bound(setting->field.step));
        return true;
    case BALE_RELATIVE_EXACT:
        snprintf(text, sizeof text, "was not rounded: %s", why.text);
        bale_recompress_say(work, path, text);
        return false;
    default:
        if (!bale_stop_signal)
            bale_recompress_say(work, path, why.text);
        return false;
    }
}

/* Records the setting with a bound that is to round the file. False: it is not to be rounded. */
static bool record_bound(struct bale_recompress_work *work, int fd, const char *path)
{
    struct bale_setting setting = work->setting;
    char text[BALE_SETTING_TEXT];

    if (work->relative > 0 && !find_range(work, fd, path, &setting))
        return false;
    bale_setting_print(setting, text, sizeof text);
    if (fsetxattr(fd, BALE_XATTR_CODEC, text, strlen(text), 0) == 0)
        return true;
    say_refused(work, path);
    return false;
}

static void rewrite_file(struct bale_recompress_work *work, int fd, const FTSENT *entry)
{
    struct bale_control_recompress file = {0};
    struct bale_new_codec gets;
    const struct bale_setting *setting;

    if (work->bounds && !record_bound(work, fd, entry->fts_path))
        return;
    if (!choose_codec(work, fd, entry->fts_path, &gets, &setting) ||
        (work->round && !round_file(work, fd, entry->fts_path)) ||
        !go_over(work, fd, entry->fts_statp, setting, &file))
        say_refused(work, entry->fts_path);
    /* frees the space of the old extents, which stay allocated until then */
    if (file.rewritten + work->rounded > 0 && !work->dry && fsync(fd) != 0)
        say_refused(work, entry->fts_path);
    if (file.damaged > 0)
        bale_recompress_say(work, entry->fts_path,
                            "is damaged, and the damaged part was not rewritten: see balefs fsck");
    add(&work->sum, &file);
}

static void visit_file(struct bale_recompress_work *work, const FTSENT *entry)
{
    const struct stat *st = entry->fts_statp;
    int fd, err;

    if (st->st_nlink > 1 && (err = bale_inode_set_add(&work->seen, st->st_dev, st->st_ino)) <= 0) {
        if (err < 0)
            bale_recompress_say(work, entry->fts_path, "out of memory");
        return;
    }
    fd = open(entry->fts_accpath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT)
            bale_recompress_say(work, entry->fts_path, strerror(errno));
        return;
    }
    work->files++;
    rewrite_file(work, fd, entry);
    work->passed_files++;
    work->passed_blocks += (uint64_t)st->st_blocks;
    close(fd);
}

/* ---- Trees ---- */

static void visit(struct bale_recompress_work *work, const FTSENT *entry)
{
    switch (entry->fts_info) {
    case FTS_D:
        bale_recompress_note_directory(work, entry->fts_path, entry->fts_level == FTS_ROOTLEVEL);
        break;
    case FTS_F:
        visit_file(work, entry);
        break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        if (entry->fts_errno != ENOENT || entry->fts_level == 0)
            bale_recompress_say(work, entry->fts_path, strerror(entry->fts_errno));
        break;
    default:
        break;
    }
}

static FTS *open_tree(char *real)
{
    char *roots[] = {real, NULL};

    return fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
}

void bale_recompress_count(struct bale_recompress_work *work, char *real)
{
    struct bale_inode_set seen = {0};
    FTS *fts = open_tree(real);

    for (FTSENT *entry; fts && !bale_stop_signal && (entry = fts_read(fts));) {
        const struct stat *st = entry->fts_statp;
        if (entry->fts_info != FTS_F ||
            (st->st_nlink > 1 && bale_inode_set_add(&seen, st->st_dev, st->st_ino) == 0))
            continue;
        work->all_files++;
        work->all_blocks += (uint64_t)st->st_blocks;
        bale_progress_text(&work->progress, "%" PRIu64 " files are to be recompressed",
                           work->all_files);
    }
    if (fts)
        fts_close(fts);
    bale_inode_set_clear(&seen);
}

void bale_recompress_tree(struct bale_recompress_work *work, const char *path, char *real)
{
    FTS *fts = open_tree(real);
    FTSENT *entry = NULL;

    if (!fts) {
        bale_recompress_say(work, path, strerror(errno));
        return;
    }
    while (!bale_stop_signal && (errno = 0, entry = fts_read(fts)))
        visit(work, entry);
    if (!entry && !bale_stop_signal && errno != 0)
        bale_recompress_say(work, path, strerror(errno));
    fts_close(fts);
    bale_inode_set_clear(&work->seen);
}
