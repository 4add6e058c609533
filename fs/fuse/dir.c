#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/fuse/backing.h"
#include "fs/fuse/listed.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/request.h"
#include "fs/fuse/shares.h"
#include "fs/fuse/unsynced.h"

#define BATCH BALE_DIRECTORY_BYTES

/* An open directory. The backing one is opened when it is first read: often the kernel has the
 * entries cached. It is kept open, with a batch of entries, if the user has a share for that;
 * otherwise it is opened and read again at each request. */
struct handle {
    struct bale_mount *mount;
    struct handle *next, *before; /* guarded by handles_lock, like refs */
    bool acls;                    /* the ACLs of the files will probably be asked for */
    unsigned refs;                /* the kernel's, and of requests that were given up */
    pthread_mutex_t lock;         /* guards the rest */
    int fd;                       /* or -1 */
    bool kept;                    /* counted in mount->directories, for user */
    uid_t user;
    off_t at;            /* position of the entry at used */
    size_t used, filled; /* in batch */
    char *batch;         /* while fd is open */
};

/* Open directories of the one mount that a process serves, to close those that the kernel does not
 * release before the end. */
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *handles;

static struct handle *handle_of(const struct fuse_file_info *fi)
{
    return (struct handle *)(uintptr_t)fi->fh;
}

/* Under the handle's lock. */
static void close_directory(struct handle *handle)
{
    if (handle->fd < 0)
        return;
    close(handle->fd);
    free(handle->batch);
    bale_memory_count(bale_volume_memory(handle->mount->volume), -(int64_t)BATCH);
    if (handle->kept)
        bale_shares_give(handle->mount->directories, handle->user, 1);
    handle->fd = -1;
    handle->kept = false;
    handle->used = handle->filled = 0;
}

bool bale_directory_ref(uint64_t number)
{
    pthread_mutex_lock(&handles_lock);
    struct handle *handle = handles;
    while (handle && (uintptr_t)handle != number)
        handle = handle->next;
    if (handle)
        handle->refs++;
    pthread_mutex_unlock(&handles_lock);
    return handle;
}

static void handle_unref(struct handle *handle)
{
    pthread_mutex_lock(&handles_lock);
    bool last = --handle->refs == 0;
    if (last) {
        *(handle->before ? &handle->before->next : &handles) = handle->next;
        if (handle->next)
            handle->next->before = handle->before;
    }
    pthread_mutex_unlock(&handles_lock);
    if (!last)
        return;
    close_directory(handle);
    bale_memory_count(bale_volume_memory(handle->mount->volume), -(int64_t)sizeof *handle);
    pthread_mutex_destroy(&handle->lock);
    free(handle);
}

void bale_directory_unref(uint64_t number)
{
    handle_unref((struct handle *)(uintptr_t)number);
}

void bale_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct handle *handle = calloc(1, sizeof *handle);

    (void)ino;
    if (!handle) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    pthread_mutex_init(&handle->lock, NULL);
    handle->mount = mount;
    handle->refs = 1;
    handle->fd = -1;
    handle->user = bale_current_request.user;
    handle->acls = atomic_exchange_explicit(&mount->acls_follow, false, memory_order_relaxed);
    pthread_mutex_lock(&handles_lock);
    handle->next = handles;
    if (handles)
        handles->before = handle;
    handles = handle;
    pthread_mutex_unlock(&handles_lock);
    bale_memory_count(bale_volume_memory(mount->volume), (int64_t)sizeof *handle);
    fi->fh = (uintptr_t)handle;
    fi->cache_readdir = fi->keep_cache = !mount->beside;
    if (fuse_reply_open(req, fi) != 0)
        handle_unref(handle);
}

