#include "tools/transfer/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/file.h"
#include "fs/store/store.h"
#include "kernels/base/container_of.h"
#include "tools/transfer/links.h"
#include "tools/transfer/move.h"

enum { QUEUED = 4 }; /* files for each thread */

static bool is_no_space(int e)
{
    return e == ENOSPC || e == EDQUOT;
}

static struct bale_transfer *transfer_of(struct bale_tree_walk *walk)
{
    return BALE_CONTAINER_OF(walk, struct bale_transfer, walk);
}

static void transfer_walk_fail(struct bale_tree_walk *walk, const char *path, int e)
{
    char text[256];

    snprintf(text, sizeof text, "cannot be read: %s", strerror(e));
    bale_transfer_fail_path(transfer_of(walk), path, text);
}

/* False after a message. */
static bool copy_attributes(struct bale_transfer *transfer,
                            const struct bale_attributes_rules *rules, struct bale_tree_dir *dir,
                            const char *name, const char *from, const char *to, bool follow)
{
    char lost[256];
    int e = 0;
    unsigned failed = bale_attributes_copy(rules, from, to, follow, lost, &e);

    if (failed > 0)
        bale_transfer_fail(transfer, dir, name, "lost %u extended attribute%s (%s: %s)", failed,
                           failed > 1 ? "s" : "", lost, strerror(e));
    return failed == 0;
}

void bale_transfer_attributes(struct bale_task *task, int from, int to)
{
    /* settings are left out: they are in the container */
    const struct bale_attributes_rules rules = {.acls = task->transfer->rules.acls};
    char source[BALE_REACH], target[BALE_REACH];

    bale_reach(from, NULL, source);
    bale_reach(to, NULL, target);
    if (!copy_attributes(task->transfer, &rules, task->dir, task->name, source, target, true))
        task->stays = true;
}

/* ---- Directories ----------------------------------------------------------------------------- */

/* Opens the directory name in dir. Creates it if it is missing; if it is ours and lacks permissions
 * that we need, adds them. */
static int open_target(int dir, const char *name, mode_t mode, bool *made)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat st;

    *made = mkdirat(dir, name, 0700) == 0;
    if (!*made && errno != EEXIST)
        return -1;
    int fd = openat(dir, name, flags);
    if (fd < 0 && errno == EACCES && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(st.st_mode) && fchmodat(dir, name, mode | S_IRWXU, 0) == 0)
        fd = openat(dir, name, flags);
    if (fd >= 0 && !*made && geteuid() != 0 && fstat(fd, &st) == 0 && (~st.st_mode & S_IRWXU))
        (void)fchmod(fd, (st.st_mode & 07777) | S_IRWXU);
    return fd;
}

/* Whether a move may copy the file: it copies nothing that it could not remove. */
static bool may_move(struct bale_transfer *transfer, struct bale_tree_dir *dir, const char *name)
{
    struct bale_tree_dir *in = dir->parent ? dir->parent : dir;

    if (!transfer->move)
        return true;
    if (in->st.st_dev != dir->st.st_dev) {
        bale_transfer_fail(transfer, in, name, "is another file system: left as it is");
        return false;
    }
    if (faccessat(dir->from, ".", W_OK | X_OK, AT_EACCESS) == 0)
        return true;
    bale_transfer_fail(transfer, in, name, "left as it is: nothing can be removed from it: %s",
                       strerror(errno));
    return false;
}

static bool transfer_enter(struct bale_tree_walk *walk, struct bale_tree_dir *dir, const char *name)
{
    struct bale_transfer *transfer = transfer_of(walk);
    bool made = false;

    if (!may_move(transfer, dir, name))
        return false;
    if (dir->parent)
        dir->to = open_target(dir->parent->to, name, dir->st.st_mode & 0777, &made);
    if (dir->to < 0 && transfer->move && is_no_space(errno)) {
        bale_move_enter_alone(transfer, transfer->move->scratch);
        dir->to = open_target(dir->parent->to, name, dir->st.st_mode & 0777, &made);
        int e = errno;
        bale_move_leave(transfer);
        errno = e;
    }
    if (dir->to < 0) {
        bale_transfer_fail(
            transfer, dir->parent, name, "cannot be made below %s: %s", transfer->to_top,
            errno == ENOTDIR || errno == ELOOP ? "something else has its name" : strerror(errno));
        return false;
    }
    if (transfer->entered)
        transfer->entered(transfer, dir, made);
    return true;
}

static void copy_directory_attributes(struct bale_transfer *transfer, struct bale_tree_dir *dir,
                                      enum bale_attributes_part part, int from, int to)
{
    struct bale_attributes_rules rules = transfer->rules;
    char source[BALE_REACH], target[BALE_REACH];

