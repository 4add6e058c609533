#include "fs/cache/file_state.h"

#include <sys/stat.h>
#include <time.h>

void bale_file_set_extent(struct bale_file *file, uint32_t extent)
{
    uint32_t block = (extent / BALE_BLOCKS + BALE_BLOCK_LEAST - 1) / BALE_BLOCK_LEAST;

    file->extent = extent;
    file->block = (block ? block : 1) * BALE_BLOCK_LEAST;
}

void bale_file_count_container(struct bale_file *file)
{
    size_t bytes = bale_container_memory(file->container);
    size_t before = atomic_exchange(&file->counted, bytes);

    if (bytes != before)
        bale_memory_count(file->volume->memory, (int64_t)bytes - (int64_t)before);
}

/* Since Linux 6.13 the kernel's time stamps are finer than this clock once they have been queried.
 * So a time is never before the one shown last, unless the clock was set back. */
struct timespec bale_file_now_locked(struct bale_file *file)
{
    struct timespec now, last = file->ctime;
    struct stat st;

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (last.tv_sec == 0)
        last = file->ctime_before;
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

struct bale_job *bale_file_take_more(struct bale_file *file)
{
    struct bale_job *job = file->more;

    file->more = NULL;
    return job;
}

uint64_t bale_blocks(const struct bale_file *file, uint64_t from, uint64_t to)
{
    if (to <= from)
        return 0;
    unsigned first = (unsigned)(from / file->block);
    unsigned last = (unsigned)((to - 1) / file->block);
    uint64_t upto = last == 63 ? UINT64_MAX : ((uint64_t)1 << (last + 1)) - 1;
    return upto & ~(((uint64_t)1 << first) - 1);
}

int64_t bale_blocks_bytes(const struct bale_file *file, uint64_t blocks)
{
    return (int64_t)__builtin_popcountll(blocks) * file->block;
}
