#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/inode/internal.h"
#include "fs/inode/node.h"

struct bale_node *bale_node_find(struct bale_nodes *nodes, uint64_t ino)
{
    pthread_mutex_lock(&nodes->lock);
    struct bale_node *node = bale_node_at(nodes, ino);
    if (node)
        node->refs++;
    pthread_mutex_unlock(&nodes->lock);
    return node;
}

bool bale_node_is_remembered(struct bale_nodes *nodes, uint64_t ino)
{
    pthread_mutex_lock(&nodes->lock);
    const struct bale_node *node = bale_node_at(nodes, ino);
    bool remembered = node && node->lookups > 0;
    pthread_mutex_unlock(&nodes->lock);
    return remembered;
}

struct bale_node *bale_node_of_number(struct bale_nodes *nodes, uint64_t number)
{
    struct bale_node *node = bale_node_in_slot(nodes, number);

    if (node || !nodes->handles)
        return node;
    uint64_t ino = bale_handle_ino(nodes->handles, number);
    pthread_mutex_lock(&nodes->lock);
    node = bale_node_numbered(nodes, ino, number);
    pthread_mutex_unlock(&nodes->lock);
    return node;
}

struct bale_node *bale_node_ref_number(struct bale_nodes *nodes, uint64_t number)
{
    uint64_t ino = nodes->handles ? bale_handle_ino(nodes->handles, number) : 0;

    pthread_mutex_lock(&nodes->lock); /* a node gives up its number under it before it is freed */
    struct bale_node *node = bale_node_in_slot(nodes, number);
    if (!node && nodes->handles)
        node = bale_node_numbered(nodes, ino, number);
    if (node)
        node->refs++;
    pthread_mutex_unlock(&nodes->lock);
    return node;
}

/* Gives a new node its number; fd refers to its file. If another program has just removed a file
 * with this inode number, that file's node still has the number: then a slot gives one. Under the
 * lock. False: no memory. */
static bool take_number(struct bale_nodes *nodes, struct bale_node *node, int fd)
{
    uint64_t number = nodes->handles ? bale_handle_number(nodes->handles, node->ino) : 0;

    if (nodes->handles && !bale_node_numbered(nodes, node->ino, number) &&
        bale_handle_generation(nodes->handles, node->ino, fd, &node->generation)) {
        node->number = number;
        return true;
    }
    node->state |= BALE_NODE_IN_SLOT;
    node->generation = nodes->generation;
    return bale_node_number_take(nodes, node);
}

/* Whether the node may get another name than it has. A directory that was moved into one that is
 * still known below it must wait until that one is found at its new place. */
static bool may_take_name(const struct bale_nodes *nodes, const struct bale_node *node,
                          const struct bale_node *dir, const char *name)
{
    const struct bale_node *above = dir;

    if (node == nodes->root || bale_node_is_named(node, dir, name))
        return false;
    while (above && above != node)
        above = above->parent;
    return !above;
}

/* Finds or makes the node of an inode, which fd refers to, and adds the name to it. On success the
 * lock is held when it returns; else ENOMEM. *left: for bale_nodes_unlock. */
static int find_or_insert(struct bale_nodes *nodes, const struct stat *st, int64_t btime, int fd,
                          struct bale_node *dir, const char *name, struct bale_node **out,
                          struct bale_node **left)
{
    char *copy = name ? strdup(name) : NULL;
    struct bale_node *new_node = calloc(1, sizeof *new_node);

    if ((name && !copy) || !new_node) {
        free(copy);
        free(new_node);
        return ENOMEM;
    }
    btime = nodes->has_births ? btime : 0;
    *left = NULL;
    new_node->ino = st->st_ino;
    pthread_mutex_lock(&nodes->lock);
    struct bale_node *node = bale_node_at(nodes, st->st_ino);
    if (node &&
        (((node->mode ^ st->st_mode) & S_IFMT) || (node->btime && btime && node->btime != btime))) {
        /* Another program removed the file, and a new file has its inode number. */
        node->state |= BALE_NODE_DEAD;
        node = NULL;
    }
    if (!node && !take_number(nodes, new_node, fd)) {
        pthread_mutex_unlock(&nodes->lock);
        free(copy);
        free(new_node);
        return ENOMEM;
    }
    if (!node) {
        node = new_node;
        new_node = NULL;
        node->btime = btime;
        node->mode = st->st_mode;
        node->fd = -1;
        bale_node_insert(nodes, node);
    }
    if (!node->name && name && node != nodes->root) {
        bale_node_set_name(nodes, node, dir, copy);
        copy = NULL;
    } else if (nodes->beside && name && may_take_name(nodes, node, dir, name)) {
        *left = bale_node_set_name(nodes, node, dir, copy);
        copy = NULL;
    } else if (name && st->st_nlink > 1 && !S_ISDIR(st->st_mode) &&
               !bale_node_is_named(node, dir, name)) {
        bale_node_add_link(nodes, node, dir, name);
    }
    free(copy);
    free(new_node);
    *out = node;
    return 0;
}

