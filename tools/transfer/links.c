#include "tools/transfer/links.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/transfer/move.h"

/* Another name of a file that was found before the file was complete. */
struct pending_name {
    struct pending_name *next;
    struct bale_tree_dir *dir;
    char name[];
};

/* transfer->lock guards state, damaged, pending, origin and lost; the rest does not change. */
struct bale_link {
    dev_t dev;
    ino_t ino;
    enum { MAKING, MADE, FAILED } state;
    bool damaged;
    struct pending_name *pending;
    struct bale_origin *origin; /* of a move: the names that have their copy; NULL: it has all */
    bool lost;                  /* one of its names has no copy, after a message */
    char *directory;            /* below the top */
    char name[];
};

static int compare_links(const void *a, const void *b)
{
    const struct bale_link *one = a, *other = b;

    return one->dev != other->dev ? (one->dev > other->dev) - (one->dev < other->dev)
                                  : (one->ino > other->ino) - (one->ino < other->ino);
}

static void free_link(void *arg)
{
    struct bale_link *link = arg;

    if (!link)
        return;
    bale_origin_free(link->origin);
    free(link->directory);
    free(link);
}

/* The directory of the first name may be closed already, so it is opened again. */
static int link_to(const struct bale_transfer *transfer, const struct bale_link *link,
                   const struct bale_tree_dir *dir, const char *name)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    char first[NAME_MAX + 1], other[NAME_MAX + 1];
    const char *end = link->damaged ? BALE_DAMAGED : "";
    const char *directory = *link->directory ? link->directory : ".";
    int fd = (int)syscall(SYS_openat2, transfer->to, directory, &how, sizeof how);

    if (fd < 0)
        return errno;
    snprintf(first, sizeof first, "%s%s", link->name, end);
    snprintf(other, sizeof other, "%s%s", name, end);
    int e = linkat(fd, first, dir->to, other, 0) != 0 ? errno : 0;
    if (e == EEXIST && unlinkat(dir->to, other, 0) == 0)
        e = linkat(fd, first, dir->to, other, 0) != 0 ? errno : 0;
    close(fd);
    return e;
}

static void make_name(struct bale_transfer *transfer, struct bale_link *link,
                      struct bale_tree_dir *dir, const char *name)
{
    if (link->state == FAILED) {
        if (!atomic_load(&bale_transfer_stop))
            bale_transfer_fail(transfer, dir, name, "is missing: it is another name of %s%s%s",
                               link->directory, *link->directory ? "/" : "", link->name);
        bale_link_move(transfer, link, dir, name, false);
        return;
    }
    int e = link_to(transfer, link, dir, name);
    if (e)
        bale_transfer_fail(transfer, dir, name, "cannot be linked below %s: %s", transfer->to_top,
                           strerror(e));
    bale_link_move(transfer, link, dir, name, e == 0);
}

static struct bale_link *create(struct bale_transfer *transfer, const struct bale_tree_dir *dir,
                                const char *name, const struct stat *st)
{
    struct bale_link *link = calloc(1, sizeof *link + strlen(name) + 1);
    const char *below = dir->path + transfer->skip;

    if (link)
        link->directory = strdup(below + strspn(below, "/"));
    if (link && transfer->move)
        link->origin = bale_origin_create(st);
    if (!link || !link->directory || (transfer->move && !link->origin)) {
        free_link(link);
        return NULL;
    }
    link->dev = st->st_dev;
    link->ino = st->st_ino;
    strcpy(link->name, name);
    return link;
}

/* Finds or adds the link of the inode; *is_new: it was added. NULL: no memory. */
static struct bale_link *find(struct bale_transfer *transfer, const struct bale_tree_dir *dir,
                              const char *name, const struct stat *st, bool *is_new)
{
    struct bale_link key = {.dev = st->st_dev, .ino = st->st_ino};
    struct bale_link **found = tfind(&key, &transfer->links, compare_links);

    *is_new = !found;
    if (found)
        return *found;
    struct bale_link *link = create(transfer, dir, name, st);
    if (link && !tsearch(link, &transfer->links, compare_links)) {
        free_link(link);
        return NULL;
    }
    return link;
}

bool bale_link_first(struct bale_transfer *transfer, struct bale_tree_dir *dir, const char *name,
                     const struct stat *st, struct bale_link **out)
{
    struct pending_name *pending = malloc(sizeof *pending + strlen(name) + 1);
    bool is_new = false, wait = false;
    struct bale_link *link = NULL;

    pthread_mutex_lock(&transfer->lock);
    if (pending)
        link = find(transfer, dir, name, st, &is_new);
    if (link && !is_new && link->state == MAKING) {
        wait = true;
        pending->next = link->pending;
        pending->dir = bale_tree_dir_ref(dir);
        strcpy(pending->name, name);
        link->pending = pending;
    }
    pthread_mutex_unlock(&transfer->lock);
    if (!wait)
        free(pending);
    if (!link)
        bale_transfer_fail(transfer, dir, name, "out of memory");
    else if (!is_new && !wait)
        make_name(transfer, link, dir, name);
    *out = link;
    return is_new;
}

void bale_link_made(struct bale_transfer *transfer, struct bale_link *link, bool made, bool damaged)
{
    pthread_mutex_lock(&transfer->lock);
    struct pending_name *pending = link->pending;
    link->pending = NULL;
    link->state = made ? MADE : FAILED;
    link->damaged = damaged;
    pthread_mutex_unlock(&transfer->lock);
    while (pending) {
        struct pending_name *next = pending->next;
        make_name(transfer, link, pending->dir, pending->name);
        bale_tree_dir_unref(pending->dir);
        free(pending);
        pending = next;
    }
}

void bale_link_move(struct bale_transfer *transfer, struct bale_link *link,
                    struct bale_tree_dir *dir, const char *name, bool whole)
{
    struct bale_origin *origin = NULL;

    pthread_mutex_lock(&transfer->lock);
    if (link->origin && (!whole || !bale_origin_add(link->origin, dir, name)))
        link->lost = true;
    if (link->origin && !link->lost && link->origin->count == link->origin->st.st_nlink) {
        origin = link->origin;
        link->origin = NULL;
    }
    pthread_mutex_unlock(&transfer->lock);
    if (origin)
        bale_move_add(transfer, origin);
}

void bale_link_renamed(struct bale_transfer *transfer, const struct stat *st)
{
    struct bale_link key = {.dev = st->st_dev, .ino = st->st_ino};

    pthread_mutex_lock(&transfer->lock);
    struct bale_link **found = tfind(&key, &transfer->links, compare_links);
    if (found && (*found)->origin)
        (*found)->origin->st.st_ctim = st->st_ctim;
    pthread_mutex_unlock(&transfer->lock);
}

static void tell_missing_names(const void *node, VISIT visit, void *arg)
{
    const struct bale_link *link = *(struct bale_link *const *)node;
    const struct bale_origin_name *one = link->origin ? link->origin->names : NULL;

    if ((visit == postorder || visit == leaf) && one && !link->lost &&
        !atomic_load(&bale_transfer_stop))
        bale_transfer_fail(arg, one->dir, one->name,
                           "was copied and stays: it has other names, outside of what is moved");
}

void bale_links_clear(struct bale_transfer *transfer)
{
    twalk_r(transfer->links, tell_missing_names, transfer);
    tdestroy(transfer->links, free_link);
    transfer->links = NULL;
}
