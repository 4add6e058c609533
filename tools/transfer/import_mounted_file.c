/* Imports one regular file into a mount, through which it is written. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/write_all.h"
#include "fs/store/store.h"
#include "kernels/frame/setting.h"
#include "tools/common/mounts.h"
#include "tools/transfer/import.h"
#include "tools/transfer/move.h"

#define PIECE (1u << 20)

/* A file that is being written. */
struct incoming {
    struct bale_task *task;
    struct stat st;
    int source, copy;
    uint64_t size; /* bytes read */
};

/* ---- Settings -------------------------------------------------------------------------------- */

void bale_import_mounted_entered(struct bale_transfer *transfer, struct bale_tree_dir *dir,
                                 bool made)
{
    static const char *const names[] = {BALE_XATTR_CODEC, BALE_XATTR_EXTENT, BALE_XATTR_MATCH};
    char value[4096];

    (void)made;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ssize_t got = fgetxattr(dir->from, names[i], value, sizeof value);
        if (got >= 0 && fsetxattr(dir->to, names[i], value, (size_t)got, 0) != 0)
            bale_transfer_fail(transfer, dir, "", "its setting %s is lost: %s", names[i],
                               strerror(errno));
    }
}

/* Gives a new file the settings that the source's attributes and the user's choices ask for. False:
 * the file is not to be written, after a message. */
