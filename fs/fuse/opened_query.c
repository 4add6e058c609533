#include <errno.h>
#include <fcntl.h>

#include "fs/fuse/opened.h"
#include "fs/fuse/shares.h"

int bale_opened_refusal(const struct bale_opened *opened)
{
    return opened->mount->read_only || opened->node->marks & BALE_MARK_HELD ? EROFS : EACCES;
}

bool bale_opened_is_mappable(struct bale_mount *mount, struct bale_node *node)
{
    pthread_mutex_lock(&mount->opened_lock);
    bool mappable = node->opened && node->opened->mappers > 0;
    pthread_mutex_unlock(&mount->opened_lock);
    return mappable;
}

void bale_opened_note_access(struct bale_opened *opened, const struct bale_file *file)
{
    if (opened->mount->read_only)
        return;
    if (!atomic_load_explicit(&opened->accessed, memory_order_relaxed) &&
        !atomic_exchange(&opened->accessed, true)) {
        /* Of the flags that can be changed it has no other than O_NOATIME. */
        (void)fcntl(bale_file_fd(file), F_SETFL, 0);
    }
}

struct bale_file *bale_opened_file(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_file *file = NULL;

    pthread_mutex_lock(&mount->opened_lock);
    if (node->opened && node->opened->file)
        file = bale_file_ref(node->opened->file);
    pthread_mutex_unlock(&mount->opened_lock);
    return file;
}

bool bale_opened_attr(struct bale_mount *mount, struct bale_node *node, struct bale_file_attr *attr)
{
    pthread_mutex_lock(&mount->opened_lock);
    struct bale_opened *opened = node->opened;
    bool known = opened && opened->state != BALE_OPENED_OPENING;
    if (known && opened->file)
        bale_file_attr(opened->file, attr);
    else if (known)
        *attr = opened->last;
    pthread_mutex_unlock(&mount->opened_lock);
    return known;
}

void bale_opened_touch_ctime(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_file *file = bale_opened_file(mount, node);

    if (file) {
        bale_file_touch_ctime(file);
        bale_file_unref(file);
    }
}

void bale_opened_set_unlinked(struct bale_mount *mount, struct bale_node *node, bool unlinked)
{
    pthread_mutex_lock(&mount->opened_lock);
    struct bale_opened *opened = node->opened;
    if (opened && opened->unlinked != unlinked) {
        /* A node without a name keeps a descriptor of its own. */
        if (unlinked)
            bale_shares_charge(mount->files, opened->user);
        else
            bale_shares_give(mount->files, opened->user, 1);
        opened->unlinked = unlinked;
    }
    pthread_mutex_unlock(&mount->opened_lock);
}
