#include "fs/fuse/opened.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "kernels/base/container_of.h"

#define LABEL_MAX 512

/* ---- Opening ---- */

/* Reading the container for ourselves is no access to the file. */
static int open_quietly(const char *path, int flags)
{
    int fd = open(path, flags | O_NOATIME | O_CLOEXEC | O_NOCTTY);

    return fd < 0 && errno == EPERM ? open(path, flags | O_CLOEXEC | O_NOCTTY) : fd;
}

static int open_backing(struct bale_mount *mount, struct bale_node *node, bool *writable, int *fd)
{
    int path_fd;
    int err = bale_node_pin(mount->nodes, node, &path_fd);

    if (err)
        return err;
    struct bale_proc_path path = bale_proc_path(path_fd);
    *writable = !mount->read_only;
    do {
        *fd = *writable ? open_quietly(path.text, O_RDWR) : -1;
        if (*fd < 0 && (!*writable || errno == EACCES || errno == EPERM || errno == EROFS)) {
            /* Not ours to write, or immutable: it can still be read. */
            *writable = false;
            *fd = open_quietly(path.text, O_RDONLY);
        }
    } while (*fd < 0 && (errno == EMFILE || errno == ENFILE) && bale_nodes_evict(mount->nodes));
    err = *fd < 0 ? errno : 0;
    bale_node_unpin(mount->nodes, node);
    return err;
}

static void tell_broken(struct bale_opened *opened, int err, const char *feature, const char *label)
{
    struct bale_node *node = opened->node;

    if (err == BALE_E_CORRUPT || err == BALE_E_UNSUPPORTED)
        atomic_fetch_or(&node->marks, BALE_MARK_BROKEN);
    if (atomic_fetch_or(&node->marks, BALE_MARK_REPORTED) & BALE_MARK_REPORTED)
        return;
    if (err == BALE_E_UNSUPPORTED && feature[0]) {
        bale_log(BALE_LOG_ERROR, "%s: needs the feature %s: use a newer balefs", label, feature);
    } else {
        bale_log(BALE_LOG_ERROR, "%s: cannot be opened: %s: see balefs fsck, or restore it", label,
                 bale_err_text(err));
    }
}

static int open_container(struct bale_opened *opened, struct bale_file **file)
{
    struct bale_mount *mount = opened->mount;
    struct bale_node *node = opened->node;
    char label[LABEL_MAX];
    char feature[5] = "";
    int fd = opened->fd;
    int err = fd >= 0 ? 0 : open_backing(mount, node, &opened->writable, &fd);

    if (err)
        return err;
    opened->fd = -1;
    uint32_t marks = node->marks;
    struct bale_proc_path path = bale_proc_path(fd);
    if (marks & (BALE_MARK_UNCERTAIN | BALE_MARK_CAPABILITY))
        bale_capability_save(opened, path.text);
    bale_node_path(mount->nodes, node, label, sizeof label);
    err = bale_file_open(mount->volume, fd, &opened->defaults, label, file, feature);
    if (err != BALE_OK) {
        tell_broken(opened, err, feature, label);
        return bale_err_to_errno(err);
    }
    if (marks & BALE_MARK_UNCERTAIN)
        bale_capability_restore(opened, path.text);
    atomic_fetch_and(&node->marks,
                     ~(uint32_t)(BALE_MARK_UNCERTAIN | BALE_MARK_BROKEN | BALE_MARK_REPORTED));
    return 0;
}

/* ---- The list; under mount->opened_lock ---- */

