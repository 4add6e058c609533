#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fs/inode/internal.h"
#include "fs/inode/node.h"

/* Removes the name, and replaces it by another one if the node has one. Returns as
 * bale_node_set_name. */
static struct bale_node *fall_back(struct bale_nodes *nodes, struct bale_node *node)
{
    struct bale_node_link *link = node->links;
    char *copy = link ? strdup(link->name) : NULL;

    if (!copy) {
        /* It may be gone from the file system as soon as nobody has it open. */
        node->state &= ~(uint32_t)(BALE_NODE_UNVERIFIED | BALE_NODE_BY_NUMBER);
        return bale_node_set_name(nodes, node, NULL, NULL);
    }
    node->state |= BALE_NODE_UNVERIFIED;
    struct bale_node *old = bale_node_set_name(nodes, node, link->dir, copy);
    link->dir->refs--; /* the first name has a reference now */
    node->links = link->next;
    bale_node_free_link(nodes, link);
    return old;
}

/* Whether the name is still that of the inode. */
static bool is_name_of(struct bale_nodes *nodes, struct bale_node *dir, const char *name,
                       uint64_t ino)
{
    struct stat st;
    int fd;
    bool there = false;

    if (bale_node_pin(nodes, dir, &fd) == 0) {
        there = fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == ino &&
                st.st_dev == nodes->device;
        bale_node_unpin(nodes, dir);
    }
    return there;
}

void bale_node_verify_name(struct bale_nodes *nodes, struct bale_node *node)
{
    pthread_mutex_lock(&nodes->lock);
    while (node->state & BALE_NODE_UNVERIFIED) {
        struct bale_node *dir = node->parent;
        char *name = strdup(node->name);
        dir->refs++;
        pthread_mutex_unlock(&nodes->lock);
        bool there = name && is_name_of(nodes, dir, name, node->ino);
        pthread_mutex_lock(&nodes->lock);
        if (node->state & BALE_NODE_UNVERIFIED && (!name || bale_node_is_named(node, dir, name))) {
            if (there)
                node->state &= ~(uint32_t)BALE_NODE_UNVERIFIED;
            else
                fall_back(nodes, node);
        }
        dir->refs--;
        bale_nodes_unlock(nodes, dir);
        free(name);
        pthread_mutex_lock(&nodes->lock);
    }
    pthread_mutex_unlock(&nodes->lock);
}

/* ---- Reports of changes ---- */

void bale_nodes_rename_begin(struct bale_nodes *nodes)
{
    pthread_mutex_lock(&nodes->lock);
    nodes->renaming++;
    pthread_mutex_unlock(&nodes->lock);
}

void bale_nodes_rename_end(struct bale_nodes *nodes)
{
    pthread_mutex_lock(&nodes->lock);
    nodes->renaming--;
    nodes->renamed++;
    pthread_cond_broadcast(&nodes->rename_ended);
    pthread_mutex_unlock(&nodes->lock);
}

void bale_node_renamed(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *from,
                       const char *from_name, struct bale_node *to, const char *to_name)
{
    struct bale_node *old = NULL;
    char *copy = strdup(to_name);

    pthread_mutex_lock(&nodes->lock);
    /* Without memory for the new name the node has none, and keeps its descriptor. */
    if (bale_node_is_named(node, from, from_name)) {
        old = bale_node_set_name(nodes, node, copy ? to : NULL, copy);
        copy = NULL;
    } else if (bale_node_remove_link(nodes, node, from, from_name)) {
        bale_node_add_link(nodes, node, to, to_name);
        old = from;
    }
    bale_nodes_unlock(nodes, old);
    free(copy);
}

void bale_node_unlinked(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                        const char *name)
{
    struct bale_node *old = NULL;

    pthread_mutex_lock(&nodes->lock);
    if (bale_node_is_named(node, dir, name))
        old = fall_back(nodes, node);
    else if (bale_node_remove_link(nodes, node, dir, name))
        old = dir;
    bale_nodes_unlock(nodes, old);
}

void bale_node_linked(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                      const char *name)
{
    struct bale_node *old = NULL;
    char *copy = strdup(name);

    pthread_mutex_lock(&nodes->lock);
    /* The newest name becomes the first: a link is often followed by removing the old name. */
    if (copy) {
        if (node->name && !bale_node_is_named(node, dir, name))
            bale_node_add_link(nodes, node, node->parent, node->name);
        old = bale_node_set_name(nodes, node, dir, copy);
    }
    bale_nodes_unlock(nodes, old);
}

void bale_node_mark_dead(struct bale_nodes *nodes, struct bale_node *node)
{
    pthread_mutex_lock(&nodes->lock);
    node->state |= BALE_NODE_DEAD;
    pthread_mutex_unlock(&nodes->lock);
}

int bale_node_check_copied(struct bale_nodes *nodes, struct bale_node *node, int fd)
{
    struct stat st;

    if (nodes->has_births || fstat(fd, &st) != 0 || st.st_ino == node->ino)
        return 0;
    bale_node_mark_dead(nodes, node);
    return ESTALE;
}

int bale_node_locate(struct bale_nodes *nodes, struct bale_node *node, struct bale_node **dir,
                     char **name)
{
    int err = ESTALE;

    pthread_mutex_lock(&nodes->lock);
    if (node->name) {
        *name = strdup(node->name);
        err = *name ? 0 : ENOMEM;
    }
    if (!err) {
        *dir = node->parent;
        (*dir)->refs++;
    }
    pthread_mutex_unlock(&nodes->lock);
    return err;
}

void bale_node_path(struct bale_nodes *nodes, struct bale_node *node, char *path, size_t size)
{
    size_t at = size - 1;

    path[at] = '\0';
    pthread_mutex_lock(&nodes->lock);
    if (node != nodes->root && !node->name) {
        static const char lost[] = "(unlinked)";
        at = size > sizeof lost ? size - sizeof lost : size - 1;
        memcpy(path + at, lost, size - at);
    }
    for (struct bale_node *n = node; n->name; n = n->parent) {
        size_t length = strlen(n->name);
        if (length + 1 > at)
            break; /* the end of a path says more than its beginning */
        at -= length;
        memcpy(path + at, n->name, length);
        if (n->parent != nodes->root)
            path[--at] = '/';
    }
    pthread_mutex_unlock(&nodes->lock);
    if (path[at] == '\0')
        path[--at] = '.';
    memmove(path, path + at, size - at);
}
