#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/memfs.h"

enum { BUCKETS = 1 << 18 };

struct memfs_entry {
    struct memfs_node *parent, *node;
    struct memfs_entry *chain;           /* in its bucket */
    struct memfs_entry *before, *behind; /* in its directory */
    uint64_t cookie;
    char name[];
};

struct directory {
    struct memfs_entry *next;
    uint64_t changes; /* the directory's, when next was found */
    off_t at;
};

pthread_rwlock_t memfs_tree = PTHREAD_RWLOCK_INITIALIZER;
static struct memfs_entry *table[BUCKETS];
static uint64_t cookies = 2;

static struct memfs_entry **bucket(const struct memfs_node *parent, const char *name)
{
    uint64_t hash = (uint64_t)(uintptr_t)parent;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x9e3779b97f4a7c15ULL;
    return &table[(hash ^ hash >> 32) % BUCKETS];
}

static struct memfs_entry **find(const struct memfs_node *parent, const char *name)
{
    struct memfs_entry **at = bucket(parent, name);

    while (*at && ((*at)->parent != parent || strcmp((*at)->name, name) != 0))
        at = &(*at)->chain;
    return at;
}

static int add(struct memfs_node *parent, const char *name, struct memfs_node *node)
{
    size_t length = strlen(name) + 1;
    struct memfs_entry *entry = malloc(sizeof *entry + length), **head = bucket(parent, name);

    if (!entry)
        return ENOMEM;
    *entry = (struct memfs_entry){.parent = parent,
                                  .node = node,
                                  .chain = *head,
                                  .before = parent->last,
                                  .cookie = ++cookies};
    memcpy(entry->name, name, length);
    *head = entry;
    *(parent->last ? &parent->last->behind : &parent->first) = entry;
    parent->last = entry;
    memfs_now(&parent->attr.st_mtim);
    return 0;
}

static void release(struct memfs_node *node)
{
    if (node->lookups == 0 && node->attr.st_nlink == 0)
        memfs_node_destroy(node);
}

static void take_out(struct memfs_entry **at)
{
    struct memfs_entry *entry = *at;
    struct memfs_node *parent = entry->parent;

    *at = entry->chain;
    *(entry->before ? &entry->before->behind : &parent->first) = entry->behind;
    *(entry->behind ? &entry->behind->before : &parent->last) = entry->before;
    parent->changes++;
    memfs_now(&parent->attr.st_mtim);
    free(entry);
}

/* Removes a name. Without names a node ends when the kernel forgets it. */
static int take_name(struct memfs_entry **at, bool directory)
{
    if (!*at)
        return ENOENT;
    struct memfs_node *node = (*at)->node, *parent = (*at)->parent;
    if (S_ISDIR(node->attr.st_mode) != directory)
        return directory ? ENOTDIR : EISDIR;
    if (node->first)
        return ENOTEMPTY;
    take_out(at);
    node->attr.st_nlink -= directory ? 2 : 1;
    parent->attr.st_nlink -= directory;
    release(node);
    return 0;
}

static void fill(struct memfs_node *node, struct fuse_entry_param *e)
{
    *e = (struct fuse_entry_param){.ino = memfs_node_ino(node),
                                   .attr = node->attr,
                                   .attr_timeout = memfs_cache_seconds,
                                   .entry_timeout = memfs_cache_seconds};
    __atomic_add_fetch(&node->lookups, 1, __ATOMIC_RELAXED);
}

int memfs_make(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device,
               const char *target, struct fuse_entry_param *e)
{
    struct memfs_node *dir = memfs_node_get(parent), *node = memfs_node_create(mode);

    if (!node || (target && !(node->target = strdup(target)))) {
        memfs_node_destroy(node);
        return ENOMEM;
    }
    node->attr.st_uid = fuse_req_ctx(req)->uid;
    node->attr.st_gid = dir->attr.st_mode & S_ISGID ? dir->attr.st_gid : fuse_req_ctx(req)->gid;
    node->attr.st_rdev = device;
    node->attr.st_nlink = S_ISDIR(mode) ? 2 : 1;
    node->attr.st_size = target ? (off_t)strlen(target) : 0;
    pthread_rwlock_wrlock(&memfs_tree);
    int error = *find(dir, name) ? EEXIST : add(dir, name, node);
    if (error == 0) {
        dir->attr.st_nlink += S_ISDIR(mode) != 0;
        fill(node, e);
    }
    pthread_rwlock_unlock(&memfs_tree);
    if (error != 0)
        memfs_node_destroy(node);
    return error;
}

