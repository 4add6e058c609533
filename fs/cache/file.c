#include "fs/cache/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/timespec.h"
#include "fs/cache/file_state.h"
#include "fs/cache/rounds.h"
#include "kernels/base/lock.h"

int bale_file_open_known(struct bale_volume *volume, int fd, const struct stat *backing,
                         const struct bale_container_attr *defaults, const char *label,
                         struct bale_file **out, char *feature)
{
    struct bale_io *io;
    int err = bale_io_open_fd(fd, &io);

    if (err != BALE_OK)
        return err;
    if (volume->config.modes_in_container && backing->st_mode & (S_ISUID | S_ISGID))
        bale_io_keep_set_id(io);
    if (volume->config.remote)
        bale_io_set_remote(io);
    struct bale_container *container;
    struct bale_container_attr empty = *defaults;
    empty.mtime = bale_nanoseconds_of(backing->st_mtim);
    bool is_empty = backing->st_size == 0 && !volume->config.follows;
    err = is_empty ? bale_container_open_empty(io, &volume->config, &empty, &container)
                   : bale_container_open(io, &volume->config, &empty, &container, feature);
    if (err != BALE_OK)
        return err;
    struct bale_file *file = calloc(1, sizeof *file);
    char *copy = strdup(label);
    if (!file || !copy) {
        free(file);
        free(copy);
        bale_container_close(container);
        return BALE_E_NOMEM;
    }
    struct bale_container_attr attr;
    file->epoch = bale_container_epoch(container, &attr);
    file->volume = volume;
    file->container = container;
    file->fd = fd;
    file->ino = backing->st_ino;
    file->label = copy;
    if (is_empty)
        file->ctime_before = backing->st_ctim;
    file->size = attr.size;
    file->mtime = attr.generation > 0 ? bale_timespec_of(attr.mtime) : backing->st_mtim;
    file->changes_end = &file->changes;
    file->setting = attr.setting;
    file->greatest_step = attr.greatest_step;
    bale_rounds_set(file, (enum bale_rounds)attr.rounds);
    bale_file_set_extent(file, attr.extent);
    atomic_init(&file->refs, 1);
    atomic_init(&file->user, backing->st_uid);
    atomic_init(&file->stamp, bale_container_stamp(container));
    bale_short_lock_init(&file->lock);
    bale_file_count_container(file);
    bale_volume_add_file(file);
    *out = file;
    return BALE_OK;
}

int bale_file_open(struct bale_volume *volume, int fd, const struct bale_container_attr *defaults,
                   const char *label, struct bale_file **out, char *feature)
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        int err = bale_err_from_errno(errno);
        close(fd);
        return err;
    }
    return bale_file_open_known(volume, fd, &st, defaults, label, out, feature);
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

uint32_t bale_file_user(const struct bale_file *file)
{
    return atomic_load(&file->user);
}

void bale_file_on_close(struct bale_file *file, bale_file_closed *closed, void *arg)
{
    pthread_mutex_lock(&file->lock);
    file->closed = closed;
    file->closed_arg = arg;
    pthread_mutex_unlock(&file->lock);
}

void bale_file_close_writes(struct bale_file *file)
{
    pthread_mutex_lock(&file->lock);
    file->close_writes = true;
    pthread_mutex_unlock(&file->lock);
}

void bale_file_trust(struct bale_file *file)
{
    atomic_store(&file->trusted, true);
}

int bale_file_fd(const struct bale_file *file)
{
    return file->fd;
}

bool bale_file_is_lossy(struct bale_file *file)
{
    pthread_mutex_lock(&file->lock);
    bool lossy = bale_codec_is_lossy(file->setting.codec) && file->rounds != BALE_ROUNDS_NO;
    pthread_mutex_unlock(&file->lock);
    return lossy;
}

enum bale_recovery bale_file_recovery(const struct bale_file *file, bool *held)
{
    *held = bale_container_is_held(file->container);
    return bale_container_recovery(file->container);
}

void bale_file_attr(struct bale_file *file, struct bale_file_attr *attr)
{
    pthread_mutex_lock(&file->lock);
    bale_file_catch_up(file);
    pthread_mutex_unlock(&file->lock);
    bale_container_attr(file->container, &attr->container);
    pthread_mutex_lock(&file->lock);
    attr->size = file->size;
    attr->mtime = file->mtime;
    attr->ctime = file->ctime;
    attr->dirty = file->dirty;
    attr->rounds = bale_rounds_record(file);
    attr->greatest_step = file->greatest_step;
    pthread_mutex_unlock(&file->lock);
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
