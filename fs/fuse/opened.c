#include "fs/fuse/opened.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/base/log.h"
#include "fs/fuse/backing.h"
#include "fs/fuse/capability.h"
#include "fs/fuse/ctime.h"
#include "fs/fuse/give.h"
#include "fs/fuse/request.h"
#include "fs/fuse/shares.h"
#include "fs/fuse/unsynced.h"
#include "kernels/base/container_of.h"

/* ---- The list of mount->opened ---- */

/* With the lock. */

static struct bale_opened *opened_create(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_opened *opened = calloc(1, sizeof *opened);

    if (!opened)
        return NULL;
    opened->mount = mount;
    opened->node = node;
    opened->fd = -1;
    opened->user = bale_current_request.user;
    opened->defaults = mount->defaults;
    opened->writable = true;
    opened->next = mount->opened;
    if (opened->next)
        opened->next->before = opened;
    mount->opened = opened;
    node->opened = opened;
    bale_node_ref(mount->nodes, node);
    return opened;
}

/* With the lock. */
static void opened_unlist(struct bale_opened *opened)
{
    pthread_cond_broadcast(&opened->mount->closed);
    *(opened->before ? &opened->before->next : &opened->mount->opened) = opened->next;
    if (opened->next)
        opened->next->before = opened->before;
    opened->node->opened = NULL;
}

/* Without the lock. */
static void opened_destroy(struct bale_opened *opened)
{
    struct bale_mount *mount = opened->mount;
    struct bale_node *node = opened->node;

    bale_shares_give(mount->files, opened->user, opened->unlinked ? 2 : 1);
    free(opened->capability);
    free(opened);
    bale_node_unref(mount->nodes, node);
}

/* ---- Opening ---- */

/* after_close: on the thread that closed it, or on one that may be a reader as well. */
static void opened_end_open(struct bale_opened *opened, struct bale_file *file, int e,
                            bool after_close)
{
    struct bale_mount *mount = opened->mount;

    pthread_mutex_lock(&mount->opened_lock);
    struct bale_use *waiters = opened->waiters;
    opened->waiters = NULL;
    if (after_close)
        mount->after_close += bale_opened_count_waiters(waiters);
    if (e) {
        opened_unlist(opened);
    } else {
        opened->file = file;
        opened->uses = bale_opened_count_waiters(waiters);
        opened->state = BALE_OPENED_OPEN;
    }
    pthread_mutex_unlock(&mount->opened_lock);
    if (e)
        opened_destroy(opened);
    if (after_close)
        bale_opened_call_waiters_after_close(waiters, e);
    else
        bale_opened_call_waiters(waiters, e);
}

static void opened_given(struct bale_opened *opened, struct bale_file *file)
{
    opened_end_open(opened, file, 0, true);
}

static void opened_open(struct bale_opened *opened, bool after_close)
{
    struct bale_file *file = NULL;
    int e = bale_opened_open_file(opened, &file);

    if (!e && opened->gives)
        bale_give(opened, file, opened_given);
    else
        opened_end_open(opened, file, e, after_close);
}

static void opened_open_job(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    opened_open(BALE_CONTAINER_OF(job, struct bale_opened, job), false);
}

/* Opens the file; in a job if it must be verified, which takes long and writes. */
static void opened_begin_open(struct bale_opened *opened, bool after_close)
{
    if (!(opened->node->marks & BALE_MARK_UNCERTAIN)) {
        opened_open(opened, after_close);
        return;
    }
    opened->job.run = opened_open_job;
    opened->job.turn.user = bale_working_for;
    bale_pool_submit(bale_volume_pool(opened->mount->volume), &opened->job);
}

/* Waits until some file is closed. With the lock. False: there is none, or this thread may be
 * needed to close it: only one that handles a request may wait, not a job, nor a thread of the
 * volume. */
static bool wait_for_close(struct bale_mount *mount)
{
    if (bale_current_request.unique == 0 || bale_pool_in_job() || mount->closing == 0)
        return false;
    pthread_cond_wait(&mount->closed, &mount->opened_lock);
    return true;
}

