#include "fs/cache/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/log.h"

#define RESERVE_SLACK ((uint64_t)1 << 20)
#define DIRTY_LEAST ((uint64_t)1 << 20)
#define DIRTY_UNPINNED ((uint64_t)512 << 20) /* may be dirty, however little is pinned */
#define STREAM_MOST ((uint64_t)16 << 20)
#define QUOTA_BLOCK 1024u
#define STREAM_MS 500u
#define OVERHEAD_PART 512u /* of what does not compress: heads of frames, index pages, roots */
#define RETRY_MS 250u      /* after the space could not be reserved again */
#define FREEING_MS 2000u   /* so long after a file was removed its space may still be on its way */

/* fallocate() itself: where the file system has none, glibc's posix_fallocate would write the whole
 * reserve. 0 or an errno. */
static int allocate_blocks(int fd, uint64_t offset, uint64_t length)
{
    int rc;

    do
        rc = fallocate(fd, 0, (off_t)offset, (off_t)length);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

/* 0: none. */
static uint32_t project_of(int fd)
{
    struct fsxattr attr;

    return ioctl(fd, FS_IOC_FSGETXATTR, &attr) == 0 ? attr.fsx_projid : 0;
}

bool bale_reserve_concerns(const struct bale_volume *volume, int fd)
{
    int reserve_fd = volume->reserve.fd;
    struct stat file, reserve;

    if (fstat(fd, &file) != 0 || fstat(reserve_fd, &reserve) != 0)
        return false;
    if (file.st_uid == reserve.st_uid || file.st_gid == reserve.st_gid)
        return true;
    uint32_t project = project_of(fd);
    return project && project == project_of(reserve_fd);
}

/* Whether the reserve counts in the quota that is used up, so that giving it up helps. EDQUOT does
 * not say which quota that is: a user's, a group's or a project's. If the reserve shares it, the
 * reserve cannot grow either. Under reserve.lock. */
static bool shares_quota(const struct bale_volume *volume, int fd)
{
    int reserve_fd = volume->reserve.fd;
    uint64_t bytes = volume->reserve.bytes;

    if (!bale_reserve_concerns(volume, fd))
        return false;
    int e = allocate_blocks(reserve_fd, bytes, RESERVE_SLACK);
    (void)!ftruncate(reserve_fd, (off_t)bytes);
    return e == EDQUOT;
}

/* Whether ENOSPC means that the limit of the file's project is reached, as on XFS, and not that the
 * file system is full: this has room for any frame. It is another project than the reserve's. */
static bool is_project_limit(const struct bale_volume *volume, int fd)
{
    uint32_t project = project_of(fd);
    struct statvfs vfs;

    return project && project != project_of(volume->reserve.fd) &&
           fstatvfs(volume->reserve.fd, &vfs) == 0 &&
           (uint64_t)vfs.f_bavail * vfs.f_frsize > BALE_EXTENT_MAX + RESERVE_SLACK;
}

static void note_full(struct bale_volume *volume, int err)
{
    atomic_store(&volume->full, err);
    bale_log(BALE_LOG_WARNING, "%s: writes fail until there is space",
             err == BALE_E_DQUOT ? "the quota of the backing store is used up"
                                 : "the backing store is full");
}

/* Under reserve.lock. */
static bool give_up_reserve(struct bale_volume *volume, int err, int fd)
{
    bool there = volume->reserve.fd >= 0 && volume->reserve.bytes > 0;

    if (err == BALE_E_DQUOT && !(there && shares_quota(volume, fd)))
        return false;
    if (err == BALE_E_NOSPACE && volume->reserve.fd >= 0 && is_project_limit(volume, fd))
        return false;
    if (volume->reserve.fd < 0 || (there && ftruncate(volume->reserve.fd, 0) != 0))
        return false;
    note_full(volume, err);
    return there;
}

bool bale_reserve_serves(struct bale_volume *volume, int err, int fd)
{
    if (err != BALE_E_NOSPACE && err != BALE_E_DQUOT)
        return false;
    pthread_mutex_lock(&volume->reserve.lock);
    int full = atomic_load(&volume->full);
    /* If another flush took it a moment ago, this one may use its space too. */
    bool serves = full ? full == err : give_up_reserve(volume, err, fd);
    pthread_mutex_unlock(&volume->reserve.lock);
    return serves;
}

/* What must be free before writes go on. */
static uint64_t space_needed(const struct bale_volume *volume)
{
    return volume->reserve.bytes ? volume->reserve.bytes : RESERVE_SLACK;
}

/* Counts the dirty data too, because the reserve was given up for that. */
static bool has_space(const struct bale_volume *volume)
{
    uint64_t dirty = atomic_load(&volume->dirty);
    struct statvfs vfs;

    return fstatvfs(volume->reserve.fd, &vfs) == 0 &&
           (uint64_t)vfs.f_bavail * vfs.f_frsize > space_needed(volume) + dirty + dirty / 8;
}

/* Reserves the space again. A reserve that got only a part of it would take that from flushes. So
 * this looks first whether there is enough, and after a failure does not try again for a while.
 * Under reserve.lock. */
static bool refill_reserve(struct bale_volume *volume)
{
    uint64_t now = bale_now_ms();

    if (now < volume->reserve.failed_ms + RETRY_MS || !has_space(volume))
        return false;
    if (!volume->reserve.bytes ||
        allocate_blocks(volume->reserve.fd, 0, volume->reserve.bytes) == 0)
        return true;
    (void)!ftruncate(volume->reserve.fd, 0);
    volume->reserve.failed_ms = now;
    return false;
}

void bale_reserve_restore(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->reserve.lock);
    if (atomic_load(&volume->full) && !atomic_load(&volume->frozen) && refill_reserve(volume)) {
        atomic_store(&volume->full, BALE_OK);
        bale_reserve_note_freed(volume);
        bale_log(BALE_LOG_INFO, "the backing store has space again");
    }
    pthread_mutex_unlock(&volume->reserve.lock);
}

