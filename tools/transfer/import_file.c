/* Imports one regular file through the volume, which compresses many files at the same time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/wait.h"
#include "fs/cache/file.h"
#include "kernels/frame/setting.h"
#include "tools/common/relative.h"
#include "tools/transfer/atomic_file.h"
#include "tools/transfer/import.h"
#include "tools/transfer/move.h"

#define PIECE (1u << 20)

/* A file that is being imported. */
struct incoming {
    struct bale_task *task;
    const struct bale_import *import;
    int source;
    struct stat st;
    struct bale_container_attr attr;
    struct bale_atomic_file container;
    struct bale_file *file;
    struct bale_wait wait;
    uint64_t size; /* bytes read */
};

/* ---- Settings -------------------------------------------------------------------------------- */

/* Attributes of the source choose settings, as they would if the file were copied into a mount,
 * which does not copy lossy ones. */
static void take_wishes(struct incoming *in)
{
    char value[BALE_SETTING_TEXT];
    struct bale_setting wish;

    if (bale_import_wish(in->source, BALE_XATTR_CODEC, value, sizeof value) &&
        bale_setting_parse(value, &wish, NULL) == BALE_OK && !bale_codec_is_lossy(wish.codec)) {
        in->attr.setting = wish;
        in->attr.setting_explicit = true;
    }
    if (bale_import_wish(in->source, BALE_XATTR_EXTENT, value, sizeof value) &&
        bale_extent_parse(value, &in->attr.extent))
        in->attr.extent_explicit = true;
}

static bool is_stopped(void)
{
    return atomic_load(&bale_transfer_stop);
}

/* Gives a relative bound the file's range, or the file a setting without loss. BALE_E_CANCELLED
 * after a message, or if the transfer ends. */
static int find_range(struct incoming *in, double relative)
{
    struct bale_task *task = in->task;
    char text[sizeof(struct bale_reason) + 32], *path;
    struct bale_reason why;

    switch (bale_relative_setting(in->source, relative, is_stopped, &in->attr.setting, &why)) {
    case BALE_RELATIVE_BOUND:
        return BALE_OK;
    case BALE_RELATIVE_EXACT:
        path = bale_tree_dir_path(task->dir, task->name);
        snprintf(text, sizeof text, "stored without loss: %s", why.text);
        bale_transfer_report(task->transfer, path ? path : task->name, text, false);
        free(path);
        return BALE_OK;
    default:
        if (!is_stopped())
            bale_transfer_fail(task->transfer, task->dir, task->name, "%s", why.text);
        return BALE_E_CANCELLED;
    }
}

static int choose_settings(struct incoming *in)
{
    const struct bale_import *import = in->import;
    const struct bale_import_choice *choice = bale_import_choice_of(import, in->task->name);
    int err = bale_properties_for_new(import->store, in->task->dir->to, in->task->name, &in->attr);

    take_wishes(in);
    if (choice) {
        in->attr.setting = choice->setting;
        in->attr.setting_explicit = true;
    }
    if (err == BALE_OK && choice && choice->relative > 0)
        err = find_range(in, choice->relative);
    bale_properties_fit_extent(import->store, &in->attr);
    if (import->modes_in_container)
        in->attr.mode = (uint16_t)(BALE_ROOT_MODE_IN_CONTAINER | (in->st.st_mode & 07777));
    return err;
}

void bale_import_entered(struct bale_transfer *transfer, struct bale_tree_dir *dir, bool made)
{
    static const char *const names[] = {BALE_XATTR_CODEC, BALE_XATTR_EXTENT, BALE_XATTR_MATCH};
    char value[4096], clean[4096];
    struct bale_reason why;

    if (made)
        (void)bale_properties_inherit(dir->parent->to, dir->to);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ssize_t got = fgetxattr(dir->from, names[i], value, sizeof value);
        if (got < 0)
            continue;
        if (bale_properties_check(names[i], value, (size_t)got, clean, &why) != BALE_OK)
            bale_transfer_fail(transfer, dir, "", "%s", why.text);
        else if (fsetxattr(dir->to, names[i], clean, strlen(clean), 0) != 0)
            bale_transfer_fail(transfer, dir, "", "its setting %s is lost: %s", names[i],
                               strerror(errno));
    }
}

/* ---- What is there from an earlier run ------------------------------------------------------- */

