#include "fs/fuse/listed.h"

#include <dirent.h>
#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fs/fuse/attr.h"
#include "fs/fuse/known.h"

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

bool bale_listed_needs_attributes(struct bale_mount *mount, const struct bale_dirent *entry)
{
    return !is_dots(entry->name) &&
           (mount->beside || !bale_node_is_remembered(mount->nodes, entry->ino));
}

static void set_entry(struct bale_mount *mount, struct bale_node *node,
                      struct fuse_entry_param *param)
{
    param->ino = bale_ino_of(mount, node);
    param->generation = bale_generation_of(mount, node);
    param->entry_timeout = bale_mount_cache_seconds(mount, BALE_CACHE_SECONDS);
    bale_node_remember(mount->nodes, node);
}

/* Through the open descriptor that costs one call, later an open by name and a close as well. */
static void note_acl(struct bale_mount *mount, struct bale_node *node, int fd)
{
    char value[BALE_KNOWN_MAX];

    if (!mount->backing_acls || node->marks & (BALE_MARK_NO_ACCESS_ACL | BALE_MARK_ACCESS_ACL_KEPT))
        return;
    uint64_t ticket = bale_known_ticket(mount);
    ssize_t got = fgetxattr(fd, BALE_ACL_ACCESS, value, sizeof value);
    bale_known_note(mount, node, BALE_ACL_ACCESS, ticket, got < 0 ? errno : 0, value,
                    got < 0 ? 0 : (size_t)got);
}

/* Gets the attributes of a container through the descriptor that was opened ahead. False: it has
 * done nothing. */
static bool get_opened(struct bale_mount *mount, struct bale_node *dir,
                       const struct bale_dirent *entry, int fd, bool acl,
                       struct fuse_entry_param *param)
{
    struct bale_node *node;
    struct stat st;

    if (bale_node_listed(mount->nodes, dir, entry->name, entry->ino, fd, &node, &st) != 0)
        return false;
    if (bale_attr_get_opened(mount, node, fd, &st, &param->attr, &param->attr_timeout) == 0) {
        set_entry(mount, node, param);
        if (acl)
            note_acl(mount, node, fd);
    }
    bale_node_unref(mount->nodes, node);
    return true;
}

static void get_by_name(struct bale_mount *mount, struct bale_node *dir,
                        const struct bale_dirent *entry, struct fuse_entry_param *param)
{
    struct bale_node *node;
    struct stat st;
    int fd;

    if (bale_node_lookup(mount->nodes, dir, entry->name, &node, &fd, &st) != 0)
        return;
    if (bale_attr_get(mount, node, fd, &st, &param->attr, &param->attr_timeout) == 0)
        set_entry(mount, node, param);
    bale_node_unpin(mount->nodes, node);
}

void bale_listed_look_up(struct bale_mount *mount, struct bale_node *dir,
                         const struct bale_dirent *entry, struct bale_ahead *ahead, bool acl,
                         struct fuse_entry_param *param)
{
    int fd = bale_ahead_take(ahead, entry);

    memset(param, 0, sizeof *param);
    /* Beside a writer the name may lead to another file by now. */
    bool done = fd >= 0 && !mount->beside && get_opened(mount, dir, entry, fd, acl, param);
    if (fd >= 0)
        close(fd);
    if (!done && bale_listed_needs_attributes(mount, entry))
        get_by_name(mount, dir, entry, param);
    if (param->ino == 0)
        param->attr = (struct stat){.st_ino = entry->ino, .st_mode = DTTOIF((mode_t)entry->type)};
}

void bale_listed_forget(struct bale_mount *mount, const char *reply, size_t length)
{
    for (size_t at = 0; at < length;) {
        const struct fuse_direntplus *d = (const void *)(reply + at);
        if (d->entry_out.nodeid != 0)
            bale_node_forget(mount->nodes, bale_node_of(mount, d->entry_out.nodeid), 1);
        at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + d->dirent.namelen);
    }
}
