#include "fs/inode/node.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/inode/internal.h"

#define EVICT_AT_ONCE 64

static size_t bucket_of(const struct bale_nodes *nodes, uint64_t ino)
{
    return (size_t)(ino * 0x9e3779b97f4a7c15u >> 20) & (nodes->buckets - 1);
}

static void resize(struct bale_nodes *nodes, size_t buckets)
{
    struct bale_node **table = calloc(buckets, sizeof(struct bale_node *));

    if (!table)
        return; /* the chains are longer then */
    struct bale_node **old = nodes->table;
    size_t old_buckets = nodes->buckets;
    nodes->table = table;
    nodes->buckets = buckets;
    for (size_t i = 0; i < old_buckets; i++) {
        struct bale_node *node = old[i];
        while (node) {
            struct bale_node *next = node->hash_next;
            size_t at = bucket_of(nodes, node->ino);
            node->hash_next = table[at];
            table[at] = node;
            node = next;
        }
    }
    free(old);
    bale_node_count_memory(nodes, (int64_t)((buckets - old_buckets) * sizeof(struct bale_node *)));
}

struct bale_node *bale_node_at(struct bale_nodes *nodes, uint64_t ino)
{
    struct bale_node *node = nodes->table[bucket_of(nodes, ino)];

    while (node && (node->ino != ino || node->state & BALE_NODE_DEAD))
        node = node->hash_next;
    return node;
}

struct bale_node *bale_node_numbered(struct bale_nodes *nodes, uint64_t ino, uint64_t number)
{
    struct bale_node *node = nodes->table[bucket_of(nodes, ino)];

    while (node && (node->ino != ino || node->number != number))
        node = node->hash_next;
    return node;
}

void bale_node_insert(struct bale_nodes *nodes, struct bale_node *node)
{
    nodes->count++;
    bale_node_count_memory(nodes, (int64_t)(sizeof *node + BALE_MALLOC_OVERHEAD));
    if (nodes->count > nodes->buckets)
        resize(nodes, nodes->buckets * 2);
    size_t at = bucket_of(nodes, node->ino);
    node->hash_next = nodes->table[at];
    nodes->table[at] = node;
}

static void unhash(struct bale_nodes *nodes, struct bale_node *node)
{
    struct bale_node **at = &nodes->table[bucket_of(nodes, node->ino)];

    while (*at != node)
        at = &(*at)->hash_next;
    *at = node->hash_next;
}

/* ---- Descriptors ---- */

static void lru_remove(struct bale_nodes *nodes, struct bale_node *node)
{
    if (!(node->state & BALE_NODE_ON_LRU))
        return;
    *(node->lru_before ? &node->lru_before->lru_next : &nodes->lru_first) = node->lru_next;
    *(node->lru_next ? &node->lru_next->lru_before : &nodes->lru_last) = node->lru_before;
    node->state &= ~(uint32_t)BALE_NODE_ON_LRU;
}

static bool can_be_opened(const struct bale_node *node)
{
    return node->name ? !(node->state & BALE_NODE_UNVERIFIED) : node->state & BALE_NODE_BY_NUMBER;
}

/* Puts the node on the list if its descriptor is idle and can be opened again, else takes it
 * off. */
static void lru_update(struct bale_nodes *nodes, struct bale_node *node)
{
    lru_remove(nodes, node);
    if (node->fd < 0 || node->pins > 0 || !can_be_opened(node))
        return;
    node->lru_before = NULL;
    node->lru_next = nodes->lru_first;
    *(node->lru_next ? &node->lru_next->lru_before : &nodes->lru_last) = node;
    nodes->lru_first = node;
    node->state |= BALE_NODE_ON_LRU;
}

void bale_node_add_pin(struct bale_nodes *nodes, struct bale_node *node)
{
    node->pins++;
    lru_remove(nodes, node);
}

void bale_node_adopt(struct bale_nodes *nodes, struct bale_node *node, int fd)
{
    node->fd = fd;
    nodes->descriptors++;
    lru_update(nodes, node);
}

/* Takes up to room idle descriptors from their nodes, as long as there are more than keep. */
static int evict(struct bale_nodes *nodes, unsigned keep, int *fds, int room)
{
    int count = 0;

    while (count < room && nodes->descriptors > keep && nodes->lru_last) {
        struct bale_node *node = nodes->lru_last;
        lru_remove(nodes, node);
        fds[count++] = node->fd;
        node->fd = -1;
        nodes->descriptors--;
    }
    return count;
}

bool bale_nodes_evict(struct bale_nodes *nodes)
{
    int fds[EVICT_AT_ONCE];

    pthread_mutex_lock(&nodes->lock);
    int count = evict(nodes, 0, fds, EVICT_AT_ONCE);
    pthread_mutex_unlock(&nodes->lock);
    for (int i = 0; i < count; i++)
        close(fds[i]);
    return count > 0 || (nodes->full && nodes->full(nodes->full_arg));
}

void bale_nodes_on_full(struct bale_nodes *nodes, bool (*full)(void *arg), void *arg)
{
    nodes->full = full;
    nodes->full_arg = arg;
}