static struct bale_opened *add(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_opened *opened = calloc(1, sizeof *opened);

    if (!opened)
        return NULL;
    opened->mount = mount;
    opened->node = node;
    opened->fd = -1;
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

static void forget(struct bale_opened *opened)
{
    *(opened->before ? &opened->before->next : &opened->mount->opened) = opened->next;
    if (opened->next)
        opened->next->before = opened->before;
    opened->node->opened = NULL;
}

/* Without the lock. */
static void discard(struct bale_opened *opened)
{
    struct bale_mount *mount = opened->mount;
    struct bale_node *node = opened->node;

    free(opened->capability);
    free(opened);
    bale_node_unref(mount->nodes, node);
}

static void tell(struct bale_use *waiting, int err)
{
    while (waiting) {
        struct bale_use *next = waiting->next;
        waiting->ready(waiting, err);
        waiting = next;
    }
}

static unsigned count(const struct bale_use *use)
{
    unsigned n = 0;

    for (; use; use = use->next)
        n++;
    return n;
}

static void run_open(struct bale_opened *opened)
{
    struct bale_mount *mount = opened->mount;
    struct bale_file *file = NULL;
    int err = open_container(opened, &file);

    pthread_mutex_lock(&mount->opened_lock);
    struct bale_use *waiting = opened->waiting;
    opened->waiting = NULL;
    if (err) {
        forget(opened);
    } else {
        opened->file = file;
        opened->uses = count(waiting);
        opened->state = BALE_OPENED_OPEN;
    }
    pthread_mutex_unlock(&mount->opened_lock);
    if (err)
        discard(opened);
    tell(waiting, err);
}

static void run_open_job(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    run_open(BALE_CONTAINER_OF(job, struct bale_opened, job));
}

static void submit_open(struct bale_opened *opened)
{
    opened->job.run = run_open_job;
    bale_pool_submit(bale_volume_pool(opened->mount->volume), &opened->job);
}

static void begin(struct bale_use *use, int fd, const struct bale_container_attr *defaults,
                  bool settings_new)
{
    struct bale_mount *mount = use->mount;
    struct bale_node *node = use->node;
    enum { READY, WAIT, OPEN, FAIL } then = WAIT;

    use->next = NULL;
    pthread_mutex_lock(&mount->opened_lock);
    struct bale_opened *opened = node->opened;
    if (opened && opened->state == BALE_OPENED_OPEN) {
        opened->uses++;
        then = READY;
    } else if (opened) {
        use->next = opened->waiting;
        opened->waiting = use;
    } else if (!use->only_open && (opened = add(mount, node))) {
        opened->waiting = use;
        opened->fd = fd;
        opened->settings_new = settings_new;
        if (defaults)
            opened->defaults = *defaults;
        fd = -1;
        then = OPEN;
    } else {
        then = FAIL;
    }
    pthread_mutex_unlock(&mount->opened_lock);
    if (fd >= 0)
        close(fd);
    if (then == READY)
        use->ready(use, 0);
    else if (then == FAIL)
        use->ready(use, use->only_open ? ENOENT : ENOMEM);
    else if (then == OPEN && node->marks & BALE_MARK_UNCERTAIN)
        submit_open(opened);
    else if (then == OPEN)
        run_open(opened);
}

void bale_use_begin(struct bale_use *use)
{
    begin(use, -1, NULL, false);
}

void bale_use_begin_created(struct bale_use *use, int fd,
                            const struct bale_container_attr *defaults, bool settings_new)
{
    begin(use, fd, defaults, settings_new);
}

/* ---- Closing ---- */

/* The container was written after what was shown as its ctime: remember what was shown. */
static void after_close(struct bale_opened *opened)
{
    struct bale_mount *mount = opened->mount;
    struct stat st;
    int64_t btime;
    int fd;
    bool changed = opened->last.ctime.tv_sec != 0;

    if (opened->unlinked || (!changed && !opened->capability) ||
        bale_node_pin(mount->nodes, opened->node, &fd) != 0)
        return;
    bale_capability_restore(opened, bale_proc_path(fd).text);
    if (changed && bale_stat_fd(fd, &st, &btime) == 0)
        bale_ctimes_put(mount->ctimes, st.st_ino, &opened->last.ctime, &st.st_ctim);
    bale_node_unpin(mount->nodes, opened->node);
}

static void closed(void *arg)
{
    struct bale_opened *opened = arg;
    struct bale_mount *mount = opened->mount;

    after_close(opened);
    pthread_mutex_lock(&mount->opened_lock);
    struct bale_use *waiting = opened->waiting, *absent = NULL;
    opened->waiting = NULL;
    while (waiting) {
        struct bale_use *next = waiting->next;
        struct bale_use **list = waiting->only_open ? &absent : &opened->waiting;
        waiting->next = *list;
        *list = waiting;
        waiting = next;
    }
    mount->closing--;
    pthread_cond_broadcast(&mount->closed);
    bool again = opened->waiting;
    if (again) {
        free(opened->capability);
        opened->capability = NULL;
        opened->settings_new = false;
        opened->defaults = mount->defaults;
        opened->state = BALE_OPENED_OPENING;
        opened->accessed = false;
    } else {
        forget(opened);
    }
    pthread_mutex_unlock(&mount->opened_lock);
    if (again)
        submit_open(opened);
    else
        discard(opened);
    tell(absent, ENOENT);
}

static void ignore(void *arg, int64_t result)
{
    (void)arg;
    (void)result;
}

static void close_file(struct bale_opened *opened, struct bale_file *file)
{
    const struct bale_file_attr *last = &opened->last;

    if (opened->unlinked) {
        bale_file_discard(file);
    } else if (opened->settings_new && last->size == 0 && last->container.generation == 0) {
        bale_file_set_attr(file, BALE_ATTR_SETTING | BALE_ATTR_EXTENT, &opened->defaults, ignore,
                           NULL);
    }
    bale_file_on_close(file, closed, opened);
    bale_file_unref(file);
}

void bale_use_end(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_file *file = NULL;

    pthread_mutex_lock(&mount->opened_lock);
    struct bale_opened *opened = node->opened;
    if (--opened->uses == 0) {
        file = opened->file;
        bale_file_attr(file, &opened->last);
        opened->file = NULL;
        opened->state = BALE_OPENED_CLOSING;
        mount->closing++;
    }
    pthread_mutex_unlock(&mount->opened_lock);
    if (file)
        close_file(opened, file);
}

static unsigned mappers_of(int flags)
{
    return (flags & O_ACCMODE) == O_RDWR;
}

void bale_use_add_handle(struct bale_use *use, int flags)
{
    pthread_mutex_lock(&use->mount->opened_lock);
    use->node->opened->handles++;
    use->node->opened->mappers += mappers_of(flags);
    pthread_mutex_unlock(&use->mount->opened_lock);
}

void bale_use_drop_handle(struct bale_mount *mount, struct bale_node *node, int flags)
{
    pthread_mutex_lock(&mount->opened_lock);
    node->opened->handles--;
    node->opened->mappers -= mappers_of(flags);
    pthread_mutex_unlock(&mount->opened_lock);
    bale_use_end(mount, node);
}

bool bale_opened_wait_close(void *arg)
{
    struct bale_mount *mount = arg;
    /* Jobs do not wait, and the volume's threads handle no requests: the close that is waited for
     * may be their own. */
    bool handler = bale_current_request.unique != 0 && !bale_pool_in_job();

    pthread_mutex_lock(&mount->opened_lock);
    bool waits = handler && mount->closing > 0;
    if (waits)
        pthread_cond_wait(&mount->closed, &mount->opened_lock);
    pthread_mutex_unlock(&mount->opened_lock);
    return waits;
}

void bale_opened_close_all(struct bale_mount *mount)
{
    for (;;) {
        pthread_mutex_lock(&mount->opened_lock);
        struct bale_opened *opened = mount->opened;
        while (opened && opened->handles == 0)
            opened = opened->next;
        if (opened)
            opened->handles--;
        pthread_mutex_unlock(&mount->opened_lock);
        if (!opened)
            return;
        bale_use_end(mount, opened->node);
    }
}
