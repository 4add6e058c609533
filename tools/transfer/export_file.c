/* Exports one regular file. Several threads read and write a large one. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/write_all.h"
#include "kernels/frame/setting.h"
#include "tools/transfer/atomic_file.h"
#include "tools/transfer/export.h"
#include "tools/transfer/move.h"

#define TRIES 5                     /* for a file that is being written */
#define SHARE (8u << 20)            /* bytes of a large file that a thread copies at a time */
#define ALONE ((uint64_t)2 * SHARE) /* one thread copies a smaller file */

/* A file that is being exported. */
struct outgoing {
    struct bale_task *task;
    struct bale_contents contents;
    struct bale_damage damage;
    struct bale_atomic_file file;
    struct stat st; /* the attributes that the target gets */
    unsigned tries;
    bool alone; /* nobody else copies, so that a move has removed what it can */
    atomic_uint refs;
    atomic_ullong next; /* start of the next share */
    atomic_ullong copied;
    atomic_int error; /* an errno: the target cannot be written */
};

struct export_helper {
    struct bale_job job;
    struct outgoing *out;
};

int bale_export_open(const struct bale_export *export, int dir, const char *name,
                     struct bale_contents *contents, struct stat *st, struct bale_reason *why)
{
    struct bale_container_attr *attr = &contents->attr;
    int fd, err = bale_reader_open_below(dir, name, &fd, why);

    if (err != BALE_OK)
        return err;
    if (fstat(fd, st) != 0) {
        close(fd);
        return BALE_E_IO;
    }
    err = bale_contents_open(&export->reader, fd, contents, why);
    if (err != BALE_OK)
        return err;
    st->st_size = (off_t)attr->size;
    if (attr->generation > 0)
        st->st_mtim = (struct timespec){attr->mtime / 1000000000, attr->mtime % 1000000000};
    if (st->st_mtim.tv_nsec < 0) {
        st->st_mtim.tv_sec--;
        st->st_mtim.tv_nsec += 1000000000;
    }
    if (export->reader.config.modes_in_container && attr->mode & BALE_ROOT_MODE_IN_CONTAINER)
        st->st_mode = (st->st_mode & S_IFMT) | bale_root_permissions(attr->mode, st->st_mode);
    return BALE_OK;
}

static const struct bale_export *export_of(const struct outgoing *out)
{
    return out->task->transfer->arg;
}

/* Whether the file is durable. Syncs it where no sync of the file system will, because an earlier
 * run may have left it unsynced. */
static bool is_synced(const struct outgoing *out)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

    if (!out->task->transfer->sync_each)
        return true;
    int fd = openat(out->task->dir->to, out->task->name, flags);
    bool synced = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return synced;
}

