/* Names. See lossy.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mount/lossy.h"

struct lossy_entry **lossy_entry_find(struct lossy_node *dir, const char *name)
{
    struct lossy_entry **at = &dir->entries;

    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

void lossy_entry_add(struct lossy_node *dir, const char *name, struct lossy_node *node)
{
    struct lossy_entry **at = &dir->entries;
    struct lossy_entry *entry = calloc(1, sizeof *entry);

    if (!entry || !(entry->name = strdup(name)))
        abort();
    while (*at)
        at = &(*at)->next; /* at the end, so that a program that reads the directory sees it */
    entry->node = node;
    *at = entry;
    node->links++;
    if (S_ISDIR(node->st.st_mode))
        node->parent = dir;
}

void lossy_entry_remove(struct lossy_node *dir, struct lossy_entry **slot)
{
    struct lossy_entry *entry = *slot;
    struct lossy_node *node = entry->node;

    *slot = entry->next;
    node->links--;
    if (node->parent == dir)
        node->parent = NULL;
    free(entry->name);
    free(entry);
}

/* The entries of a directory were changed. */
static void changed(struct lossy_node *dir)
{
    dir->changed = true;
    lossy_touch(dir, true);
}

static void kept(struct lossy_node *dir)
{
    if (lossy_keeps())
        lossy_disk_entries(dir);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct lossy_entry *entry = *lossy_entry_find(lossy_node_of(parent), name);

    if (entry)
        lossy_reply_entry(req, entry->node, NULL);
    else
        fuse_reply_err(req, ENOENT);
}

/* NULL: it has been replied to. name NULL: for a file without a name. */
static struct lossy_node *make(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                               dev_t rdev, const char *target)
{
    struct lossy_node *dir = lossy_node_of(parent);
    const struct fuse_ctx *caller = fuse_req_ctx(req);

    if (name && *lossy_entry_find(dir, name)) {
        fuse_reply_err(req, EEXIST);
        return NULL;
    }
    struct lossy_node *node = lossy_node_make(0, mode);
    node->st.st_uid = caller->uid;
    node->st.st_gid = dir->st.st_mode & S_ISGID ? dir->st.st_gid : caller->gid;
    if (S_ISDIR(mode) && dir->st.st_mode & S_ISGID)
        node->st.st_mode |= S_ISGID;
    node->st.st_rdev = rdev;
    if (target) {
        node->target = strdup(target);
        node->data.size = strlen(target);
    }
    if (name) {
        lossy_entry_add(dir, name, node);
        changed(dir);
        kept(dir);
        if (strcmp(name, "release") == 0)
            lossy_release();
    }
    return node;
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
    struct lossy_node *node = make(req, parent, name, mode, rdev, NULL);

    if (node)
        lossy_reply_entry(req, node, NULL);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    struct lossy_node *node = make(req, parent, name, S_IFDIR | (mode & 07777), 0, NULL);

    if (node)
        lossy_reply_entry(req, node, NULL);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    struct lossy_node *node = make(req, parent, name, S_IFLNK | 0777, 0, target);

    if (node)
        lossy_reply_entry(req, node, NULL);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                      struct fuse_file_info *fi)
{
    struct lossy_node *node = make(req, parent, name, S_IFREG | (mode & 07777), 0, NULL);

    if (node)
        lossy_reply_entry(req, node, fi);
}

bool lossy_vanish(struct lossy_node *node)
{
    const char *name = getenv("LOSSY_VANISH");

    for (struct lossy_node *dir = lossy_nodes; name && dir; dir = dir->next) {
        struct lossy_entry **slot = lossy_entry_find(dir, name);
        if (!*slot || (*slot)->node != node)
            continue;
        lossy_entry_remove(dir, slot);
        changed(dir);
        lossy_disk_entries(dir);
        fuse_lowlevel_notify_inval_entry(
            lossy_session, dir == lossy_nodes ? FUSE_ROOT_ID : (uintptr_t)dir, name, strlen(name));
        return true;
    }
    return false;
}

bool lossy_is_held(const struct lossy_node *node)
{
    const char *name = getenv("LOSSY_HOLD");
    bool found = false;

    for (struct lossy_node *dir = lossy_nodes; name && dir; dir = dir->next) {
        struct lossy_entry *entry = *lossy_entry_find(dir, name);
        found = found || (entry && entry->node == node);
        if (*lossy_entry_find(dir, "release"))
            return false;
    }
    return found;
}