    rules.part = part;
    bale_reach(from, NULL, source);
    bale_reach(to, NULL, target);
    copy_attributes(transfer, &rules, dir, "", source, target, true);
}

/* Copies a directory's owner, mode and ACLs; those of a store's top are in .balefs/top. 0 or an
 * errno. */
static int copy_permissions(struct bale_transfer *transfer, struct bale_tree_dir *dir)
{
    const struct bale_store *from = dir->parent ? NULL : transfer->from_store;
    const struct bale_store *to = dir->parent ? NULL : transfer->to_store;
    int from_top = from ? bale_store_top_fd(from) : -1;
    int to_top = to ? bale_store_top_fd(to) : -1;
    struct stat st = dir->st;
    int e = from ? bale_store_top_attributes(from, &st) : 0;

    if (e == 0)
        e = bale_owner_set(to_top < 0 ? dir->to : to_top, &st, st.st_mode);
    copy_directory_attributes(transfer, dir, BALE_ATTRIBUTES_ACLS,
                              from_top < 0 ? dir->from : from_top, to_top < 0 ? dir->to : to_top);
    return e == 0 && to ? bale_store_top_inherit(to) : e;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void transfer_leave(struct bale_tree_walk *walk, struct bale_tree_dir *dir)
{
    struct bale_transfer *transfer = transfer_of(walk);
    struct timespec times[2] = {dir->st.st_atim, dir->st.st_mtim};

    if (atomic_load(&bale_transfer_stop))
        return; /* the directory must stay writable for another run */
    int e = copy_permissions(transfer, dir);
    copy_directory_attributes(transfer, dir, BALE_ATTRIBUTES_OTHERS, dir->from, dir->to);
    if (e == 0 && futimens(dir->to, times) != 0)
        e = errno;
    int synced = transfer->sync_each ? bale_transfer_sync_directory(transfer, dir) : 0;
    if (synced)
        bale_transfer_fail(transfer, dir, "", "cannot be synced: %s", strerror(synced));
    if (e)
        bale_transfer_fail(transfer, dir, "", "owner, mode and times cannot be kept: %s",
                           strerror(e));
    if (dir->parent && atomic_load(&dir->stays))
        atomic_store(&dir->parent->stays, true);
    else if (dir->parent)
        bale_move_add_name(transfer, dir->parent, last_name(dir->path), &dir->st);
}

/* ---- What is neither a directory nor a regular file ------------------------------------------ */

static int make_link(const struct bale_tree_dir *dir, const char *name)
{
    char target[PATH_MAX + 1];
    ssize_t length = readlinkat(dir->from, name, target, PATH_MAX);

    if (length < 0)
        return errno;
    target[length] = '\0';
    return symlinkat(target, dir->to, name) != 0 ? errno : 0;
}

static int make_special(const struct bale_tree_dir *dir, const char *name, const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return make_link(dir, name);
    return mknodat(dir->to, name, st->st_mode, st->st_rdev) != 0 ? errno : 0;
}

static void copy_special(struct bale_transfer *transfer, struct bale_tree_dir *dir,
                         const char *name, const struct stat *st)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    char source[BALE_REACH], target[BALE_REACH];
    int e = make_special(dir, name, st);

    if (transfer->move && is_no_space(e)) {
        bale_move_enter_alone(transfer, transfer->move->scratch);
        e = make_special(dir, name, st);
        bale_move_leave(transfer);
    }
    if (e == EEXIST && unlinkat(dir->to, name, 0) == 0)
        e = make_special(dir, name, st);
    if (e == 0)
        e = bale_owner_set_at(dir->to, name, st);
    if (e) {
        bale_transfer_fail(
            transfer, dir, name, "cannot be made below %s: %s%s", transfer->to_top, strerror(e),
            e == EPERM && (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode)) ? ": devices need root"
                                                                         : "");
        return;
    }
    bale_reach(dir->from, name, source);
    bale_reach(dir->to, name, target);
    bool whole = copy_attributes(transfer, &transfer->rules, dir, name, source, target, false);
    if (utimensat(dir->to, name, times, AT_SYMLINK_NOFOLLOW) != 0)
        bale_transfer_fail(transfer, dir, name, "its times cannot be kept: %s", strerror(errno));
    else if (whole)
        bale_move_add_name(transfer, dir, name, st);
}

/* ---- Regular files --------------------------------------------------------------------------- */

static void transfer_task_run(struct bale_job *job, struct bale_scratch *scratch)
{
    struct bale_task *task = BALE_CONTAINER_OF(job, struct bale_task, job);

    if (atomic_load(&bale_transfer_stop)) {
        bale_transfer_end(task, BALE_E_CANCELLED, 0, false);
    } else if (!scratch) {
        bale_transfer_fail(task->transfer, task->dir, task->name, "out of memory");
        bale_transfer_end(task, BALE_E_NOMEM, 0, false);
    } else {
        bale_move_step(task->transfer, scratch);
        task->transfer->file(task, scratch);
    }
}