void bale_reserve_note_freed(struct bale_volume *volume)
{
    atomic_store(&volume->freed_ms, bale_now_ms());
    bale_volume_tell_space(volume);
}

bool bale_reserve_may_come(const struct bale_volume *volume, uint64_t since_ms)
{
    uint64_t freed = atomic_load(&volume->freed_ms), now = bale_now_ms();

    return freed > 0 && now < freed + FREEING_MS && now < since_ms + FREEING_MS;
}

uint64_t bale_volume_room(struct bale_volume *volume, uint64_t available)
{
    uint64_t dirty = atomic_load(&volume->dirty);
    uint64_t taken = dirty + dirty / 8 + (atomic_load(&volume->full) ? space_needed(volume) : 0);

    return available > taken ? (available - taken) / OVERHEAD_PART * (OVERHEAD_PART - 1) : 0;
}

/* Bytes that the quota of this kind leaves its owner; UINT64_MAX: there is none, or it is not
 * known. */
static uint64_t quota_left(int fd, int type, uint32_t id)
{
    const unsigned command = (unsigned)Q_GETQUOTA << SUBCMDSHIFT | (unsigned)type;
    struct dqblk quota;

    if (syscall(SYS_quotactl_fd, fd, command, id, &quota) != 0)
        return UINT64_MAX;
    uint64_t blocks = quota.dqb_bsoftlimit ? quota.dqb_bsoftlimit : quota.dqb_bhardlimit;
    if (blocks == 0)
        return UINT64_MAX;
    return blocks > quota.dqb_curspace / QUOTA_BLOCK ? blocks * QUOTA_BLOCK - quota.dqb_curspace
                                                     : 0;
}

/* The most that the reserve may take: 1/16 of the space that disk and quotas leave, the reserve's
 * own included. Project quotas count in statvfs. 0: it is not known. */
static uint64_t share_of_space(const struct bale_volume *volume)
{
    int fd = volume->reserve.fd;
    struct statvfs vfs;
    struct stat st;

    if (fd < 0 || fstatvfs(fd, &vfs) != 0 || fstat(fd, &st) != 0)
        return 0;
    uint64_t left = (uint64_t)vfs.f_bavail * vfs.f_frsize;
    uint64_t user = quota_left(fd, USRQUOTA, st.st_uid);
    uint64_t group = quota_left(fd, GRPQUOTA, st.st_gid);
    left = left < user ? left : user;
    left = left < group ? left : group;
    return (left + volume->reserve.bytes) / 16;
}

/* What the reserve takes to back so many dirty bytes. */
static uint64_t backing(uint64_t dirty)
{
    return dirty + dirty / 8 + RESERVE_SLACK;
}

/* How many dirty bytes a reserve of that size backs. */
static uint64_t backed_by(uint64_t bytes)
{
    return (bytes - RESERVE_SLACK) / 9 * 8;
}

/* The largest reserve for so many dirty bytes. Less than DIRTY_LEAST may never be dirty, so it
 * backs that even where this is more than its share. */
static uint64_t wanted(const struct bale_volume *volume, uint64_t dirty)
{
    uint64_t want = backing(dirty), share = share_of_space(volume);
    uint64_t least = backing(DIRTY_LEAST);

    want = want < share ? want : share;
    return want > least ? want : least;
}