void bale_nodes_on_gone(struct bale_nodes *nodes, void (*gone)(void *arg), void *arg)
{
    nodes->gone = gone;
    nodes->gone_arg = arg;
}

void bale_nodes_outlive_volume(struct bale_nodes *nodes)
{
    if (!nodes)
        return;
    nodes->memory = NULL;
    nodes->gone = NULL;
}

void bale_nodes_set_beside(struct bale_nodes *nodes)
{
    nodes->beside = true;
}

/* ---- Lifetime ---- */

static int64_t name_bytes(const char *name)
{
    return name ? (int64_t)(strlen(name) + 1 + BALE_MALLOC_OVERHEAD) : 0;
}

struct bale_node *bale_node_set_name(struct bale_nodes *nodes, struct bale_node *node,
                                     struct bale_node *dir, char *name)
{
    struct bale_node *old = node->parent;

    bale_node_count_memory(nodes, name_bytes(name) - name_bytes(node->name));
    free(node->name);
    node->name = name;
    node->parent = dir;
    if (dir)
        dir->refs++;
    if (old)
        old->refs--;
    lru_update(nodes, node);
    return old;
}

bool bale_node_is_named(const struct bale_node *node, const struct bale_node *dir, const char *name)
{
    return node->name && node->parent == dir && strcmp(node->name, name) == 0;
}

/* Removes unused nodes from the table, from node upwards. Returns them, chained by hash_next,
 * followed by dead. */
static struct bale_node *reap(struct bale_nodes *nodes, struct bale_node *node,
                              struct bale_node *dead)
{
    while (node && node != nodes->root && !node->lookups && !node->refs && !node->pins) {
        struct bale_node *parent = node->parent;
        unhash(nodes, node);
        if (node->state & BALE_NODE_IN_SLOT)
            bale_node_number_give_up(nodes, node);
        lru_remove(nodes, node);
        nodes->descriptors -= node->fd >= 0;
        nodes->count--;
        node->hash_next = dead;
        dead = node;
        for (struct bale_node_link *link = node->links; link; link = link->next) {
            link->dir->refs--;
            dead =
                reap(nodes, link->dir, dead); /* recursion ends there: directories have no links */
        }
        /* Only now, so that each node is checked once, after its last reference is gone. */
        if (parent)
            parent->refs--;
        node = parent;
    }
    return dead;
}

void bale_node_free(struct bale_nodes *nodes, struct bale_node *node)
{
    if (node->fd >= 0)
        close(node->fd);
    bale_node_count_memory(nodes, -(int64_t)(sizeof *node + BALE_MALLOC_OVERHEAD) -
                                      name_bytes(node->name));
    bale_node_free_links(nodes, node);
    free(node->name);
    free(node);
}

void bale_nodes_unlock(struct bale_nodes *nodes, struct bale_node *node)
{
    int fds[EVICT_AT_ONCE];
    struct bale_node *dead = reap(nodes, node, NULL);
    int count = evict(nodes, nodes->budget, fds, EVICT_AT_ONCE);

    pthread_mutex_unlock(&nodes->lock);
    for (int i = 0; i < count; i++)
        close(fds[i]);
    bool gone = false;
    while (dead) {
        struct bale_node *next = dead->hash_next;
        gone |= dead->fd >= 0 && (dead->state & BALE_NODE_DEAD);
        bale_node_free(nodes, dead);
        dead = next;
    }
    if (gone && nodes->gone)
        nodes->gone(nodes->gone_arg);
}

void bale_node_ref(struct bale_nodes *nodes, struct bale_node *node)
{
    pthread_mutex_lock(&nodes->lock);
    node->refs++;
    pthread_mutex_unlock(&nodes->lock);
}

void bale_node_unref(struct bale_nodes *nodes, struct bale_node *node)
{
    if (!node)
        return;
    pthread_mutex_lock(&nodes->lock);
    node->refs--;
    bale_nodes_unlock(nodes, node);
}

void bale_node_remember(struct bale_nodes *nodes, struct bale_node *node)
{
    pthread_mutex_lock(&nodes->lock);
    node->lookups++;
    pthread_mutex_unlock(&nodes->lock);
}

void bale_node_forget(struct bale_nodes *nodes, struct bale_node *node, uint64_t lookups)
{
    pthread_mutex_lock(&nodes->lock);
    node->lookups -= lookups < node->lookups ? lookups : node->lookups;
    bale_nodes_unlock(nodes, node);
}

void bale_node_unpin(struct bale_nodes *nodes, struct bale_node *node)
{
    pthread_mutex_lock(&nodes->lock);
    node->pins--;
    lru_update(nodes, node);
    bale_nodes_unlock(nodes, node);
}

struct bale_node *bale_nodes_root(struct bale_nodes *nodes)
{
    return nodes->root;
}

uint64_t bale_nodes_count(struct bale_nodes *nodes)
{
    pthread_mutex_lock(&nodes->lock);
    uint64_t count = nodes->count;
    pthread_mutex_unlock(&nodes->lock);
    return count;
}
