/* Creating and destroying the table. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <time.h>

#include "fs/inode/internal.h"
#include "fs/inode/node.h"

#define BUCKETS_LEAST 1024u

/* overlayfs gives a file another time of birth when it is first written. */
static bool has_births(int fd)
{
    struct statfs st;

    return fstatfs(fd, &st) == 0 && (uint32_t)st.f_type != OVERLAYFS_SUPER_MAGIC;
}

int bale_nodes_create(int root_fd, struct bale_memory *memory, unsigned descriptors,
                      struct bale_nodes **out)
{
    int err = ENOMEM;
    struct stat st;
    struct bale_nodes *nodes = calloc(1, sizeof *nodes);

    if (!nodes)
        return err;
    pthread_mutex_init(&nodes->lock, NULL);
    pthread_cond_init(&nodes->rename_ended, NULL);
    nodes->memory = memory;
    nodes->budget = descriptors;
    nodes->has_births = has_births(root_fd);
    /* After a remount, a handle from before finds no other node. */
    if (getrandom(&nodes->generation, sizeof nodes->generation, 0) < 0)
        nodes->generation = (uint32_t)time(NULL);
    nodes->buckets = BUCKETS_LEAST;
    nodes->table = calloc(BUCKETS_LEAST, sizeof(struct bale_node *));
    if (!nodes->table)
        goto out;
    int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        err = errno;
        goto out;
    }
    err = bale_node_add(nodes, NULL, NULL, fd, true, &nodes->root, &st);
    nodes->device = err ? 0 : st.st_dev;
out:
    if (err) {
        bale_nodes_destroy(nodes);
        nodes = NULL;
    }
    *out = nodes;
    return err;
}

bool bale_nodes_use_handles(struct bale_nodes *nodes, const uint8_t key[BALE_HANDLE_KEY])
{
    return nodes->has_births && bale_handles_create(nodes->root->fd, key, &nodes->handles);
}

void bale_nodes_destroy(struct bale_nodes *nodes)
{
    if (!nodes)
        return;
    bale_nodes_outlive_volume(nodes);
    for (size_t i = 0; nodes->table && i < nodes->buckets; i++) {
        for (struct bale_node *node = nodes->table[i], *next; node; node = next) {
            next = node->hash_next;
            bale_node_free(nodes, node);
        }
    }
    bale_node_numbers_free(&nodes->numbers);
    bale_handles_destroy(nodes->handles);
    pthread_cond_destroy(&nodes->rename_ended);
    pthread_mutex_destroy(&nodes->lock);
    free(nodes->table);
    free(nodes);
}