static bool choose_settings(struct incoming *in)
{
    const struct bale_import_choice *choice =
        bale_import_choice_of(in->task->transfer->arg, in->task->name);
    char text[BALE_SETTING_TEXT];
    struct bale_setting setting;

    if (bale_import_wish(in->source, BALE_XATTR_EXTENT, text, sizeof text))
        (void)fsetxattr(in->copy, BALE_XATTR_EXTENT, text, strlen(text), 0);
    bool wish = bale_import_wish(in->source, BALE_XATTR_CODEC, text, sizeof text);
    if (choice)
        bale_setting_print(choice->setting, text, sizeof text);
    if ((wish || choice) && bale_setting_parse(text, &setting, NULL) == BALE_OK &&
        !bale_codec_is_lossy(setting.codec))
        (void)fsetxattr(in->copy, BALE_XATTR_CODEC, text, strlen(text), 0);
    ssize_t got = fgetxattr(in->copy, BALE_XATTR_CODEC, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    return got <= 0 || bale_setting_parse(text, &setting, NULL) != BALE_OK ||
           !bale_import_refuses(in->task, &setting);
}

/* ---- Contents -------------------------------------------------------------------------------- */

/* Copies [at, end) of the source, or up to its end. *e: the source cannot be read. Returns an errno
 * of the target. */
static int copy_data(struct incoming *in, uint8_t *buffer, uint64_t at, uint64_t end, int *e)
{
    while (at < end && !atomic_load(&bale_transfer_stop)) {
        size_t some = end - at < PIECE ? (size_t)(end - at) : PIECE;
        ssize_t got = pread(in->source, buffer, some, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            *e = got < 0 ? errno : 0;
            return 0;
        }
        if (bale_write_all(in->copy, buffer, (size_t)got, at) != 0)
            return errno;
        at += (uint64_t)got;
        in->size += (uint64_t)got;
        bale_transfer_note(in->task->transfer, 0);
    }
    return 0;
}

static int copy_contents(struct incoming *in, int *e)
{
    off_t size = in->st.st_size;
    uint8_t *buffer = malloc(PIECE);
    int put = buffer ? 0 : ENOMEM;

    for (off_t at = 0, end; put == 0 && *e == 0 && at < size; at = end) {
        at = lseek(in->source, at, SEEK_DATA);
        end = at < 0 ? -1 : lseek(in->source, at, SEEK_HOLE);
        if (at < 0 || end <= at)
            break; /* a hole up to the end */
        end = end < size ? end : size;
        put = copy_data(in, buffer, (uint64_t)at, (uint64_t)end, e);
    }
    free(buffer);
    if (put == 0 && *e == 0 && ftruncate(in->copy, size) != 0)
        put = errno;
    return put;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* The file has its own name from the start, because match lines go by it: what a killed run leaves
 * lacks the times that say that it is whole. 0 or an errno. */
static int make_copy(struct incoming *in)
{
    const int flags = O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    int dir = in->task->dir->to;

    in->copy = openat(dir, in->task->name, flags, 0600);
    if (in->copy < 0 && errno == EEXIST && unlinkat(dir, in->task->name, 0) == 0)
        in->copy = openat(dir, in->task->name, flags, 0600);
    return in->copy < 0 ? errno : 0;
}

static int dress(struct incoming *in)
{
    const struct timespec times[2] = {in->st.st_atim, in->st.st_mtim};
    int e = bale_owner_set(in->copy, &in->st, in->st.st_mode & 07777);

    if (e)
        return e;
    bale_transfer_attributes(in->task, in->source, in->copy);
    if (in->task->stays)
        return 0; /* the times would say that it is whole */
    return futimens(in->copy, times) != 0 ? errno : 0;
}

/* 0 or an errno; ECANCELED after a message, or if the transfer ends. *e: the source cannot be
 * read. */
static int try(struct incoming *in, int *e)
{
    int put = make_copy(in);

    if (put)
        return put;
    if (!choose_settings(in))
        put = ECANCELED;
    if (put == 0)
        put = copy_contents(in, e);
    if (put == 0 && atomic_load(&bale_transfer_stop))
        put = ECANCELED;
    if (put == 0 && *e == 0)
        put = dress(in);
    if (close(in->copy) != 0 && put == 0) /* the daemon stores it now */
        put = errno;
    if (put || *e)
        unlinkat(in->task->dir->to, in->task->name, 0);
    return put;
}

static bool is_there(const struct incoming *in)
{
    struct stat st;

    return fstatat(in->task->dir->to, in->task->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_size == in->st.st_size &&
           st.st_mtim.tv_sec == in->st.st_mtim.tv_sec &&
           st.st_mtim.tv_nsec == in->st.st_mtim.tv_nsec &&
           ((st.st_mode ^ in->st.st_mode) & 07777) == 0;
}

static int write_copy(struct incoming *in, struct bale_scratch *scratch)
{
    struct bale_task *task = in->task;
    int e = 0;

    bale_move_enter(task->transfer);
    int put = try(in, &e);
    bale_move_leave(task->transfer);
    if (put == ENOSPC || put == EDQUOT) {
        in->size = 0;
        bale_move_enter_alone(task->transfer, scratch);
        put = try(in, &e);
        bale_move_leave(task->transfer);
    }
    task->stays |= put || e;
    if (e)
        bale_transfer_fail(task->transfer, task->dir, task->name, "cannot be read: %s",
                           strerror(e));
    else if (put && put != ECANCELED)
        bale_transfer_fail(task->transfer, task->dir, task->name, "cannot be stored in %s: %s",
                           task->transfer->to_top, strerror(put));
    if (put == ENOSPC || put == EDQUOT || put == EIO || put == EROFS || bale_mounts_is_gone(put))
        atomic_store(&bale_transfer_stop, true);
    return e ? BALE_E_IO : bale_err_from_errno(put);
}

void bale_import_mounted_file(struct bale_task *task, struct bale_scratch *scratch)
{
    struct incoming in = {.task = task, .copy = -1};
    bool kept = false;
    int err;

    in.source = bale_import_open(task, &in.st);
    if (in.source < 0) {
        err = bale_err_from_errno(errno);
        bale_transfer_fail(task->transfer, task->dir, task->name, "cannot be read: %s",
                           strerror(errno));
    } else {
        kept = is_there(&in);
        err = kept ? BALE_OK : write_copy(&in, scratch);
        close(in.source);
    }
    bale_transfer_end(task, err, err == BALE_OK && !kept ? in.size : 0, kept);
}
