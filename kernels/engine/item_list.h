/* A list of items, linked by next: first in, first out. The owner locks. */
#ifndef BALE_KERNELS_ENGINE_ITEM_LIST_H
#define BALE_KERNELS_ENGINE_ITEM_LIST_H

#include "kernels/engine/engine.h"

/* All zeros: empty. */
struct bale_item_list {
    struct bale_item *first, *last;
};

static inline void bale_item_list_append(struct bale_item_list *items, struct bale_item *item)
{
    item->next = NULL;
    if (items->first)
        items->last->next = item;
    else
        items->first = item;
    items->last = item;
}

/* NULL: the list is empty. */
static inline struct bale_item *bale_item_list_pop(struct bale_item_list *items)
{
    struct bale_item *item = items->first;

    if (item) {
        items->first = item->next;
        item->next = NULL;
    }
    return item;
}

#endif
