/* The reserve: space on the backing store for what was acknowledged. */
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fs/base/log.h"
#include "fs/cache/internal.h"

#define RESERVE_SLACK ((uint64_t)1 << 20)
#define DIRTY_LEAST ((uint64_t)1 << 20)

bool bale_volume_take_reserve(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->reserve_lock);
    bool had = volume->reserve_fd >= 0 && !atomic_load(&volume->full) && volume->reserve > 0 &&
               ftruncate(volume->reserve_fd, 0) == 0;
    if (had) {
        atomic_store(&volume->full, true);
        bale_log(BALE_LOG_WARNING, "the backing store is full: writes fail until there is space");
    }
    /* Another flush took it a moment ago: its space is ours too. */
    had = had || atomic_load(&volume->full);
    pthread_mutex_unlock(&volume->reserve_lock);
    return had;
}

void bale_volume_restore_reserve(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->reserve_lock);
    if (atomic_load(&volume->full) &&
        posix_fallocate(volume->reserve_fd, 0, (off_t)volume->reserve) == 0) {
        atomic_store(&volume->full, false);
        bale_log(BALE_LOG_INFO, "the backing store has space again");
    } else if (atomic_load(&volume->full)) {
        (void)!ftruncate(volume->reserve_fd, 0);
    }
    pthread_mutex_unlock(&volume->reserve_lock);
}

/* Dirty data never exceeds what the reserve can take. */
void bale_volume_make_reserve(struct bale_volume *volume)
{
    uint64_t dirty = bale_memory_cap(volume->memory) / 2;
    struct statvfs vfs;

    if (volume->reserve_fd >= 0 && fstatvfs(volume->reserve_fd, &vfs) == 0) {
        uint64_t share = (uint64_t)vfs.f_bavail * vfs.f_frsize / 16;
        uint64_t want = dirty + dirty / 8 + RESERVE_SLACK;
        volume->reserve = want < share ? want : share;
        if (posix_fallocate(volume->reserve_fd, 0, (off_t)volume->reserve) != 0) {
            (void)!ftruncate(volume->reserve_fd, 0);
            volume->reserve = 0;
        }
        uint64_t backed =
            volume->reserve > RESERVE_SLACK ? (volume->reserve - RESERVE_SLACK) / 9 * 8 : 0;
        dirty = backed < dirty ? backed : dirty;
    }
    volume->unevictable_limit = bale_memory_cap(volume->memory) / 8 * 5;
    atomic_store(&volume->dirty_limit, dirty > DIRTY_LEAST ? dirty : DIRTY_LEAST);
    volume->stream_bytes = atomic_load(&volume->dirty_limit) / 8;
    if (volume->stream_bytes > (uint64_t)16 << 20)
        volume->stream_bytes = (uint64_t)16 << 20;
}
