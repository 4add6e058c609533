/* Following a writer's commits, for a file that is only read. */
#include <sys/stat.h>

#include "format/err.h"
#include "fs/base/timespec.h"
#include "fs/cache/extent.h"
#include "fs/cache/rounds.h"

void bale_file_catch_up(struct bale_file *file)
{
    struct bale_container_attr attr;
    struct stat st;

    if (!bale_file_is_behind(file))
        return;
    file->epoch = bale_container_epoch(file->container, &attr);
    bale_extents_detach(file, 0, UINT64_MAX);
    file->size = attr.size;
    file->setting = attr.setting;
    file->greatest_step = attr.greatest_step;
    bale_rounds_set(file, (enum bale_rounds)attr.rounds);
    if (attr.generation > 0)
        file->mtime = bale_timespec_of(attr.mtime);
    else if (fstat(file->fd, &st) == 0)
        file->mtime = st.st_mtim;
    bale_file_set_extent(file, attr.extent);
    file->stream_ahead = file->stream_next;
    atomic_store(&file->stamp, bale_container_stamp(file->container));
}

int bale_file_follow(struct bale_file *file)
{
    int moved = bale_container_follow(file->container);

    pthread_mutex_lock(&file->lock);
    bale_file_catch_up(file);
    pthread_mutex_unlock(&file->lock);
    return moved < 0 ? moved : 0;
}

uint32_t bale_file_stamp(struct bale_file *file)
{
    return atomic_load(&file->stamp);
}
