#include "fs/cache/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/cache/internal.h"
#include "kernels/base/lock.h"

void bale_file_set_extent(struct bale_file *file, uint32_t extent)
{
    uint32_t block = (extent / BALE_BLOCKS + BALE_BLOCK_LEAST - 1) / BALE_BLOCK_LEAST;

    file->extent = extent;
    file->block = (block ? block : 1) * BALE_BLOCK_LEAST;
}

static struct timespec timespec_of(int64_t nanoseconds)
{
    int64_t rest = nanoseconds % 1000000000;

    rest += rest < 0 ? 1000000000 : 0;
    return (struct timespec){(nanoseconds - rest) / 1000000000, rest};
}

static void link_file(struct bale_file *file)
{
    struct bale_volume *volume = file->volume;

    pthread_mutex_lock(&volume->files_lock);
    file->next = volume->files;
    if (file->next)
        file->next->before = file;
    volume->files = file;
    volume->file_count++;
    pthread_mutex_unlock(&volume->files_lock);
}

/* Returns those who wait for it. */
static struct bale_waiter *unlink_file(struct bale_file *file)
{
    struct bale_volume *volume = file->volume;

    pthread_mutex_lock(&volume->files_lock);
    *(file->before ? &file->before->next : &volume->files) = file->next;
    if (file->next)
        file->next->before = file->before;
    volume->file_count--;
    struct bale_waiter *gone = file->gone;
    pthread_cond_broadcast(&volume->files_gone);
    pthread_mutex_unlock(&volume->files_lock);
    return gone;
}

int bale_file_open(struct bale_volume *volume, int fd, const struct bale_container_attr *defaults,
                   const char *label, struct bale_file **out, char *feature)
{
    struct bale_io *io = NULL;
    struct bale_file *file = NULL;
    struct stat st;
    int err = fstat(fd, &st) == 0 ? bale_io_open_fd(fd, &io) : bale_err_from_errno(errno);

    if (err != BALE_OK) {
        close(fd);
        return err;
    }
    struct bale_container *container;
    struct bale_container_attr empty = *defaults;
    empty.mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    err = bale_container_open(io, &volume->config, &empty, &container, feature);
    if (err != BALE_OK)
        return err;
    file = calloc(1, sizeof *file);
    char *copy = strdup(label);
    if (!file || !copy) {
        free(file);
        free(copy);
        bale_container_close(container);
        return BALE_E_NOMEM;
    }
    struct bale_container_attr attr;
    bale_container_attr(container, &attr);
    file->volume = volume;
    file->container = container;
    file->fd = fd;
    file->label = copy;
    file->size = attr.size;
    file->mtime = attr.generation > 0 ? timespec_of(attr.mtime) : st.st_mtim;
    file->changes_end = &file->changes;
    bale_file_set_extent(file, attr.extent);
    atomic_init(&file->refs, 1);
    bale_short_lock_init(&file->lock);
    link_file(file);
    *out = file;
    return BALE_OK;
}

void bale_file_relabel(struct bale_file *file, const char *label)
{
    char *copy = strdup(label);

    if (copy) {
        pthread_mutex_lock(&file->lock);
        char *old = file->label;
        file->label = copy;
        pthread_mutex_unlock(&file->lock);
        free(old);
    }
}

struct bale_file *bale_file_ref(struct bale_file *file)
{
    atomic_fetch_add(&file->refs, 1);
    return file;
}

bool bale_file_ref_live(struct bale_file *file)
{
    unsigned refs = atomic_load(&file->refs);

    while (refs > 0 && !atomic_compare_exchange_weak(&file->refs, &refs, refs + 1)) {
    }
    return refs > 0;
}

