/* The numbers by which the kernel knows nodes where they are not those of handle.c. They are no
 * addresses, because the kernel shows them to any user (name_to_handle_at). */
#include <stdlib.h>

#include "fs/inode/internal.h"

#define FIRST_BLOCK                                                                                \
    1024u /* slots of the first block; each block has twice as many as the one before */
#define FIRST_NUMBER 2u /* 1 is the kernel's number of the mount's root */

/* A number is the slot's generation, and its index plus FIRST_NUMBER. */
struct bale_node_slot {
    _Atomic(struct bale_node *) node; /* NULL: the slot is free */
    _Atomic uint32_t generation;      /* how often it was given up */
    uint32_t next_free;               /* index plus 1 of the next free slot, or 0 */
};

static size_t block_size(unsigned block)
{
    return (size_t)FIRST_BLOCK << block;
}

/* NULL: there is no such slot. */
static struct bale_node_slot *slot_at(struct bale_node_numbers *numbers, uint32_t index)
{
    uint64_t from_one = (uint64_t)index / FIRST_BLOCK + 1;
    unsigned block = 63u - (unsigned)__builtin_clzll(from_one);
    size_t first = (size_t)FIRST_BLOCK * ((1u << block) - 1);

    if (block >= BALE_NODE_BLOCKS)
        return NULL;
    struct bale_node_slot *slots =
        atomic_load_explicit(&numbers->blocks[block], memory_order_acquire);
    return slots ? &slots[index - first] : NULL;
}

/* Adds a block of free slots. */
static bool grow(struct bale_nodes *nodes)
{
    struct bale_node_numbers *numbers = &nodes->numbers;
    unsigned block = numbers->count;
    size_t size = block < BALE_NODE_BLOCKS ? block_size(block) : 0;
    struct bale_node_slot *slots = size ? calloc(size, sizeof *slots) : NULL;
    uint32_t first = (uint32_t)(FIRST_BLOCK * ((1u << block) - 1));

    if (!slots)
        return false;
    for (size_t i = 0; i < size; i++)
        slots[i].next_free = i + 1 < size ? first + (uint32_t)i + 2 : numbers->free;
    atomic_store_explicit(&numbers->blocks[block], slots, memory_order_release);
    numbers->count++;
    numbers->free = first + 1;
    bale_node_count_memory(nodes, (int64_t)(size * sizeof *slots));
    return true;
}

bool bale_node_number_take(struct bale_nodes *nodes, struct bale_node *node)
{
    struct bale_node_numbers *numbers = &nodes->numbers;

    if (!numbers->free && !grow(nodes))
        return false;
    uint32_t index = numbers->free - 1;
    struct bale_node_slot *slot = slot_at(numbers, index);
    numbers->free = slot->next_free;
    node->number = (uint64_t)atomic_load(&slot->generation) << 32 | (index + FIRST_NUMBER);
    atomic_store(&slot->node, node);
    return true;
}

void bale_node_number_give_up(struct bale_nodes *nodes, struct bale_node *node)
{
    uint32_t index = (uint32_t)node->number - FIRST_NUMBER;
    struct bale_node_slot *slot = slot_at(&nodes->numbers, index);

    atomic_store(&slot->node, NULL);
    atomic_fetch_add(&slot->generation, 1);
    slot->next_free = nodes->numbers.free;
    nodes->numbers.free = index + 1;
}

struct bale_node *bale_node_in_slot(struct bale_nodes *nodes, uint64_t number)
{
    uint32_t low = (uint32_t)number;
    struct bale_node_slot *slot =
        low >= FIRST_NUMBER ? slot_at(&nodes->numbers, low - FIRST_NUMBER) : NULL;
    struct bale_node *node = slot ? atomic_load(&slot->node) : NULL;

    return node && atomic_load(&slot->generation) == number >> 32 ? node : NULL;
}

void bale_node_numbers_free(struct bale_node_numbers *numbers)
{
    for (unsigned block = 0; block < numbers->count; block++)
        free(atomic_load(&numbers->blocks[block]));
}
