#include "fs/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/err.h"

#define PAGE_LOG2 12
#define PAGE ((size_t)1 << PAGE_LOG2)
#define ORDERS 20 /* up to 2 GiB in one block */
#define CAP_LEAST ((uint64_t)32 << 20)

/* A free block's first page holds its links; state[] says where blocks begin. */
struct free_block {
    struct free_block *next;
    struct free_block *before;
};

enum { STATE_NONE = 0, STATE_FREE = 0x40, STATE_TOUCHED = 0x80, STATE_ORDER = 0x3f };

struct bale_memory {
    pthread_mutex_t lock;
    uint8_t *arena;
    size_t pages;
    uint64_t cap;
    uint64_t taken;  /* bytes of the arena */
    int64_t counted; /* bytes elsewhere */
    struct free_block *free[ORDERS];
    uint8_t state[]; /* by page: STATE_FREE | order (| STATE_TOUCHED) at a free block's first page */
};

static size_t page_of(const struct bale_memory *memory, const void *block)
{
    return (size_t)((const uint8_t *)block - memory->arena) >> PAGE_LOG2;
}

static struct free_block *block_at(struct bale_memory *memory, size_t page)
{
    return (struct free_block *)(void *)(memory->arena + (page << PAGE_LOG2));
}

static void link_block(struct bale_memory *memory, size_t page, unsigned order, bool touched)
{
    struct free_block *block = block_at(memory, page);
    block->before = NULL;
    block->next = memory->free[order];
    if (block->next) {
        block->next->before = block;
    }
    memory->free[order] = block;
    memory->state[page] = (uint8_t)(STATE_FREE | order | (touched ? STATE_TOUCHED : 0));
}

static void unlink_block(struct bale_memory *memory, size_t page, unsigned order)
{
    struct free_block *block = block_at(memory, page);
    if (block->before) {
        block->before->next = block->next;
    } else {
        memory->free[order] = block->next;
    }
    if (block->next) {
        block->next->before = block->before;
    }
    memory->state[page] = STATE_NONE;
}

static void free_one(struct bale_memory *memory, size_t page, unsigned order, bool touched)
{
    while (order + 1 < ORDERS) {
        size_t buddy = page ^ ((size_t)1 << order);
        if (buddy + ((size_t)1 << order) > memory->pages ||
            (memory->state[buddy] & ~STATE_TOUCHED) != (STATE_FREE | order)) {
            break;
        }
        touched = touched || (memory->state[buddy] & STATE_TOUCHED);
        unlink_block(memory, buddy, order);
        page = page < buddy ? page : buddy;
        order++;
    }
    link_block(memory, page, order, touched);
}

/* Any run of pages, as aligned powers of two. */
static void free_run(struct bale_memory *memory, size_t page, size_t count, bool touched)
{
    while (count > 0) {
        unsigned order = 0;
        while (order + 1 < ORDERS && !(page & ((size_t)1 << order)) &&
               ((size_t)2 << order) <= count) {
            order++;
        }
        free_one(memory, page, order, touched);
        page += (size_t)1 << order;
        count -= (size_t)1 << order;
    }
}

static size_t pages_for(size_t size)
{
    return (size + PAGE - 1) >> PAGE_LOG2;
}

int bale_memory_create(uint64_t cap, struct bale_memory **out)
{
    if (cap < CAP_LEAST) {
        return BALE_E_INVALID;
    }
    size_t pages = (size_t)(cap >> PAGE_LOG2);
    struct bale_memory *memory = calloc(1, sizeof *memory + pages);
    if (!memory) {
        return BALE_E_NOMEM;
    }
    memory->arena = mmap(NULL, pages << PAGE_LOG2, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory->arena == MAP_FAILED) {
        free(memory);
        return BALE_E_NOMEM;
    }
    pthread_mutex_init(&memory->lock, NULL);
    memory->pages = pages;
    memory->cap = cap;
    free_run(memory, 0, pages, false);
    *out = memory;
    return BALE_OK;
}