static void op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi)
{
    struct lossy_node *node = make(req, parent, NULL, S_IFREG | (mode & 07777), 0, NULL);

    if (!node)
        return;
    node->nameless = true;
    lossy_reply_entry(req, node, fi);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct lossy_node *node = lossy_node_of(ino);

    (void)fi;
    for (struct lossy_node *dir = lossy_nodes; node->nameless && dir; dir = dir->next) {
        struct lossy_entry **slot = &dir->entries;
        while (*slot) {
            if ((*slot)->node != node) {
                slot = &(*slot)->next;
                continue;
            }
            lossy_entry_remove(dir, slot);
            changed(dir);
            lossy_disk_entries(dir);
        }
    }
    node->nameless = false;
    fuse_reply_err(req, 0);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
    struct lossy_node *dir = lossy_node_of(parent), *node = lossy_node_of(ino);

    if (*lossy_entry_find(dir, name)) {
        fuse_reply_err(req, EEXIST);
        return;
    }
    lossy_entry_add(dir, name, node);
    lossy_touch(node, false);
    changed(dir);
    kept(dir);
    lossy_reply_entry(req, node, NULL);
}

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name, bool is_dir)
{
    struct lossy_node *dir = lossy_node_of(parent);
    struct lossy_entry **slot = lossy_entry_find(dir, name);
    int e = !*slot ? ENOENT : is_dir && (*slot)->node->entries ? ENOTEMPTY : 0;

    if (!e) {
        lossy_touch((*slot)->node, false);
        lossy_entry_remove(dir, slot);
        changed(dir);
        kept(dir);
    }
    fuse_reply_err(req, e);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, false);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, true);
}

/* Both names are there; the nodes change places. */
static void exchange(struct lossy_node *dir, struct lossy_entry *from, struct lossy_node *new_dir,
                     struct lossy_entry *to)
{
    struct lossy_node *node = from->node;

    from->node = to->node;
    to->node = node;
    if (S_ISDIR(from->node->st.st_mode))
        from->node->parent = dir;
    if (S_ISDIR(to->node->st.st_mode))
        to->node->parent = new_dir;
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                      const char *new_name, unsigned flags)
{
    struct lossy_node *dir = lossy_node_of(parent), *new_dir = lossy_node_of(new_parent);
    struct lossy_entry **from = lossy_entry_find(dir, name);
    struct lossy_entry **to = lossy_entry_find(new_dir, new_name);
    bool swap = flags & RENAME_EXCHANGE;
    int e = !*from || (swap && !*to)               ? ENOENT
            : *to && flags & RENAME_NOREPLACE      ? EEXIST
            : *to && !swap && (*to)->node->entries ? ENOTEMPTY
                                                   : 0;

    if (e || (*to && (*to)->node == (*from)->node)) {
        fuse_reply_err(req, e);
        return;
    }
    struct lossy_node *node = (*from)->node;
    if (swap) {
        exchange(dir, *from, new_dir, *to);
    } else {
        if (*to)
            lossy_entry_remove(new_dir, to);
        lossy_entry_remove(dir, lossy_entry_find(dir, name));
        lossy_entry_add(new_dir, new_name, node);
    }
    lossy_touch(node, false);
    changed(dir);
    changed(new_dir);
    if (dir != new_dir)
        lossy_disk_renamed();
    kept(new_dir);
    fuse_reply_err(req, 0);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                       struct fuse_file_info *fi)
{
    char *reply = malloc(size);
    size_t length = 0;
    off_t at = 0;

    (void)fi;
    if (!reply) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    for (const struct lossy_entry *entry = lossy_node_of(ino)->entries; entry;
         entry = entry->next) {
        struct stat st;
        if (++at <= off)
            continue;
        lossy_stat(entry->node, &st);
        size_t part = fuse_add_direntry(req, reply + length, size - length, entry->name, &st, at);
        if (part > size - length)
            break;
        length += part;
    }
    fuse_reply_buf(req, reply, length);
    free(reply);
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    struct lossy_node *dir = lossy_node_of(ino);

    (void)datasync;
    (void)fi;
    lossy_disk_attributes(dir);
    lossy_disk_entries(dir);
    fuse_reply_err(req, 0);
}

void lossy_names_ops(struct fuse_lowlevel_ops *ops)
{
    ops->lookup = op_lookup;
    ops->mknod = op_mknod;
    ops->mkdir = op_mkdir;
    ops->symlink = op_symlink;
    ops->create = op_create;
    ops->tmpfile = op_tmpfile;
    ops->release = op_release;
    ops->link = op_link;
    ops->unlink = op_unlink;
    ops->rmdir = op_rmdir;
    ops->rename = op_rename;
    ops->readdir = op_readdir;
    ops->fsyncdir = op_fsyncdir;
}