/* Waits while too many files are queued, because a tree may have more files than fit in memory. */
static void submit_file(struct bale_transfer *transfer, struct bale_tree_dir *dir, const char *name,
                        const struct stat *st, struct bale_link *link)
{
    struct bale_task *task = calloc(1, sizeof *task + strlen(name) + 1);

    if (!task) {
        bale_transfer_fail(transfer, dir, name, "out of memory");
        return;
    }
    strcpy(task->text, name);
    task->name = task->text;
    task->job.run = transfer_task_run;
    task->transfer = transfer;
    task->dir = bale_tree_dir_ref(dir);
    task->st = *st;
    task->link = link;
    pthread_mutex_lock(&transfer->lock);
    while (transfer->flying >= QUEUED * transfer->threads)
        pthread_cond_wait(&transfer->less, &transfer->lock);
    transfer->flying++;
    pthread_mutex_unlock(&transfer->lock);
    bale_pool_submit(transfer->pool, &task->job);
}

void bale_transfer_end(struct bale_task *task, int err, uint64_t bytes, bool kept)
{
    struct bale_transfer *transfer = task->transfer;

    if (task->link)
        bale_link_made(transfer, task->link, err == BALE_OK, task->damaged);
    if (err == BALE_OK && task->link)
        bale_link_move(transfer, task->link, task->dir, task->name, !task->stays && !task->damaged);
    else if (err == BALE_OK && !task->stays && !task->damaged)
        bale_move_add_name(transfer, task->dir, task->name, &task->st);
    if (task->stays || task->damaged)
        atomic_store(&task->dir->stays, true);
    bale_tree_dir_unref(task->dir);
    pthread_mutex_lock(&transfer->lock);
    transfer->files += err == BALE_OK;
    transfer->kept += kept;
    transfer->bytes += bytes;
    transfer->flying--;
    bale_progress_show(&transfer->progress, transfer->files, transfer->bytes);
    pthread_cond_signal(&transfer->less);
    pthread_mutex_unlock(&transfer->lock);
    free(task);
}

void bale_transfer_note(struct bale_transfer *transfer, uint64_t bytes)
{
    pthread_mutex_lock(&transfer->lock);
    transfer->bytes += bytes;
    bale_progress_show(&transfer->progress, transfer->files, transfer->bytes);
    pthread_mutex_unlock(&transfer->lock);
}

static void transfer_entry(struct bale_tree_walk *walk, struct bale_tree_dir *dir, const char *name,
                           const struct stat *st)
{
    struct bale_transfer *transfer = transfer_of(walk);
    struct bale_link *link = NULL;
    struct stat renamed;

    if (transfer->move) {
        bale_move_step(transfer, transfer->move->scratch);
        const char *own = bale_origin_unhide(dir->from, name);
        if (own != name && fstatat(dir->from, own, &renamed, AT_SYMLINK_NOFOLLOW) == 0) {
            bale_link_renamed(transfer, &renamed);
            st = &renamed;
        }
        name = own;
    }
    if (!S_ISREG(st->st_mode))
        copy_special(transfer, dir, name, st);
    else if (st->st_nlink == 1 || bale_link_first(transfer, dir, name, st, &link))
        submit_file(transfer, dir, name, st, link);
}

int bale_transfer_run(struct bale_transfer *transfer, int from, int to, const char *path,
                      const char *what)
{
    struct rlimit limit;

    /* a directory stays open while a file in it is being copied */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    umask(0);
    transfer->skip = strlen(path);
    transfer->to = fcntl(to, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_init(&transfer->lock, NULL);
    pthread_cond_init(&transfer->less, NULL);
    transfer->walk.enter = transfer_enter;
    transfer->walk.entry = transfer_entry;
    transfer->walk.leave = transfer_leave;
    transfer->walk.fail = transfer_walk_fail;
    transfer->walk.stop = &bale_transfer_stop;
    int err = transfer->to < 0
                  ? bale_err_from_errno(errno)
                  : bale_pool_create("balefs-pool", transfer->threads, &transfer->pool);
    if (err == BALE_OK)
        err = bale_move_begin(transfer);
    if (err != BALE_OK) {
        close(from);
        close(to);
        return err;
    }
    bale_progress_begin(&transfer->progress, what);
    bale_tree_walk_tree(&transfer->walk, from, to, path);
    bale_pool_destroy(transfer->pool);
    bale_links_clear(transfer);
    bale_move_end(transfer);
    bale_progress_end(&transfer->progress);
    close(transfer->to);
    return BALE_OK;
}
