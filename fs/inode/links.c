/* The names of a node beside the first. */
#include <stdlib.h>
#include <string.h>

#include "fs/inode/internal.h"

static int64_t link_bytes(const struct bale_node_link *link)
{
    return (int64_t)(sizeof *link + strlen(link->name) + 1 + BALE_MALLOC_OVERHEAD);
}

void bale_node_add_link(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                        const char *name)
{
    struct bale_node_link **end = &node->links;
    size_t count = 0;

    while (*end) {
        if ((*end)->dir == dir && strcmp((*end)->name, name) == 0)
            return;
        count++;
        end = &(*end)->next;
    }
    size_t size = strlen(name) + 1;
    struct bale_node_link *link = count < BALE_NODE_LINKS ? malloc(sizeof *link + size) : NULL;
    if (link) { /* without memory the name stays unknown */
        link->dir = dir;
        link->next = NULL;
        memcpy(link->name, name, size);
        *end = link;
        dir->refs++;
        bale_node_count_memory(nodes, link_bytes(link));
    }
}

void bale_node_free_link(struct bale_nodes *nodes, struct bale_node_link *link)
{
    bale_node_count_memory(nodes, -link_bytes(link));
    free(link);
}

void bale_node_free_links(struct bale_nodes *nodes, struct bale_node *node)
{
    while (node->links) {
        struct bale_node_link *next = node->links->next;
        bale_node_free_link(nodes, node->links);
        node->links = next;
    }
}

bool bale_node_remove_link(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                           const char *name)
{
    struct bale_node_link **at = &node->links;

    while (*at && !((*at)->dir == dir && strcmp((*at)->name, name) == 0))
        at = &(*at)->next;
    struct bale_node_link *link = *at;
    if (link) {
        *at = link->next;
        dir->refs--;
        bale_node_free_link(nodes, link);
    }
    return link;
}
