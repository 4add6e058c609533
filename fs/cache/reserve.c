#include "fs/cache/reserve.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/log.h"

#define RESERVE_SLACK ((uint64_t)1 << 20)
#define DIRTY_LEAST ((uint64_t)1 << 20)
#define STREAM_MOST ((uint64_t)16 << 20)

bool bale_reserve_take(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->reserve.lock);
    bool had = volume->reserve.fd >= 0 && !atomic_load(&volume->full) &&
               volume->reserve.bytes > 0 && ftruncate(volume->reserve.fd, 0) == 0;
    if (had) {
        atomic_store(&volume->full, true);
        bale_log(BALE_LOG_WARNING, "the backing store is full: writes fail until there is space");
    }
    /* If another flush took it a moment ago, this one may use its space too. */
    had = had || atomic_load(&volume->full);
    pthread_mutex_unlock(&volume->reserve.lock);
    return had;
}

void bale_reserve_restore(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->reserve.lock);
    if (atomic_load(&volume->full) &&
        posix_fallocate(volume->reserve.fd, 0, (off_t)volume->reserve.bytes) == 0) {
        atomic_store(&volume->full, false);
        bale_log(BALE_LOG_INFO, "the backing store has space again");
    } else if (atomic_load(&volume->full)) {
        (void)!ftruncate(volume->reserve.fd, 0);
    }
    pthread_mutex_unlock(&volume->reserve.lock);
}

/* Reserves space for so many dirty bytes, or less. Returns how many it got space for. */
static uint64_t make_file(struct bale_volume *volume, uint64_t dirty)
{
    struct statvfs vfs;

    if (volume->reserve.fd < 0 || fstatvfs(volume->reserve.fd, &vfs) != 0)
        return dirty;
    uint64_t share = (uint64_t)vfs.f_bavail * vfs.f_frsize / 16;
    uint64_t want = dirty + dirty / 8 + RESERVE_SLACK;
    uint64_t bytes = want < share ? want : share;
    if (posix_fallocate(volume->reserve.fd, 0, (off_t)bytes) != 0) {
        (void)!ftruncate(volume->reserve.fd, 0);
        bytes = 0;
    }
    volume->reserve.bytes = bytes;
    uint64_t backed = bytes > RESERVE_SLACK ? (bytes - RESERVE_SLACK) / 9 * 8 : 0;
    return backed < dirty ? backed : dirty;
}

/* Dirty data never exceeds what the reserve can take. */
void bale_reserve_make(struct bale_volume *volume)
{
    uint64_t cap = bale_memory_cap(volume->memory);
    uint64_t dirty = make_file(volume, cap / 2);

    dirty = dirty > DIRTY_LEAST ? dirty : DIRTY_LEAST;
    atomic_store(&volume->dirty_limit, dirty);
    volume->unevictable_limit = cap / 8 * 5;
    volume->stream_bytes = dirty / 8 < STREAM_MOST ? dirty / 8 : STREAM_MOST;
}

int bale_reserve_commit(struct bale_file *file)
{
    int err = bale_container_commit(file->container, false);

    if ((err == BALE_E_NOSPACE || err == BALE_E_DQUOT) && bale_reserve_take(file->volume)) {
        uint64_t generation;
        err = bale_container_begin(file->container, &generation);
        if (err == BALE_OK)
            err = bale_container_commit(file->container, false);
    }
    if (err == BALE_OK)
        atomic_fetch_add(&file->volume->stats.commits, 1);
    return err;
}