void bale_memory_destroy(struct bale_memory *memory)
{
    if (!memory) {
        return;
    }
    munmap(memory->arena, memory->pages << PAGE_LOG2);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

/* What is counted elsewhere never starves the arena altogether. */
static uint64_t allowance(const struct bale_memory *memory)
{
    uint64_t counted = memory->counted > 0 ? (uint64_t)memory->counted : 0;
    uint64_t least = memory->cap / 4;
    return counted > memory->cap - least ? least : memory->cap - counted;
}

void *bale_memory_take(struct bale_memory *memory, size_t size)
{
    size_t pages = pages_for(size);
    void *block = NULL;
    pthread_mutex_lock(&memory->lock);
    if (pages == 0 || memory->taken + (pages << PAGE_LOG2) > allowance(memory)) {
        goto out;
    }
    unsigned order = 0;
    while (order < ORDERS && (((size_t)1 << order) < pages || !memory->free[order])) {
        order++;
    }
    if (order == ORDERS) {
        goto out;
    }
    size_t page = page_of(memory, memory->free[order]);
    bool touched = memory->state[page] & STATE_TOUCHED;
    unlink_block(memory, page, order);
    free_run(memory, page + pages, ((size_t)1 << order) - pages, touched);
    memory->taken += pages << PAGE_LOG2;
    block = memory->arena + (page << PAGE_LOG2);
out:
    pthread_mutex_unlock(&memory->lock);
    return block;
}

void bale_memory_give(struct bale_memory *memory, void *block, size_t size)
{
    if (!block) {
        return;
    }
    pthread_mutex_lock(&memory->lock);
    free_run(memory, page_of(memory, block), pages_for(size), true);
    memory->taken -= pages_for(size) << PAGE_LOG2;
    pthread_mutex_unlock(&memory->lock);
}

void bale_memory_trim(struct bale_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    for (unsigned order = 4; order < ORDERS; order++) {
        for (struct free_block *b = memory->free[order]; b; b = b->next) {
            size_t page = page_of(memory, b);
            if (memory->state[page] & STATE_TOUCHED) {
                /* The first page holds the links and stays. */
                madvise((uint8_t *)b + PAGE, (((size_t)1 << order) - 1) << PAGE_LOG2,
                        MADV_DONTNEED);
                memory->state[page] &= (uint8_t)~STATE_TOUCHED;
            }
        }
    }
    pthread_mutex_unlock(&memory->lock);
}

void bale_memory_count(struct bale_memory *memory, int64_t bytes)
{
    pthread_mutex_lock(&memory->lock);
    memory->counted += bytes;
    pthread_mutex_unlock(&memory->lock);
}

uint64_t bale_memory_cap(const struct bale_memory *memory)
{
    return memory->cap;
}

uint64_t bale_memory_used(struct bale_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    uint64_t used = memory->taken + (memory->counted > 0 ? (uint64_t)memory->counted : 0);
    pthread_mutex_unlock(&memory->lock);
    return used;
}

/* The least memory.max (v2) or limit_in_bytes (v1) on the way from our cgroup to the top. */
static uint64_t cgroup_limit(void)
{
    uint64_t least = UINT64_MAX;
    char line[4096];
    FILE *self = fopen("/proc/self/cgroup", "re");
    while (self && fgets(line, sizeof line, self)) {
        line[strcspn(line, "\n")] = '\0';
        bool v2 = strncmp(line, "0::", 3) == 0;
        char *group = v2 ? line + 3 : strstr(line, ":memory:");
        if (!group) {
            continue;
        }
        group += v2 ? 0 : strlen(":memory:");
        for (;;) {
            char path[4400];
            snprintf(path, sizeof path, v2 ? "/sys/fs/cgroup%s/memory.max" :
                     "/sys/fs/cgroup/memory%s/memory.limit_in_bytes", group);
            FILE *file = fopen(path, "re");
            unsigned long long value;
            if (file && fscanf(file, "%llu", &value) == 1 && value < least) {
                least = value;
            }
            if (file) {
                fclose(file);
            }
            char *slash = strrchr(group, '/');
            if (!slash || group[0] == '\0') {
                break;
            }
            *slash = '\0';
        }
    }
    if (self) {
        fclose(self);
    }
    return least;
}

uint64_t bale_memory_default_cap(void)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = cgroup_limit();
    uint64_t cap = (limit < machine ? limit : machine) / 16;
    cap = cap > (uint64_t)1 << 30 ? (uint64_t)1 << 30 : cap;
    return cap < (uint64_t)64 << 20 ? (uint64_t)64 << 20 : cap;
}