void bale_directories_close_all(void)
{
    for (struct handle *handle = handles, *next; handle; handle = next) {
        /* handle_unref takes its own off the list. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        next = handle->next;
        handle_unref(handle);
    }
}

void bale_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    handle_unref(handle_of(fi));
    fuse_reply_err(req, 0);
}

/* Under the handle's lock, like those that follow. */
static int open_directory(struct handle *handle, struct bale_node *dir)
{
    struct bale_mount *mount = handle->mount;
    int path_fd;

    if (handle->fd >= 0)
        return 0;
    handle->batch = malloc(BATCH);
    int e = handle->batch ? bale_node_pin(mount->nodes, dir, &path_fd) : ENOMEM;
    if (!e) {
        do {
            handle->fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        } while (bale_backing_retry(mount, handle->fd));
        e = handle->fd < 0 ? errno : 0;
        bale_node_unpin(mount->nodes, dir);
    }
    if (e) {
        free(handle->batch);
        return e;
    }
    bale_memory_count(bale_volume_memory(mount->volume), BATCH);
    handle->kept = bale_shares_take(mount->directories, handle->user) == BALE_SHARE_TAKEN;
    return 0;
}

/* At the end of a request. */
static void leave_directory(struct handle *handle)
{
    if (!handle->kept)
        close_directory(handle);
}

/* The entry at handle->at, or NULL at the end. */
static int current_entry(struct handle *handle, struct bale_dirent **entry)
{
    *entry = NULL;
    if (handle->used == handle->filled) {
        long got = syscall(SYS_getdents64, handle->fd, handle->batch, BATCH);
        if (got < 0)
            return errno;
        handle->used = 0;
        handle->filled = (size_t)got;
    }
    if (handle->used < handle->filled)
        *entry = (struct bale_dirent *)(void *)(handle->batch + handle->used);
    return 0;
}

static void advance_entry(struct handle *handle, const struct bale_dirent *entry)
{
    handle->at = entry->next;
    handle->used += entry->length;
}

static int seek_directory(struct handle *handle, struct bale_node *dir, off_t off)
{
    bool is_new = handle->fd < 0;
    int e = open_directory(handle, dir);

    /* Offset 0 reads the directory again, as rewinddir() asks. */
    if (!e && (is_new || off != handle->at || off == 0)) {
        handle->used = handle->filled = 0;
        handle->at = off;
        e = lseek(handle->fd, off, SEEK_SET) < 0 ? errno : 0;
    }
    return e;
}

/* A reply that is being made. */
struct listing {
    fuse_req_t req;
    struct handle *handle;
    struct bale_node *dir;
    char *reply;
    size_t size, length;
    bool plus; /* with attributes; the rest is for these */
    struct bale_ahead ahead;
    size_t looked_at; /* in the batch: the entries before were opened ahead, or need not be */
};

static size_t bytes_of(const struct listing *list, const struct bale_dirent *entry)
{
    return fuse_add_direntry_plus(list->req, NULL, 0, entry->name, NULL, 0);
}

/* Opens the next containers ahead, of no more entries than the reply has room for. */
static void open_ahead(struct listing *list)
{
    struct bale_mount *mount = bale_mount_of(list->req);
    const struct handle *handle = list->handle;
    const struct bale_dirent *entries[BALE_AHEAD], *entry;
    size_t at = handle->used, planned = list->length;
    unsigned count = 0;

    if (at > 0 && at < list->looked_at) /* 0: a new batch */
        return;
    for (; at < handle->filled && count < BALE_AHEAD; at += entry->length) {
        entry = (const void *)(handle->batch + at);
        planned += bytes_of(list, entry);
        if (planned > list->size)
            break;
        if (entry->type == DT_REG && bale_listed_needs_attributes(mount, entry))
            entries[count++] = entry;
    }
    list->looked_at = at;
    bale_ahead_open(&list->ahead, handle->fd, entries, count);
}

/* Adds the entry to the reply if there is room. */
static bool add_entry(struct listing *list, const struct bale_dirent *entry)
{
    struct bale_mount *mount = bale_mount_of(list->req);
    struct stat st = {.st_ino = entry->ino, .st_mode = DTTOIF((mode_t)entry->type)};
    struct fuse_entry_param param;
    char *out = list->reply + list->length;
    size_t room = list->size - list->length;
    size_t need = list->plus
                      ? bytes_of(list, entry)
                      : fuse_add_direntry(list->req, out, room, entry->name, &st, entry->next);

    if (need > room)
        return false;
    if (list->plus) {
        bale_listed_look_up(mount, list->dir, entry, &list->ahead, list->handle->acls, &param);
        (void)fuse_add_direntry_plus(list->req, out, room, entry->name, &param, entry->next);
    }
    list->length += need;
    return true;
}

/* Under the handle's lock. */
static int list_entries(struct listing *list)
{
    struct bale_mount *mount = bale_mount_of(list->req);
    struct bale_dirent *entry;

    for (;;) {
        int e = current_entry(list->handle, &entry);
        if (e || !entry)
            return e;
        if (list->plus)
            open_ahead(list);
        if (!bale_name_is_hidden(mount, list->dir, entry->name) && !add_entry(list, entry))
            return 0;
        advance_entry(list->handle, entry);
    }
}

static void read_directory(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                           struct handle *handle, bool plus)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct listing list = {.req = req,
                           .handle = handle,
                           .dir = bale_node_of(mount, ino),
                           .reply = malloc(size),
                           .size = size,
                           .plus = plus,
                           .ahead = {.shares = mount->ahead, .user = handle->user}};

    if (!list.reply) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    pthread_mutex_lock(&handle->lock);
    int e = seek_directory(handle, list.dir, off);
    if (!e)
        e = list_entries(&list);
    bale_ahead_end(&list.ahead);
    leave_directory(handle);
    pthread_mutex_unlock(&handle->lock);
    if (e && list.length == 0)
        fuse_reply_err(req, e);
    else if (fuse_reply_buf(req, list.reply, list.length) != 0 && plus)
        bale_listed_forget(mount, list.reply, list.length);
    free(list.reply);
}

void bale_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                     struct fuse_file_info *fi)
{
    read_directory(req, ino, size, off, handle_of(fi), false);
}

void bale_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                         struct fuse_file_info *fi)
{
    read_directory(req, ino, size, off, handle_of(fi), true);
}

void bale_op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct handle *handle = handle_of(fi);

    pthread_mutex_lock(&handle->lock);
    int e = open_directory(handle, bale_node_of(mount, ino));
    if (!e && (datasync ? fdatasync(handle->fd) : fsync(handle->fd)) != 0)
        e = errno;
    leave_directory(handle);
    pthread_mutex_unlock(&handle->lock);
    bale_unsynced_add_above(mount, bale_node_of(mount, ino));
    if (!e)
        e = bale_unsynced_sync_directories(mount);
    fuse_reply_err(req, e);
}