/* Reserves space for so many dirty bytes, or less. Returns how many may be dirty. Where the file
 * system reserves no space, that is all of them, and fsync or close reports a lack of space. Where
 * there is too little, writes fail until there is more. After any other error there is no reserve,
 * and little may be dirty. */
static uint64_t make_file(struct bale_volume *volume, uint64_t dirty)
{
    struct statvfs vfs;

    if (volume->reserve.fd < 0 || fstatvfs(volume->reserve.fd, &vfs) != 0)
        return dirty;
    uint64_t bytes = wanted(volume, dirty);
    int e = allocate_blocks(volume->reserve.fd, 0, bytes);
    if (e == EOPNOTSUPP || e == ENOSYS)
        return dirty;
    if (e)
        (void)!ftruncate(volume->reserve.fd, 0);
    if (e && e != ENOSPC && e != EDQUOT)
        return DIRTY_LEAST;
    if (e) {
        bytes = backing(DIRTY_LEAST);
        note_full(volume, e == EDQUOT ? BALE_E_DQUOT : BALE_E_NOSPACE);
    }
    volume->reserve.bytes = bytes;
    uint64_t backed = backed_by(bytes);
    return backed < dirty ? backed : dirty;
}

/* Dirty data never exceeds what the reserve can take. */
void bale_reserve_make(struct bale_volume *volume)
{
    uint64_t cap = bale_memory_cap(volume->memory);
    uint64_t dirty = make_file(volume, cap / 2);

    atomic_store(&volume->dirty_limit, dirty);
    volume->unevictable_limit = cap / 8 * 5;
    volume->stream_ms = STREAM_MS;
    volume->stream_bytes = dirty / 8 < STREAM_MOST ? dirty / 8 : STREAM_MOST;
}

/* Grows the file to back so many dirty bytes, or fewer. Returns how many it backs then, or 0 if it
 * stays as it was. Under reserve.lock. */
static uint64_t grow_file(struct bale_volume *volume, uint64_t dirty)
{
    uint64_t before = volume->reserve.bytes, bytes = wanted(volume, dirty);

    if (volume->reserve.fd < 0)
        return dirty;
    /* Without a file there is no space that could be reserved, or there was none to spare. */
    if (before == 0 || bytes <= before || atomic_load(&volume->full))
        return 0;
    if (allocate_blocks(volume->reserve.fd, before, bytes - before) != 0) {
        (void)!ftruncate(volume->reserve.fd, (off_t)before);
        return 0;
    }
    volume->reserve.bytes = bytes;
    return backed_by(bytes);
}

void bale_reserve_grow(struct bale_volume *volume)
{
    uint64_t cap = bale_memory_cap(volume->memory);

    pthread_mutex_lock(&volume->reserve.lock);
    uint64_t dirty = grow_file(volume, cap / 2);
    pthread_mutex_unlock(&volume->reserve.lock);
    dirty = dirty < cap / 2 ? dirty : cap / 2;
    if (dirty > atomic_load(&volume->dirty_limit))
        atomic_store(&volume->dirty_limit, dirty);
    atomic_store(&volume->unevictable_limit, cap / 8 * 5);
}

/* Without memory= more than DIRTY_UNPINNED is backed only once the memory has grown for a GPU. */
uint64_t bale_reserve_dirty_limit(const struct bale_volume *volume)
{
    uint64_t limit = atomic_load(&volume->dirty_limit);
    uint64_t pinned = bale_memory_pinned(volume->memory);
    uint64_t reach = pinned / 2 > DIRTY_UNPINNED ? pinned / 2 : DIRTY_UNPINNED;
    bool follows = !volume->options.memory || bale_memory_is_pinning(volume->memory);

    return follows && reach < limit ? reach : limit;
}

bool bale_reserve_is_pressed(struct bale_volume *volume)
{
    return atomic_load(&volume->dirty) > bale_reserve_dirty_limit(volume) / 4 * 3 ||
           atomic_load(&volume->unevictable) > volume->unevictable_limit / 4 * 3;
}

int bale_reserve_commit(struct bale_file *file)
{
    int err = bale_container_commit(file->container, false);

    if (bale_reserve_serves(file->volume, err, file->fd)) {
        uint64_t generation;
        err = bale_container_begin(file->container, &generation);
        if (err == BALE_OK)
            err = bale_container_commit(file->container, false);
    }
    if (err == BALE_OK)
        atomic_fetch_add(&file->volume->stats.commits, 1);
    return err;
}
