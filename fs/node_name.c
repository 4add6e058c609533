#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/node.h"
#include "fs/node_internal.h"

void bale_nodes_rename_begin(struct bale_nodes *nodes)
{
    pthread_rwlock_wrlock(&nodes->moving);
}

void bale_nodes_rename_end(struct bale_nodes *nodes)
{
    pthread_rwlock_unlock(&nodes->moving);
}

void bale_node_renamed(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *from,
                       const char *from_name, struct bale_node *to, const char *to_name)
{
    struct bale_node *old = NULL;
    char *copy = strdup(to_name);
    pthread_mutex_lock(&nodes->lock);
    /* Without memory for the new name none is known, and the descriptor stays. */
    if (bale_node_is_named(node, from, from_name)) {
        old = bale_node_set_name(nodes, node, copy ? to : NULL, copy);
        copy = NULL;
    }
    bale_nodes_unlock(nodes, old);
    free(copy);
}

void bale_node_unnamed(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                       const char *name)
{
    struct bale_node *old = NULL;
    pthread_mutex_lock(&nodes->lock);
    if (bale_node_is_named(node, dir, name)) {
        old = bale_node_set_name(nodes, node, NULL, NULL);
    }
    bale_nodes_unlock(nodes, old);
}

void bale_node_named(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                     const char *name)
{
    struct bale_node *old = NULL;
    char *copy = strdup(name);
    pthread_mutex_lock(&nodes->lock);
    /* The newest name is the one that stays: who links often removes the old one. */
    if (copy) {
        old = bale_node_set_name(nodes, node, dir, copy);
    }
    bale_nodes_unlock(nodes, old);
}

void bale_node_dead(struct bale_nodes *nodes, struct bale_node *node)
{
    pthread_mutex_lock(&nodes->lock);
    node->state |= BALE_NODE_DEAD;
    pthread_mutex_unlock(&nodes->lock);
}

int bale_node_place(struct bale_nodes *nodes, struct bale_node *node, struct bale_node **dir,
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
        if (length + 1 > at) {
            break; /* its end says more than its beginning */
        }
        at -= length;
        memcpy(path + at, n->name, length);
        if (n->parent != nodes->root) {
            path[--at] = '/';
        }
    }
    pthread_mutex_unlock(&nodes->lock);
    if (path[at] == '\0') {
        path[--at] = '.';
    }
    memmove(path, path + at, size - at);
}