/* The last reference is gone: nobody else can reach the file. */
void bale_file_finish_close(struct bale_change *change, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_file *file = change->file;
    struct bale_volume *volume = file->volume;
    int err = change->error;
    if (err == BALE_E_NOMEM) {
        /* Data is not dropped for that: others end, and memory comes back. */
        usleep(10000);
        change->error = BALE_OK;
        bale_pool_submit(volume->pool, &change->job);
        return;
    }
    if (err != BALE_OK) {
        bale_log(BALE_LOG_ERROR, "%s: %llu bytes could not be stored: %s: %s", file->label,
                 (unsigned long long)file->dirty, bale_err_text(err),
                 err == BALE_E_CORRUPT ? "what was stored before is damaged: restore it from a copy"
                                       : "free space or check the disk");
        atomic_fetch_add(&volume->stats.errors, 1);
        atomic_store(&volume->lost, err);
    }
    pthread_mutex_lock(&file->lock);
    bale_extents_detach(file, 0, UINT64_MAX);
    file->attr_dirty = false;
    bale_volume_add_dirty(file, 0);
    pthread_mutex_unlock(&file->lock);
    bale_container_close(file->container);
    void (*closed)(void *) = file->closed;
    void *arg = file->closed_arg;
    free(change);
    if (closed)
        closed(arg);
    pthread_mutex_destroy(&file->lock);
    free(file->table);
    free(file->label);
    bale_waiters_complete(unlink_file(file), err);
    free(file);
}

void bale_file_unref(struct bale_file *file)
{
    if (atomic_fetch_sub(&file->refs, 1) > 1)
        return;
    struct bale_change *change = calloc(1, sizeof *change);
    while (!change) {
        /* A close must not fail; memory comes back when others finish. */
        usleep(1000);
        change = calloc(1, sizeof *change);
    }
    change->file = file;
    change->kind = BALE_CHANGE_CLOSE;
    bale_change_submit(change);
}

void bale_file_on_close(struct bale_file *file, void (*closed)(void *arg), void *arg)
{
    pthread_mutex_lock(&file->lock);
    file->closed = closed;
    file->closed_arg = arg;
    pthread_mutex_unlock(&file->lock);
}

int bale_file_fd(const struct bale_file *file)
{
    return file->fd;
}

void bale_file_attr(struct bale_file *file, struct bale_file_attr *attr)
{
    bale_container_attr(file->container, &attr->container);
    pthread_mutex_lock(&file->lock);
    attr->size = file->size;
    attr->mtime = file->mtime;
    attr->ctime = file->ctime;
    attr->dirty = file->dirty;
    pthread_mutex_unlock(&file->lock);
}

/* Stamps of the kernel are finer than the clock here once somebody has looked at them (Linux 6.13):
 * a time is never before the one shown last, unless the clock was set back. */
struct timespec bale_file_now_locked(struct bale_file *file)
{
    struct timespec now, last = file->ctime;
    struct stat st;

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (last.tv_sec == 0 && fstat(file->fd, &st) == 0)
        last = st.st_ctim;
    int64_t ahead = (last.tv_sec - now.tv_sec) * 1000000000 + last.tv_nsec - now.tv_nsec;
    return ahead > 0 && ahead < 1000000000 ? last : now;
}

struct timespec bale_file_now(struct bale_file *file)
{
    pthread_mutex_lock(&file->lock);
    struct timespec now = bale_file_now_locked(file);
    pthread_mutex_unlock(&file->lock);
    return now;
}

void bale_file_touch_ctime(struct bale_file *file)
{
    pthread_mutex_lock(&file->lock);
    file->ctime = bale_file_now_locked(file);
    pthread_mutex_unlock(&file->lock);
}

void bale_file_keep_ctime(struct bale_file *file, const struct timespec *ctime)
{
    pthread_mutex_lock(&file->lock);
    if (file->ctime.tv_sec == 0)
        file->ctime = *ctime;
    pthread_mutex_unlock(&file->lock);
}

void bale_file_discard(struct bale_file *file)
{
    pthread_mutex_lock(&file->lock);
    file->discarded = true;
    pthread_mutex_unlock(&file->lock);
}

int bale_file_usage(struct bale_file *file, struct bale_container_usage *usage)
{
    return bale_container_usage(file->container, usage);
}

