/* A treap ordered by position. Every node knows the longest range below it, so that one descent
 * finds the first fit. */
#include "fs/base/free_map.h"

#include <assert.h>
#include <stdlib.h>

#include "format/err.h"
#include "format/limits.h"

struct bale_free_map_node {
    struct bale_free_map_node *left;
    struct bale_free_map_node *right;
    uint64_t position;
    uint64_t length;
    uint64_t longest; /* of this node and all below */
    uint32_t priority;
};

typedef struct bale_free_map_node node;

void bale_free_map_init(struct bale_free_map *map, uint64_t end, uint32_t align)
{
    *map = (struct bale_free_map){.end = end, .align = align, .priority = 0x9e3779b9};
}

static void destroy(node *tree)
{
    if (!tree)
        return;
    destroy(tree->left);
    destroy(tree->right);
    free(tree);
}

void bale_free_map_clear(struct bale_free_map *map)
{
    destroy(map->top);
    bale_free_map_init(map, map->end, map->align);
}

static uint64_t round_up(const struct bale_free_map *map, uint64_t length)
{
    return (length + map->align - 1) & ~(uint64_t)(map->align - 1);
}

static uint32_t next_priority(struct bale_free_map *map)
{
    map->priority ^= map->priority << 13;
    map->priority ^= map->priority >> 17;
    map->priority ^= map->priority << 5;
    return map->priority;
}

static uint64_t longest(const node *tree)
{
    return tree ? tree->longest : 0;
}

static void update(node *tree)
{
    uint64_t most = tree->length;

    if (longest(tree->left) > most)
        most = longest(tree->left);
    if (longest(tree->right) > most)
        most = longest(tree->right);
    tree->longest = most;
}

/* All of left lies below all of right. */
static node *join(node *left, node *right)
{
    if (!left || !right)
        return left ? left : right;
    if (left->priority > right->priority) {
        left->right = join(left->right, right);
        update(left);
        return left;
    }
    right->left = join(left, right->left);
    update(right);
    return right;
}

/* Splits a tree into the ranges that start below position and the others. */
static void split(node *tree, uint64_t position, node **below, node **rest)
{
    if (!tree) {
        *below = *rest = NULL;
    } else if (tree->position < position) {
        split(tree->right, position, &tree->right, rest);
        update(tree);
        *below = tree;
    } else {
        split(tree->left, position, below, &tree->left);
        update(tree);
        *rest = tree;
    }
}

static void insert(struct bale_free_map *map, node *range)
{
    node *below, *rest;

    range->left = range->right = NULL;
    range->priority = next_priority(map);
    update(range);
    split(map->top, range->position, &below, &rest);
    map->top = join(join(below, range), rest);
    map->count++;
    map->bytes += range->length;
}

/* Removes the node at position, which exists, from the tree. */
static node *erase(struct bale_free_map *map, uint64_t position)
{
    node *below, *range, *rest;

    split(map->top, position, &below, &rest);
    split(rest, position + 1, &range, &rest);
    assert(range);
    map->top = join(below, rest);
    map->count--;
    map->bytes -= range->length;
    return range;
}

/* Finds the last range that starts at or below position, and the first that starts above. */
static void neighbours(const struct bale_free_map *map, uint64_t position, node **before,
                       node **after)
{
    *before = *after = NULL;
    for (node *n = map->top; n;) {
        if (n->position <= position) {
            *before = n;
            n = n->right;
        } else {
            *after = n;
            n = n->left;
        }
    }
}

/* The lowest range of length bytes or more. The caller knows that the tree has one. */
static node *first_fit(node *tree, uint64_t length)
{
    for (;;)
        if (longest(tree->left) >= length)
            tree = tree->left;
        else if (tree->length >= length)
            return tree;
        else
            tree = tree->right;
}

int bale_free_map_allocate(struct bale_free_map *map, uint64_t length, uint64_t *position)
{
    node *range;

    length = round_up(map, length);
    if (longest(map->top) < length) {
        if (length > BALE_SIZE_MAX - map->end)
            return BALE_E_TOOBIG;
        *position = map->end;
        map->end += length;
        return BALE_OK;
    }
    range = erase(map, first_fit(map->top, length)->position);
    *position = range->position;
    range->position += length;
    range->length -= length;
    if (range->length > 0)
        insert(map, range);
    else
        free(range);
    return BALE_OK;
}

int bale_free_map_release(struct bale_free_map *map, uint64_t position, uint64_t length)
{
    uint64_t end = position + round_up(map, length);
    node *before, *after, *range = NULL;

    neighbours(map, position, &before, &after);
    if (end > map->end || (before && before->position + before->length > position) ||
        (after && after->position < end))
        return BALE_E_INVALID;
    if (before && before->position + before->length == position) {
        range = erase(map, before->position);
        position = range->position;
    }
    if (after && after->position == end) {
        free(range);
        range = erase(map, after->position);
        end += range->length;
    }
    if (end == map->end) {
        free(range);
        map->end = position;
        return BALE_OK;
    }
    if (!range)
        range = malloc(sizeof *range);
    if (!range)
        return BALE_E_NOMEM;
    range->position = position;
    range->length = end - position;
    insert(map, range);
    return BALE_OK;
}

int bale_free_map_allocate_at(struct bale_free_map *map, uint64_t position, uint64_t length)
{
    uint64_t end = position + round_up(map, length);
    node *before, *after, *tail = NULL;
    uint64_t before_end;

    neighbours(map, position, &before, &after);
    if (!before || before->position + before->length < end)
        return BALE_E_NOENT;
    before_end = before->position + before->length;
    if (before->position < position && before_end > end) {
        tail = malloc(sizeof *tail);
        if (!tail)
            return BALE_E_NOMEM;
    }
    before = erase(map, before->position);
    if (before_end > end) {
        if (!tail) {
            tail = before;
            before = NULL;
        }
        tail->position = end;
        tail->length = before_end - end;
        insert(map, tail);
    }
    if (before && before->position < position) {
        before->length = position - before->position;
        insert(map, before);
        before = NULL;
    }
    free(before);
    return BALE_OK;
}

static int each_below(const node *tree, int (*each)(void *, uint64_t, uint64_t), void *arg)
{
    int result = 0;

    if (!tree)
        return 0;
    result = each_below(tree->left, each, arg);
    if (result == 0)
        result = each(arg, tree->position, tree->length);
    return result != 0 ? result : each_below(tree->right, each, arg);
}

int bale_free_map_each(const struct bale_free_map *map,
                       int (*each)(void *arg, uint64_t position, uint64_t length), void *arg)
{
    return each_below(map->top, each, arg);
}

size_t bale_free_map_memory(const struct bale_free_map *map)
{
    return map->count * sizeof(node);
}