/* True if an earlier run has exported it already. */
static bool is_there(const struct outgoing *out)
{
    const struct stat *want = &out->st;
    struct stat st;

    return fstatat(out->task->dir->to, out->task->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_size == want->st_size &&
           st.st_mtim.tv_sec == want->st_mtim.tv_sec &&
           st.st_mtim.tv_nsec == want->st_mtim.tv_nsec &&
           ((st.st_mode ^ want->st_mode) & 07777) == 0 && is_synced(out);
}

/* Copies the data in [at, end) with this thread's buffer. */
static void copy_share(struct outgoing *out, struct bale_scratch *scratch, uint8_t *buffer,
                       uint64_t at, uint64_t end)
{
    uint64_t from, to;

    while (at < end && !atomic_load(&out->error) && !atomic_load(&bale_transfer_stop) &&
           bale_contents_next(&out->contents, at, &from, &to) && from < end) {
        to = to < end ? to : end;
        int err = bale_contents_read(&out->contents, scratch, from, (size_t)(to - from), buffer,
                                     &out->damage);
        if (err != BALE_OK)
            atomic_store(&out->error, bale_err_to_errno(err));
        else if (bale_write_all(out->file.fd, buffer, (size_t)(to - from), from) != 0)
            atomic_store(&out->error, errno);
        atomic_fetch_add(&out->copied, to - from);
        bale_transfer_note(out->task->transfer, to - from);
        at = to;
    }
}

/* Skips the shares from `at` on that are holes: a sparse file may have too many to go through. */
static void skip_holes(struct outgoing *out, uint64_t at)
{
    unsigned long long next = atomic_load(&out->next);
    uint64_t from, to;

    if (!bale_contents_next(&out->contents, at, &from, &to))
        from = out->contents.attr.size;
    from = from / SHARE * SHARE;
    while (next < from && !atomic_compare_exchange_weak(&out->next, &next, from))
        ;
}

static void copy_shares(struct outgoing *out, struct bale_scratch *scratch)
{
    uint64_t size = out->contents.attr.size;
    uint8_t *buffer = malloc(size < BALE_PIECE ? (size_t)size + 1 : BALE_PIECE);

    if (!buffer || !scratch)
        atomic_store(&out->error, ENOMEM);
    for (uint64_t at; buffer && scratch && (at = atomic_fetch_add(&out->next, SHARE)) < size;) {
        copy_share(out, scratch, buffer, at, at + SHARE < size ? at + SHARE : size);
        skip_holes(out, at + SHARE);
    }
    free(buffer);
}

static void set_text(struct outgoing *out, const char *name, const char *value)
{
    if (fsetxattr(out->file.fd, name, value, strlen(value), 0) != 0)
        bale_transfer_fail(out->task->transfer, out->task->dir, out->task->name,
                           "lost its setting %s: %s", name, strerror(errno));
}

/* The settings of a file are in its container: writes them as attributes. A lossy one stays behind:
 * what is exported has been rounded, and no copy must become lossy unasked. */
static void keep_settings(struct outgoing *out)
{
    const struct bale_container_attr *attr = &out->contents.attr;
    char text[BALE_SETTING_TEXT];

    if (attr->setting_explicit && !bale_codec_is_lossy(attr->setting.codec)) {
        bale_setting_print(attr->setting, text, sizeof text);
        set_text(out, BALE_XATTR_CODEC, text);
    }
    if (attr->extent_explicit) {
        snprintf(text, sizeof text, "%u", attr->extent);
        set_text(out, BALE_XATTR_EXTENT, text);
    }
}

/* Sets everything except the contents, and then the name. */
static int complete(struct outgoing *out)
{
    struct bale_task *task = out->task;
    const struct timespec times[2] = {out->st.st_atim, out->st.st_mtim};
    char name[NAME_MAX + sizeof BALE_DAMAGED];

    if (ftruncate(out->file.fd, out->st.st_size) != 0)
        return errno;
    int e = bale_owner_set(out->file.fd, &out->st, out->st.st_mode);
    if (e)
        return e;
    bale_transfer_attributes(task, bale_io_fd(bale_container_io(out->contents.container)),
                             out->file.fd);
    if (export_of(out)->settings)
        keep_settings(out);
    if (futimens(out->file.fd, times) != 0 ||
        (task->transfer->sync_each && fsync(out->file.fd) != 0))
        return errno;
    snprintf(name, sizeof name, "%s%s", task->name, task->damaged ? BALE_DAMAGED : "");
    return bale_atomic_file_publish(&out->file, name);
}

static void report_damage(struct outgoing *out)
{
    struct bale_transfer *transfer = out->task->transfer;
    char *path = bale_tree_dir_path(out->task->dir, out->task->name), *full = NULL;
    char end[NAME_MAX + 64];

    if (path && asprintf(&full, "%s/%s", transfer->from_top, path) < 0)
        full = NULL;
    snprintf(end, sizeof end, ": they are zeros in %s%s", out->task->name, BALE_DAMAGED);
    pthread_mutex_lock(&transfer->lock);
    transfer->failed = true;
    bale_progress_end(&transfer->progress);
    bale_damage_report(&out->damage, full ? full : out->task->name, end);
    pthread_mutex_unlock(&transfer->lock);
    free(path);
    free(full);
}

static void report_recovery(struct outgoing *out)
{
    const struct bale_task *task = out->task;
    bool lost;
    const char *recovery = bale_contents_recovery(&out->contents, &lost);
    char *path = recovery ? bale_tree_dir_path(task->dir, task->name) : NULL;

    if (recovery)
        bale_transfer_report(task->transfer, path ? path : task->name, recovery, lost);
    free(path);
}

static void close_all(struct outgoing *out)
{
    bale_atomic_file_close(&out->file);
    bale_contents_close(&out->contents);
    bale_damage_clear(&out->damage);
}

static void export_end(struct outgoing *out, int err, bool kept)
{
    struct bale_task *task = out->task;

    close_all(out);
    free(out);
    bale_transfer_end(task, err, 0, kept);
}

static void export_begin(struct outgoing *out, struct bale_scratch *scratch);

/* In a move, tries again once the move has given space back. False: that does not help. */
static bool tries_again(struct outgoing *out, int e, struct bale_scratch *scratch)
{
    struct bale_transfer *transfer = out->task->transfer;

    if (!transfer->move || (e != ENOSPC && e != EDQUOT))
        return false;
    if (out->alone) {
        atomic_store(&bale_transfer_stop, true); /* the next file would fail as well */
        return false;
    }
    out->alone = true;
    bale_transfer_note(transfer, -atomic_exchange(&out->copied, 0));
    close_all(out);
    bale_move_leave(transfer);
    bale_move_enter_alone(transfer, scratch);
    export_begin(out, scratch);
    return true;
}

/* Called when no thread copies any more. */
static void export_finish(struct outgoing *out, struct bale_scratch *scratch)
{
    struct bale_task *task = out->task;
    int e = atomic_load(&out->error);

    if (atomic_load(&bale_transfer_stop)) {
        export_end(out, BALE_E_CANCELLED, false);
        return;
    }
    task->damaged = bale_damage_any(&out->damage);
    if (task->damaged && export_of(out)->live && bale_contents_moved(&out->contents)) {
        task->damaged = false;
        if (out->tries < TRIES) {
            close_all(out);
            export_begin(out, scratch);
            return;
        }
        bale_transfer_fail(task->transfer, task->dir, task->name,
                           "keeps changing: try again, or unmount first");
        export_end(out, BALE_E_STALE, false);
        return;
    }
    if (e == 0)
        e = complete(out);
    if (tries_again(out, e, scratch))
        return;
    if (e == 0)
        report_recovery(out);
    if (e)
        bale_transfer_fail(task->transfer, task->dir, task->name, "cannot be written below %s: %s",
                           task->transfer->to_top, strerror(e));
    else if (task->damaged)
        report_damage(out);
    export_end(out, e ? bale_err_from_errno(e) : BALE_OK, false);
}

static void export_release(struct outgoing *out, struct bale_scratch *scratch)
{
    if (atomic_fetch_sub(&out->refs, 1) == 1)
        export_finish(out, scratch);
}

static void export_help(struct bale_job *job, struct bale_scratch *scratch)
{
    struct export_helper *helper = (struct export_helper *)job;
    struct outgoing *out = helper->out;

    free(helper);
    copy_shares(out, scratch);
    export_release(out, scratch);
}

static void start_helpers(struct outgoing *out)
{
    struct bale_transfer *transfer = out->task->transfer;
    uint64_t shares = out->contents.attr.size / SHARE;

    for (unsigned i = 1; i < transfer->threads && i < shares; i++) {
        struct export_helper *helper = malloc(sizeof *helper);
        if (!helper)
            return;
        *helper = (struct export_helper){.job = {.run = export_help}, .out = out};
        atomic_fetch_add(&out->refs, 1);
        bale_pool_submit(transfer->pool, &helper->job);
    }
}

static void export_begin(struct outgoing *out, struct bale_scratch *scratch)
{
    struct bale_task *task = out->task;
    struct bale_reason why = {"cannot be read"};
    bool lost;
    int err = bale_export_open(export_of(out), task->dir->from, task->name, &out->contents,
                               &out->st, &why);

    out->tries++;
    bale_damage_init(&out->damage);
    out->file = (struct bale_atomic_file){.fd = -1};
    atomic_store(&out->refs, 1);
    atomic_store(&out->next, 0);
    atomic_store(&out->error, 0);
    if (err == BALE_OK && bale_contents_recovery(&out->contents, &lost))
        task->stays = true; /* it may have another state */
    if (err == BALE_OK && is_there(out)) {
        export_end(out, BALE_OK, true);
        return;
    }
    if (err != BALE_OK) {
        if (err != BALE_E_NOENT || !export_of(out)->live)
            bale_transfer_fail(task->transfer, task->dir, task->name, "%s", why.text);
        export_end(out, err, false);
        return;
    }
    int e = bale_atomic_file_open(&out->file, task->dir->to);
    if (tries_again(out, e, scratch))
        return;
    if (e) {
        bale_transfer_fail(task->transfer, task->dir, task->name, "cannot be made below %s: %s",
                           task->transfer->to_top, strerror(e));
        export_end(out, bale_err_from_errno(e), false);
        return;
    }
    /* In a move, one thread copies a file, because it may have to wait until it is alone. */
    if (out->contents.attr.size >= ALONE && !task->transfer->move)
        start_helpers(out);
    copy_shares(out, scratch);
    export_release(out, scratch);
}

void bale_export_file(struct bale_task *task, struct bale_scratch *scratch)
{
    struct outgoing *out = calloc(1, sizeof *out);

    if (!out) {
        bale_transfer_fail(task->transfer, task->dir, task->name, "out of memory");
        bale_transfer_end(task, BALE_E_NOMEM, 0, false);
        return;
    }
    struct bale_transfer *transfer = task->transfer;
    out->task = task;
    bale_move_enter(transfer);
    export_begin(out, scratch);
    bale_move_leave(transfer);
}