/* The first data at or after offset among an extent's dirty blocks; UINT64_MAX: none. */
static uint64_t dirty_within(const struct bale_extent *extent, uint64_t offset)
{
    const struct bale_file *file = extent->file;
    uint64_t blocks = extent->dirty | extent->flushing;
    uint64_t start = extent->number * file->extent;

    if (!blocks || start + file->extent <= offset)
        return UINT64_MAX;
    blocks &= offset > start ? bale_blocks(file, offset - start, file->extent) : UINT64_MAX;
    if (!blocks)
        return UINT64_MAX;
    uint64_t at = start + (uint64_t)__builtin_ctzll(blocks) * file->block;
    return at > offset ? at : offset;
}

/* The first data at or after offset in the cache's dirty extents; UINT64_MAX: none. A program
 * that goes through a file has the next ones near: each number is tried, as long as that takes no
 * longer than to look at all that there is. Under file->lock. */
static uint64_t dirty_data(struct bale_file *file, uint64_t offset)
{
    uint64_t best = UINT64_MAX;
    uint64_t number = offset / file->extent;

    for (size_t i = 0; i < file->extents; i++) {
        const struct bale_extent *e = bale_extent_find(file, number + i);
        uint64_t at = e ? dirty_within(e, offset) : UINT64_MAX;
        if (at != UINT64_MAX)
            return at;
    }
    for (size_t i = 0; i < file->buckets; i++) {
        for (const struct bale_extent *e = file->table[i]; e; e = e->hash_next) {
            uint64_t at = dirty_within(e, offset);
            best = at < best ? at : best;
        }
    }
    return best;
}

static bool is_data(const struct bale_segment *segment)
{
    return !(segment->flags & BALE_SEGMENT_UNWRITTEN);
}

/* The first committed data at or after offset; UINT64_MAX: none. */
static int committed_data(struct bale_file *file, uint64_t offset, uint64_t *found)
{
    struct bale_segment segment;
    int err;

    *found = UINT64_MAX;
    for (uint64_t at = offset;; at = segment.offset + segment.length) {
        err = bale_container_map(file->container, at, &segment);
        if (err != BALE_OK)
            return err == BALE_E_NOENT ? BALE_OK : err;
        if (is_data(&segment)) {
            *found = segment.offset > offset ? segment.offset : offset;
            return BALE_OK;
        }
    }
}

/* The end of the data that offset lies in. */
static int committed_end(struct bale_file *file, uint64_t offset, uint64_t *end)
{
    struct bale_segment segment;

    *end = offset;
    for (;;) {
        int err = bale_container_map(file->container, *end, &segment);
        if (err == BALE_E_NOENT ||
            (err == BALE_OK && (segment.offset > *end || !is_data(&segment))))
            return BALE_OK;
        if (err != BALE_OK)
            return err;
        *end = segment.offset + segment.length;
    }
}

int64_t bale_file_seek(struct bale_file *file, uint64_t offset, bool data)
{
    for (;;) {
        uint64_t committed, end;
        pthread_mutex_lock(&file->lock);
        uint64_t size = file->size;
        uint64_t dirty = dirty_data(file, offset);
        pthread_mutex_unlock(&file->lock);
        if (offset >= size)
            return BALE_E_NOENT;
        int err = committed_data(file, offset, &committed);
        if (err != BALE_OK)
            return err;
        uint64_t first = dirty < committed ? dirty : committed;
        if (data)
            return first < size ? (int64_t)first : BALE_E_NOENT;
        if (first > offset)
            return (int64_t)offset;
        err = committed_end(file, offset, &end);
        if (err != BALE_OK)
            return err;
        if (dirty == offset) {
            uint64_t block = (offset % file->extent / file->block + 1) * file->block;
            uint64_t after =
                offset - offset % file->extent + (block < file->extent ? block : file->extent);
            end = end > after ? end : after;
        }
        if (end >= size)
            return (int64_t)size;
        offset = end;
    }
}
