/* The open files of the kernel. */
#include <fcntl.h>

#include "fs/fuse/opened.h"

static unsigned mappers_of(int flags)
{
    return (flags & O_ACCMODE) == O_RDWR;
}

static unsigned cached_writers_of(const struct fuse_file_info *fi)
{
    return !bale_handle_is_direct(fi) && (fi->flags & O_ACCMODE) != O_RDONLY;
}

/* Whether the pages that the kernel may have of the file show the commit that is read now. With the
 * lock. */
static bool has_present_pages(struct bale_node *node)
{
    uint32_t stamp = bale_file_stamp(node->opened->file);
    uint32_t none = 0;

    return atomic_compare_exchange_strong(&node->shown, &none, stamp) || none == stamp;
}

void bale_use_add_handle(struct bale_use *use, struct fuse_file_info *fi)
{
    struct bale_mount *mount = use->mount;

    /* What the kernel caches would not be rounded. */
    bool direct = mount->direct || bale_file_is_lossy(use->node->opened->file);

    fi->fh = (direct ? BALE_HANDLE_DIRECT : 0) | (fi->flags & O_DSYNC ? BALE_HANDLE_SYNC : 0);
    fi->direct_io = direct;
    fi->parallel_direct_writes = direct;
    /* A reader has written nothing that its close would have to flush. */
    fi->noflush = (fi->flags & O_ACCMODE) == O_RDONLY;
    pthread_mutex_lock(&mount->opened_lock);
    fi->keep_cache = !direct && (!mount->beside || has_present_pages(use->node));
    use->node->opened->handles++;
    use->node->opened->mappers += mappers_of(fi->flags);
    use->node->opened->cached_writers += cached_writers_of(fi);
    pthread_mutex_unlock(&mount->opened_lock);
}

void bale_use_drop_handle(struct bale_mount *mount, struct bale_node *node,
                          const struct fuse_file_info *fi)
{
    pthread_mutex_lock(&mount->opened_lock);
    node->opened->handles--;
    node->opened->mappers -= mappers_of(fi->flags);
    node->opened->cached_writers -= cached_writers_of(fi);
    pthread_mutex_unlock(&mount->opened_lock);
    bale_use_end(mount, node);
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
            break;
        bale_use_end(mount, opened->node);
    }
    pthread_mutex_lock(&mount->opened_lock);
    while (mount->opened || mount->after_close > 0)
        pthread_cond_wait(&mount->closed, &mount->opened_lock);
    pthread_mutex_unlock(&mount->opened_lock);
}
