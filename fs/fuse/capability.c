#include "fs/fuse/capability.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "fs/fuse/backing.h"

/* Waits until nobody restores the node's value, which then does not change either. Returns
 * node->opened. With mount->opened_lock, which the wait drops. */
static struct bale_opened *await_restored(struct bale_mount *mount, const struct bale_node *node)
{
    while (node->opened && node->opened->restoring)
        pthread_cond_wait(&mount->restored, &mount->opened_lock);
    return node->opened;
}

void bale_capability_restore(struct bale_opened *opened, const char *path)
{
    struct bale_mount *mount = opened->mount;

    pthread_mutex_lock(&mount->opened_lock);
    (void)await_restored(mount, opened->node);
    bool has_value = opened->restoring = opened->capability != NULL;
    pthread_mutex_unlock(&mount->opened_lock);
    if (!has_value)
        return;
    if (getxattr(path, BALE_CAPABILITY_XATTR, NULL, 0) < 0 && errno == ENODATA)
        (void)!setxattr(path, BALE_CAPABILITY_XATTR, opened->capability, opened->capability_size,
                        0);
    pthread_mutex_lock(&mount->opened_lock);
    opened->restoring = false;
    pthread_cond_broadcast(&mount->restored);
    pthread_mutex_unlock(&mount->opened_lock);
}

void bale_capability_save(struct bale_opened *opened, const char *path)
{
    char value[BALE_CAPABILITY_MAX];
    ssize_t size = getxattr(path, BALE_CAPABILITY_XATTR, value, sizeof value);

    if (size > 0)
        bale_capability_set(opened->mount, opened->node, value, (size_t)size);
}

void bale_capability_set(struct bale_mount *mount, struct bale_node *node, const void *value,
                         size_t size)
{
    void *copy = value && size ? malloc(size) : NULL;

    if (copy) {
        memcpy(copy, value, size);
        atomic_fetch_or(&node->marks, BALE_MARK_CAPABILITY);
        bale_known_changed(mount, node, BALE_CAPABILITY_XATTR);
    } else {
        atomic_fetch_and(&node->marks, ~(uint32_t)BALE_MARK_CAPABILITY);
    }
    pthread_mutex_lock(&mount->opened_lock);
    struct bale_opened *opened = await_restored(mount, node);
    if (opened) {
        void *old = opened->capability;
        opened->capability = copy;
        opened->capability_size = size;
        copy = old;
    }
    pthread_mutex_unlock(&mount->opened_lock);
    free(copy);
}

size_t bale_capability_get(struct bale_mount *mount, struct bale_node *node,
                           char value[BALE_CAPABILITY_MAX])
{
    size_t size = 0;

    if (!(node->marks & BALE_MARK_CAPABILITY))
        return 0;
    pthread_mutex_lock(&mount->opened_lock);
    struct bale_opened *opened = node->opened;
    if (opened && opened->capability && opened->capability_size <= BALE_CAPABILITY_MAX) {
        size = opened->capability_size;
        memcpy(value, opened->capability, size);
    }
    pthread_mutex_unlock(&mount->opened_lock);
    return size;
}

static struct bale_proc_path path_of(const struct bale_opened *opened)
{
    return bale_proc_path(bale_file_fd(opened->file));
}

void bale_capability_keep(struct bale_opened *opened)
{
    struct bale_proc_path path = path_of(opened);
    struct bale_file_attr attr;

    if (opened->node->marks & BALE_MARK_CAPABILITY)
        return;
    bale_capability_save(opened, path.text);
    bale_file_attr(opened->file, &attr);
    if (attr.dirty > 0 || getxattr(path.text, BALE_CAPABILITY_XATTR, NULL, 0) < 0)
        bale_capability_set(opened->mount, opened->node, NULL, 0);
}

void bale_capability_put_back(struct bale_opened *opened)
{
    bale_capability_restore(opened, path_of(opened).text);
}