static bool is_same(const struct incoming *in, const struct stat *st,
                    const struct bale_container_attr *attr)
{
    int64_t mtime = (int64_t)in->st.st_mtim.tv_sec * 1000000000 + in->st.st_mtim.tv_nsec;
    int64_t held = attr->generation > 0
                       ? attr->mtime
                       : (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    mode_t mode =
        attr->mode & BALE_ROOT_MODE_IN_CONTAINER ? attr->mode & 07777 : st->st_mode & 07777;

    return attr->size == (uint64_t)in->st.st_size && held == mtime &&
           mode == (in->st.st_mode & 07777);
}

/* Whether an earlier run has stored the file already. A mount may have left it unsynced. */
static bool is_there(const struct incoming *in)
{
    struct bale_container_attr attr;
    struct bale_io *io;
    struct stat st;
    int dir = in->task->dir->to;
    /* A descriptor for reading syncs nothing on some file systems. */
    bool sync = in->task->transfer->sync_each;
    int flags = (sync ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

    if (fstatat(dir, in->task->name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return false;
    int fd = openat(dir, in->task->name, flags);
    if (fd < 0 || bale_io_open_fd(fd, &io) != BALE_OK)
        return false;
    int err = bale_container_peek(io, bale_volume_container_config(in->import->volume),
                                  &in->import->defaults, &attr, NULL);
    bool same =
        err == BALE_OK && is_same(in, &st, &attr) && (!sync || io->ops->sync(io) == BALE_OK);
    io->ops->close(io);
    return same;
}

/* ---- Contents -------------------------------------------------------------------------------- */

static int write_piece(struct incoming *in, uint64_t at, const uint8_t *data, size_t length)
{
    while (length > 0) {
        bale_file_write(in->file, at, data, length, bale_wait_done, &in->wait);
        int64_t put = bale_wait_for(&in->wait);
        if (put < 0)
            return (int)put;
        at += (uint64_t)put;
        data += put;
        length -= (size_t)put;
    }
    bale_transfer_note(in->task->transfer, 0);
    return BALE_OK;
}

/* Copies [at, end) of the source, or up to its end. *e: the source cannot be read. */
static int copy_data(struct incoming *in, uint8_t *buffer, uint64_t at, uint64_t end, int *e)
{
    while (at < end) {
        size_t some = end - at < PIECE ? (size_t)(end - at) : PIECE;
        ssize_t got = pread(in->source, buffer, some, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            *e = errno;
        if (got <= 0)
            return got < 0 ? BALE_E_IO : BALE_OK;
        if (atomic_load(&bale_transfer_stop))
            return BALE_E_CANCELLED;
        int err = write_piece(in, at, buffer, (size_t)got);
        if (err != BALE_OK)
            return err;
        at += (uint64_t)got;
        in->size = at > in->size ? at : in->size;
    }
    return BALE_OK;
}

static int copy_contents(struct incoming *in, int *e)
{
    uint64_t size = (uint64_t)in->st.st_size;
    uint8_t *buffer = malloc(size < PIECE ? (size_t)size + 1 : PIECE);
    int err = buffer ? BALE_OK : BALE_E_NOMEM;

    (void)posix_fadvise(in->source, 0, 0, POSIX_FADV_SEQUENTIAL);
    for (off_t at = 0, end; err == BALE_OK && (uint64_t)at < size; at = end) {
        at = lseek(in->source, at, SEEK_DATA);
        if (at < 0)
            break; /* a hole up to the end */
        end = lseek(in->source, at, SEEK_HOLE);
        if (end < 0 || (uint64_t)end > size)
            end = (off_t)size;
        if (end <= at)
            break;
        err = copy_data(in, buffer, (uint64_t)at, (uint64_t)end, e);
    }
    free(buffer);
    if (err == BALE_OK && in->size < size) {
        bale_file_truncate(in->file, size, bale_wait_done, &in->wait);
        err = (int)bale_wait_for(&in->wait);
    }
    return err;
}

/* Stores attributes that writing would not store: an empty container has no settings unless they
 * are set. */
static int keep_attr(struct incoming *in)
{
    const struct bale_container_attr *defaults = &in->import->defaults;
    bool settings = in->attr.setting_explicit || in->attr.extent_explicit ||
                    in->attr.extent != defaults->extent ||
                    in->attr.setting.codec != defaults->setting.codec ||
                    in->attr.setting.parameter != defaults->setting.parameter;

    if (in->st.st_size > 0 || (!settings && !in->import->modes_in_container))
        return BALE_OK;
    unsigned what = (settings ? BALE_ATTR_SETTING | BALE_ATTR_EXTENT : 0u) |
                    (in->import->modes_in_container ? BALE_ATTR_MODE : 0u);
    bale_file_set_attr(in->file, what, &in->attr, bale_wait_done, &in->wait);
    return (int)bale_wait_for(&in->wait);
}

/* Rounds what was not rounded, because the file is short or begins with a hole: it is complete
 * now. */
static int round_rest(struct incoming *in)
{
    struct bale_round_stored round = {.offset = 0};
    struct bale_file_attr attr;
    int err = BALE_OK;

    bale_file_attr(in->file, &attr);
    round.over = !bale_codec_is_lossy(in->attr.setting.codec) || attr.rounds == BALE_ROUNDS_YES ||
                 attr.rounds == BALE_ROUNDS_NO;
    while (err == BALE_OK && !round.over) {
        bale_file_round(in->file, &round, bale_wait_done, &in->wait);
        err = (int)bale_wait_for(&in->wait);
        if (err == BALE_OK && round.rounded > 0) {
            bale_file_flush(in->file, false, bale_wait_done, &in->wait);
            err = (int)bale_wait_for(&in->wait);
        }
    }
    return err;
}

/* Fills the container and closes it. */
static int fill(struct incoming *in, int *e)
{
    int fd = fcntl(in->container.fd, F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return bale_err_from_errno(errno);
    int err = bale_file_open(in->import->volume, fd, &in->attr, in->task->name, &in->file, NULL);
    if (err != BALE_OK)
        return err;
    err = copy_contents(in, e);
    if (err == BALE_OK)
        err = round_rest(in);
    if (err == BALE_OK)
        err = keep_attr(in);
    if (err == BALE_OK) {
        bale_file_set_times(in->file, &in->st.st_atim, &in->st.st_mtim, bale_wait_done, &in->wait);
        err = (int)bale_wait_for(&in->wait);
    }
    if (err == BALE_OK) {
        bale_file_flush(in->file, false, bale_wait_done, &in->wait);
        err = (int)bale_wait_for(&in->wait);
    }
    if (err != BALE_OK)
        bale_file_discard(in->file);
    bale_file_on_close(in->file, bale_wait_closed, &in->wait);
    bale_file_unref(in->file);
    bale_wait_for(&in->wait);
    return err;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Sets owner and mode after the contents, because writing removes set-id bits and capabilities;
 * extended attributes come last. */
static int dress(struct incoming *in)
{
    mode_t mode = in->st.st_mode & 07777;

    if (in->import->modes_in_container)
        mode = bale_root_backing_mode(mode);
    int e = bale_owner_set(in->container.fd, &in->st, mode);
    if (e)
        return e;
    bale_transfer_attributes(in->task, in->source, in->container.fd);
    if (in->task->transfer->sync_each && fsync(in->container.fd) != 0)
        return errno;
    return bale_atomic_file_publish(&in->container, in->task->name);
}

/* True if the store is full or its disk fails: then the next file would fail as well. */
static bool is_fatal(int err)
{
    return err == BALE_E_NOSPACE || err == BALE_E_DQUOT || err == BALE_E_IO || err == BALE_E_RDONLY;
}

/* *e: the source cannot be read. */
static int try(struct incoming *in, int *e)
{
    int made = bale_atomic_file_open(&in->container, in->task->dir->to);
    int err = made ? bale_err_from_errno(made) : fill(in, e);

    return err == BALE_OK ? bale_err_from_errno(dress(in)) : err;
}

static int store(struct incoming *in, struct bale_scratch *scratch)
{
    struct bale_task *task = in->task;
    int e = 0;
    int err = choose_settings(in);

    if (err == BALE_OK && bale_import_refuses(task, &in->attr.setting))
        return BALE_E_CANCELLED;
    bale_move_enter(task->transfer);
    if (err == BALE_OK)
        err = try(in, &e);
    bale_move_leave(task->transfer);
    if (task->transfer->move && (err == BALE_E_NOSPACE || err == BALE_E_DQUOT)) {
        bale_atomic_file_close(&in->container);
        in->size = 0;
        bale_move_enter_alone(task->transfer, scratch);
        err = try(in, &e);
        bale_move_leave(task->transfer);
    }
    if (e)
        bale_transfer_fail(task->transfer, task->dir, task->name, "cannot be read: %s",
                           strerror(e));
    else if (err != BALE_OK && err != BALE_E_CANCELLED)
        bale_transfer_fail(task->transfer, task->dir, task->name, "cannot be stored in %s: %s",
                           task->transfer->to_top, bale_err_text(err));
    else if (err == BALE_OK && bale_import_changed(in->source, &in->st)) {
        task->stays = true;
        bale_transfer_fail(task->transfer, task->dir, task->name,
                           "was changed while it was read: import it again");
    }
    if (!e && is_fatal(err))
        atomic_store(&bale_transfer_stop, true);
    return err;
}

void bale_import_file(struct bale_task *task, struct bale_scratch *scratch)
{
    struct incoming in = {
        .task = task,
        .import = task->transfer->arg,
        .container = {.fd = -1},
        .wait = BALE_WAIT,
    };

    in.source = bale_import_open(task, &in.st);
    int e = in.source < 0 ? errno : 0;
    int err = bale_err_from_errno(e);
    bool kept = false;

    if (e) {
        bale_transfer_fail(task->transfer, task->dir, task->name, "cannot be read: %s",
                           strerror(e));
    } else {
        kept = is_there(&in);
        err = kept ? BALE_OK : store(&in, scratch);
    }
    bale_atomic_file_close(&in.container);
    if (in.source >= 0)
        close(in.source);
    bale_transfer_end(task, err, err == BALE_OK && !kept ? in.size : 0, kept);
}