/* Pins the node, which found refers to, and ends the locked section. Returns found, which the
 * caller closes, or -1: it is the node's now. */
static int pin_found(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *left,
                     int found, int *fd)
{
    if (node->fd < 0) {
        bale_node_adopt(nodes, node, found);
        found = -1;
    }
    bale_node_add_pin(nodes, node);
    *fd = node->fd;
    bale_nodes_unlock(nodes, left);
    return found;
}

int bale_node_lookup(struct bale_nodes *nodes, struct bale_node *dir, const char *name,
                     struct bale_node **node, int *fd, struct stat *st)
{
    int dir_fd;
    int err = bale_node_pin(nodes, dir, &dir_fd);

    if (err)
        return err;
    int found = -1;
    int64_t btime;
    struct bale_node *left;
    err = bale_node_open_at(nodes, dir_fd, name, &found);
    if (!err)
        err = bale_stat_fd(found, st, &btime);
    if (err == ENOENT && found >= 0) /* another machine has removed what the name led to */
        err = ESTALE;
    if (!err && st->st_dev != nodes->device)
        err = EXDEV;
    if (!err)
        err = find_or_insert(nodes, st, btime, found, dir, name, node, &left);
    if (!err)
        found = pin_found(nodes, *node, left, found, fd);
    if (found >= 0)
        close(found);
    bale_node_unpin(nodes, dir);
    return err;
}

int bale_node_listed(struct bale_nodes *nodes, struct bale_node *dir, const char *name,
                     uint64_t ino, int fd, struct bale_node **node, struct stat *st)
{
    int64_t btime;
    struct bale_node *left;
    int err = bale_stat_fd(fd, st, &btime);

    if (!err && (st->st_dev != nodes->device || st->st_ino != ino || !S_ISREG(st->st_mode) ||
                 st->st_nlink == 0))
        err = ESTALE;
    if (!err)
        err = find_or_insert(nodes, st, btime, fd, dir, name, node, &left);
    if (!err) {
        (*node)->refs++;
        bale_nodes_unlock(nodes, left);
    }
    return err;
}

/* Gets the node of what found refers to, whose name is not known, and which it closes. The node is
 * pinned. */
static int nameless(struct bale_nodes *nodes, int found, struct bale_node **node, int *fd,
                    struct stat *st)
{
    struct bale_node *left;
    int64_t btime;
    int err = bale_stat_fd(found, st, &btime);

    if (!err && st->st_dev != nodes->device)
        err = ESTALE;
    if (!err)
        err = find_or_insert(nodes, st, btime, found, NULL, NULL, node, &left);
    if (!err) {
        if (!(*node)->name && !((*node)->state & BALE_NODE_IN_SLOT))
            (*node)->state |= BALE_NODE_BY_NUMBER;
        found = pin_found(nodes, *node, left, found, fd);
    }
    if (found >= 0)
        close(found);
    return err;
}

int bale_node_by_number(struct bale_nodes *nodes, uint64_t number, struct bale_node **node, int *fd,
                        struct stat *st)
{
    int64_t btime;
    int found = -1;

    if (number <= 1)
        return ESTALE;
    *node = bale_node_ref_number(nodes, number);
    if (*node) {
        int err = bale_node_pin(nodes, *node, fd);
        if (!err && (err = bale_stat_fd(*fd, st, &btime)))
            bale_node_unpin(nodes, *node);
        bale_node_unref(nodes, *node);
        return err;
    }
    int err = nodes->handles ? bale_node_open_number(nodes, number, &found) : ESTALE;
    return err ? err : nameless(nodes, found, node, fd, st);
}

int bale_node_above(struct bale_nodes *nodes, struct bale_node *dir, struct bale_node **node,
                    int *fd, struct stat *st)
{
    int dir_fd;
    int err = bale_node_pin(nodes, dir, &dir_fd);

    if (err)
        return err;
    int found;
    do {
        found = openat(dir_fd, dir == nodes->root ? "." : "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    } while (found < 0 && (errno == EMFILE || errno == ENFILE) && bale_nodes_evict(nodes));
    err = found < 0 ? errno : nameless(nodes, found, node, fd, st);
    bale_node_unpin(nodes, dir);
    return err;
}

int bale_node_add(struct bale_nodes *nodes, struct bale_node *dir, const char *name, int fd,
                  bool keep, struct bale_node **node, struct stat *st)
{
    int64_t btime;
    struct bale_node *left;
    int err = bale_stat_fd(fd, st, &btime);

    if (!err)
        err = find_or_insert(nodes, st, btime, fd, dir, name, node, &left);
    if (!err) {
        (*node)->refs++;
        if (keep && (*node)->fd < 0) {
            bale_node_adopt(nodes, *node, fd);
            keep = false;
        }
        bale_nodes_unlock(nodes, left);
    }
    if (keep)
        close(fd);
    return err;
}
