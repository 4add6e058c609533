#include <errno.h>
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

/* Finds or makes the node of an inode and adds the name to it. On success the lock is held when it
 * returns; else ENOMEM. *left: for bale_nodes_unlock. */
static int find_or_insert(struct bale_nodes *nodes, const struct stat *st, int64_t btime,
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
    pthread_mutex_lock(&nodes->lock);
    struct bale_node *node = bale_node_at(nodes, st->st_ino);
    if (node &&
        (((node->mode ^ st->st_mode) & S_IFMT) || (node->btime && btime && node->btime != btime))) {
        /* Another program removed the file, and a new file has its inode number. */
        node->state |= BALE_NODE_DEAD;
        node = NULL;
    }
    if (!node && !bale_node_number_take(nodes, new_node)) {
        pthread_mutex_unlock(&nodes->lock);
        free(copy);
        free(new_node);
        return ENOMEM;
    }
    if (!node) {
        node = new_node;
        new_node = NULL;
        node->ino = st->st_ino;
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
    if (!err && st->st_dev != nodes->device)
        err = EXDEV;
    if (!err)
        err = find_or_insert(nodes, st, btime, dir, name, node, &left);
    if (!err) {
        if ((*node)->fd < 0) {
            bale_node_adopt(nodes, *node, found);
            found = -1;
        }
        bale_node_add_pin(nodes, *node);
        *fd = (*node)->fd;
        bale_nodes_unlock(nodes, left);
    }
    if (found >= 0)
        close(found);
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
        err = find_or_insert(nodes, st, btime, dir, name, node, &left);
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