static void reply_made(fuse_req_t req, int error, const struct fuse_entry_param *e)
{
    if (error != 0)
        fuse_reply_err(req, error);
    else
        fuse_reply_entry(req, e);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param e = {.entry_timeout = memfs_cache_seconds};

    pthread_rwlock_rdlock(&memfs_tree);
    struct memfs_entry *entry = *find(memfs_node_get(parent), name);
    if (entry)
        fill(entry->node, &e);
    pthread_rwlock_unlock(&memfs_tree);
    fuse_reply_entry(req, &e);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    pthread_rwlock_wrlock(&memfs_tree);
    for (size_t i = 0; i < count; i++) {
        struct memfs_node *node = memfs_node_get(forgets[i].ino);
        node->lookups -= forgets[i].nlookup;
        release(node);
    }
    pthread_rwlock_unlock(&memfs_tree);
    fuse_reply_none(req);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
    op_forget_multi(req, 1, &(struct fuse_forget_data){ino, count});
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
    struct fuse_entry_param e;
    reply_made(req, memfs_make(req, parent, name, mode, device, NULL, &e), &e);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    struct fuse_entry_param e;
    reply_made(req, memfs_make(req, parent, name, S_IFDIR | mode, 0, NULL, &e), &e);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param e;
    reply_made(req, memfs_make(req, parent, name, S_IFLNK | 0777, 0, target, &e), &e);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param e;
    struct memfs_node *node = memfs_node_get(ino), *dir = memfs_node_get(parent);

    pthread_rwlock_wrlock(&memfs_tree);
    int error = *find(dir, name) ? EEXIST : add(dir, name, node);
    if (error == 0) {
        node->attr.st_nlink++;
        fill(node, &e);
    }
    pthread_rwlock_unlock(&memfs_tree);
    reply_made(req, error, &e);
}

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name, bool directory)
{
    pthread_rwlock_wrlock(&memfs_tree);
    int error = take_name(find(memfs_node_get(parent), name), directory);
    pthread_rwlock_unlock(&memfs_tree);
    fuse_reply_err(req, error);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, false);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, true);
}

static int rename_to(struct memfs_entry **from, struct memfs_node *to, const char *name)
{
    if (!*from)
        return ENOENT;
    struct memfs_node *node = (*from)->node, *old = (*from)->parent;
    bool directory = S_ISDIR(node->attr.st_mode);
    struct memfs_entry **there = find(to, name);
    int error = *there ? take_name(there, directory) : 0;
    error = error != 0 ? error : add(to, name, node);
    if (error == 0) {
        old->attr.st_nlink -= directory;
        to->attr.st_nlink += directory;
    }
    return error;
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                      const char *new_name, unsigned flags)
{
    struct memfs_node *dir = memfs_node_get(parent);

    if (flags != 0) {
        fuse_reply_err(req, EINVAL);
        return;
    }
    pthread_rwlock_wrlock(&memfs_tree);
    int error = rename_to(find(dir, name), memfs_node_get(new_parent), new_name);
    struct memfs_entry **from = find(dir, name); /* what was removed may have moved it */
    if (error == 0 && *from)
        take_out(from);
    pthread_rwlock_unlock(&memfs_tree);
    fuse_reply_err(req, error);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct directory *d = calloc(1, sizeof *d);

    if (!d) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    d->at = -1;
    fi->fh = (uintptr_t)d;
    fi->cache_readdir = 1;
    fi->keep_cache = 1;
    (void)ino;
    fuse_reply_open(req, fi);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    free((struct directory *)(uintptr_t)fi->fh);
    fuse_reply_err(req, 0);
}

static void read_directory(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                           struct directory *d, bool plus)
{
    struct memfs_node *dir = memfs_node_get(ino);
    char *buffer = malloc(size);
    size_t used = 0;

    if (!buffer) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    pthread_rwlock_rdlock(&memfs_tree);
    if (d->at != offset || d->changes != dir->changes || !d->next)
        for (d->next = dir->first; d->next && d->next->cookie <= (uint64_t)offset;)
            d->next = d->next->behind;
    d->at = offset;
    d->changes = dir->changes;
    for (; d->next; d->next = d->next->behind) {
        struct fuse_entry_param e = {.attr = d->next->node->attr};
        off_t cookie = (off_t)d->next->cookie;
        size_t n = plus ? fuse_add_direntry_plus(req, NULL, 0, d->next->name, &e, cookie)
                        : fuse_add_direntry(req, NULL, 0, d->next->name, &e.attr, cookie);
        if (n > size - used)
            break;
        if (plus) {
            fill(d->next->node, &e);
            fuse_add_direntry_plus(req, buffer + used, n, d->next->name, &e, cookie);
        } else {
            fuse_add_direntry(req, buffer + used, n, d->next->name, &e.attr, cookie);
        }
        used += n;
        d->at = cookie;
    }
    pthread_rwlock_unlock(&memfs_tree);
    fuse_reply_buf(req, buffer, used);
    free(buffer);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                       struct fuse_file_info *fi)
{
    read_directory(req, ino, size, offset, (struct directory *)(uintptr_t)fi->fh, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                           struct fuse_file_info *fi)
{
    read_directory(req, ino, size, offset, (struct directory *)(uintptr_t)fi->fh, true);
}

void memfs_names(struct fuse_lowlevel_ops *ops)
{
    ops->lookup = op_lookup;
    ops->forget = op_forget;
    ops->forget_multi = op_forget_multi;
    ops->mknod = op_mknod;
    ops->mkdir = op_mkdir;
    ops->symlink = op_symlink;
    ops->link = op_link;
    ops->unlink = op_unlink;
    ops->rmdir = op_rmdir;
    ops->rename = op_rename;
    ops->opendir = op_opendir;
    ops->readdir = op_readdir;
    ops->readdirplus = op_readdirplus;
    ops->releasedir = op_releasedir;
}