/* Takes a share for a file that is not open, unless it is opened meanwhile. With the lock. False:
 * there is none for this user. */
static bool take_share(struct bale_mount *mount, const struct bale_node *node)
{
    enum bale_share share = BALE_SHARE_SOON;

    while (!node->opened && share == BALE_SHARE_SOON) {
        share = bale_shares_take(mount->files, bale_current_request.user);
        if (share == BALE_SHARE_SOON && !wait_for_close(mount))
            share = BALE_SHARE_NONE;
    }
    if (share == BALE_SHARE_NONE && !mount->share_reported) {
        mount->share_reported = true;
        bale_log(
            BALE_LOG_WARNING,
            "user %u has as many files open as are left for others, and gets ENFILE: raise the "
            "limit of open files (ulimit -Hn) and mount again",
            (unsigned)bale_current_request.user);
    }
    return share != BALE_SHARE_NONE;
}

/* The file of a use that has just been made. */
struct created {
    int fd;
    const struct stat *backing;
    const struct bale_container_attr *defaults;
    bool settings_new;
};

/* created: NULL for another file. */
static void use_begin(struct bale_use *use, const struct created *created)
{
    struct bale_mount *mount = use->mount;
    struct bale_node *node = use->node;
    enum { READY, WAIT, OPEN, FAIL } then = WAIT;
    int fd = created ? created->fd : -1;
    int e = 0;

    use->next = NULL;
    use->job = (struct bale_job){.turn.user = bale_working_for};
    pthread_mutex_lock(&mount->opened_lock);
    bool may_open = !use->only_open && take_share(mount, node);
    struct bale_opened *opened = node->opened;
    if (opened && opened->state == BALE_OPENED_OPEN) {
        opened->uses++;
        then = READY;
    } else if (opened) {
        use->next = opened->waiters;
        opened->waiters = use;
    } else if (may_open && (opened = opened_create(mount, node))) {
        opened->waiters = use;
        opened->gives = use->gives;
        if (created) {
            opened->fd = fd;
            opened->backing = *created->backing;
            opened->settings_new = created->settings_new;
            opened->defaults = *created->defaults;
        }
        fd = -1;
        then = OPEN;
    } else {
        then = FAIL;
        e = use->only_open ? ENOENT : may_open ? ENOMEM : ENFILE;
        if (may_open)
            bale_shares_give(mount->files, bale_current_request.user, 1);
    }
    pthread_mutex_unlock(&mount->opened_lock);
    if (fd >= 0)
        close(fd);
    if (then == READY)
        use->ready(use, 0);
    else if (then == FAIL)
        use->ready(use, e);
    else if (then == OPEN)
        opened_begin_open(opened, false);
}

void bale_use_begin(struct bale_use *use)
{
    use_begin(use, NULL);
}

void bale_use_begin_created(struct bale_use *use, int fd, const struct stat *backing,
                            const struct bale_container_attr *defaults, bool settings_new)
{
    use_begin(use, &(struct created){fd, backing, defaults, settings_new});
}

bool bale_use_hold(struct bale_mount *mount, struct bale_node *node)
{
    pthread_mutex_lock(&mount->opened_lock);
    bool open = node && node->opened && node->opened->state == BALE_OPENED_OPEN;
    if (open)
        node->opened->uses++;
    pthread_mutex_unlock(&mount->opened_lock);
    return open;
}

/* ---- Closing ---- */

/* Writing the container changed the backing inode's ctime and took security.capability away:
 * remembers the ctime that was shown, and puts the capability back. */
static void restore_after_close(struct bale_opened *opened, const struct stat *last)
{
    struct bale_mount *mount = opened->mount;
    struct stat st;
    int64_t btime;
    int fd;
    bool changed = opened->last.ctime.tv_sec != 0;

    if (changed && last && !opened->unlinked && !opened->capability) {
        bale_ctimes_put(mount->ctimes, last->st_ino, &opened->last.ctime, &last->st_ctim);
        return;
    }
    if (opened->unlinked || (!changed && !opened->capability) ||
        bale_node_pin(mount->nodes, opened->node, &fd) != 0)
        return;
    bale_capability_restore(opened, bale_proc_path(fd).text);
    if (changed && bale_stat_fd(fd, &st, &btime) == 0)
        bale_ctimes_put(mount->ctimes, st.st_ino, &opened->last.ctime, &st.st_ctim);
    bale_node_unpin(mount->nodes, opened->node);
}

/* bale_file_on_close: from another thread, without locks. */
static void opened_file_closed(void *arg, bool written, const struct stat *last)
{
    struct bale_opened *opened = arg;
    struct bale_mount *mount = opened->mount;

    restore_after_close(opened, last);
    /* If the name went while the file was being closed, nobody misses what could not be stored. */
    if (opened->unlinked)
        bale_volume_removed(mount->volume, opened->node->ino);
    if (written && !opened->unlinked)
        bale_unsynced_add(mount, opened->node);
    pthread_mutex_lock(&mount->opened_lock);
    struct bale_use *waiters = opened->waiters, *absent = NULL;
    opened->waiters = NULL;
    while (waiters) {
        struct bale_use *next = waiters->next;
        struct bale_use **list = waiters->only_open ? &absent : &opened->waiters;
        waiters->next = *list;
        *list = waiters;
        waiters = next;
    }
    mount->closing--;
    mount->after_close += bale_opened_count_waiters(absent);
    bale_shares_ending(mount->files, opened->user, -1);
    pthread_cond_broadcast(&mount->closed);
    bool again = opened->waiters;
    if (again) {
        free(opened->capability);
        opened->capability = NULL;
        opened->settings_new = false;
        opened->gives = false;
        opened->defaults = mount->defaults;
        opened->state = BALE_OPENED_OPENING;
        opened->accessed = false;
    } else {
        opened_unlist(opened);
    }
    pthread_mutex_unlock(&mount->opened_lock);
    if (again)
        opened_begin_open(opened, true);
    else
        opened_destroy(opened);
    bale_opened_call_waiters_after_close(absent, ENOENT);
}

/* The file is closed right after this, and reports what could not be stored. */
static void settings_recorded(void *arg, int64_t result)
{
    (void)arg;
    (void)result;
}

/* restores: there is a capability, which the close has to put back. */
static void close_file(struct bale_opened *opened, struct bale_file *file, bool restores)
{
    const struct bale_file_attr *last = &opened->last;

    if (opened->unlinked) {
        bale_file_discard(file);
    } else if (opened->settings_new && last->size == 0 && last->container.generation == 0) {
        bale_file_set_attr(file, BALE_ATTR_SETTING | BALE_ATTR_EXTENT, &opened->defaults,
                           settings_recorded, NULL);
    }
    bale_file_on_close(file, opened_file_closed, opened);
    if (restores)
        bale_file_close_writes(file);
    bale_file_unref(file);
}

void bale_use_end(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_file *file = NULL;
    bool restores = false;

    pthread_mutex_lock(&mount->opened_lock);
    struct bale_opened *opened = node->opened;
    if (--opened->uses == 0) {
        file = opened->file;
        restores = opened->capability != NULL;
        bale_file_attr(file, &opened->last);
        opened->file = NULL;
        opened->state = BALE_OPENED_CLOSING;
        bale_shares_ending(mount->files, opened->user, 1);
        mount->closing++;
    }
    pthread_mutex_unlock(&mount->opened_lock);
    if (file)
        close_file(opened, file, restores);
}

bool bale_opened_wait_close(void *arg)
{
    struct bale_mount *mount = arg;

    pthread_mutex_lock(&mount->opened_lock);
    bool waited = wait_for_close(mount);
    pthread_mutex_unlock(&mount->opened_lock);
    return waited;
}
