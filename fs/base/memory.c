#include <stdlib.h>
#include <sys/mman.h>

#include "format/err.h"
#include "fs/base/memory_state.h"
#include "kernels/base/cond.h"
#include "kernels/base/lock.h"

#define PAGE ((size_t)BALE_FREE_BLOCKS_PAGE)
#define CAP_LEAST ((uint64_t)32 << 20)

static size_t round_to_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static uint8_t *map_arena(uint64_t room)
{
    void *arena = mmap(NULL, room, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (arena == MAP_FAILED)
        return NULL;
    /* Huge pages: they are pinned in a fraction of the time, and their first use costs less. Of one
     * that is given back in part the kernel takes that part when it needs memory. */
    (void)madvise(arena, room, MADV_HUGEPAGE);
    return arena;
}

int bale_memory_create(uint64_t cap, struct bale_memory **out)
{
    return bale_memory_create_growing(cap, cap, out);
}

int bale_memory_create_growing(uint64_t cap, uint64_t most, struct bale_memory **out)
{
    if (cap < CAP_LEAST)
        return BALE_E_INVALID;
    struct bale_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return BALE_E_NOMEM;
    cap = cap / PAGE * PAGE;
    memory->room = most > cap ? most / PAGE * PAGE : cap;
    memory->arena = map_arena(memory->room);
    if (!memory->arena && memory->room > cap) { /* a limit of address space */
        memory->room = cap;
        memory->arena = map_arena(cap);
    }
    if (!memory->arena) {
        free(memory);
        return BALE_E_NOMEM;
    }
    atomic_init(&memory->cap, cap);
    memory->free_blocks.limit = cap / 8;
    bale_short_lock_init(&memory->lock);
    pthread_mutex_init(&memory->room_lock, NULL);
    bale_cond_init(&memory->pinner_wake);
    memory->is_scarce = bale_memory_is_scarce;
    bale_free_map_init(&memory->free, 0, PAGE);
    bale_free_map_init(&memory->quarantined, memory->room + PAGE,
                       PAGE); /* no range touches the end of the map */
    *out = memory;
    return BALE_OK;
}

void bale_memory_destroy(struct bale_memory *memory)
{
    if (!memory)
        return;
    bale_memory_pin_end(memory);
    pthread_mutex_lock(&memory->lock);
    bool quarantine_active = memory->quarantine_active;
    pthread_mutex_unlock(&memory->lock);
    if (memory->pinner_left || quarantine_active)
        return;
    bale_free_map_clear(&memory->free);
    munmap(memory->arena + memory->pinned, memory->room - memory->pinned);
    pthread_cond_destroy(&memory->pinner_wake);
    pthread_mutex_destroy(&memory->room_lock);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

/* Without memory for the map the range stays unused, which does no other harm. */
static void add_to_map(void *arg, uint64_t position, uint64_t length)
{
    struct bale_memory *memory = arg;

    (void)bale_free_map_release(&memory->free, position, length);
}

/* Under the lock, like all functions up to bale_memory_free. */
static int free_range(void *arg, uint64_t position, uint64_t length)
{
    struct bale_memory *memory = arg;

    add_to_map(memory, position, length);
    memory->allocated -= length;
    return 0;
}

static bool allocate_from_map(struct bale_memory *memory, uint64_t length, uint64_t *position)
{
    if (bale_free_map_allocate(&memory->free, length, position) != BALE_OK)
        return false;
    if (*position + length > memory->cap) {
        add_to_map(memory, *position, length);
        return false;
    }
    return true;
}

/* Whether the arena is pinned for a device, but not this range. */
static bool is_unpinned(const struct bale_memory *memory, uint64_t position, uint64_t length)
{
    return memory->pin && position + length > memory->pinned;
}

/* If the map has no pinned range, drains the cache into it and tries again: blocks in the cache may
 * be pinned, or may join their neighbours to a range that is large enough. */
static bool find_block(struct bale_memory *memory, uint64_t length, uint64_t *position)
{
    if (bale_free_blocks_take(&memory->free_blocks, length, position))
        return true;
    bool found = allocate_from_map(memory, length, position);
    if (memory->free_blocks.bytes == 0 || (found && !is_unpinned(memory, *position, length)))
        return found;
    if (found)
        add_to_map(memory, *position, length);
    bale_free_blocks_drain(&memory->free_blocks, add_to_map, memory);
    return allocate_from_map(memory, length, position);
}

void *bale_memory_allocate(struct bale_memory *memory, size_t size)
{
    size_t length = round_to_pages(size);
    uint64_t position;
    void *block = NULL;

    pthread_mutex_lock(&memory->lock);
    if (length == 0 || memory->allocated + length > bale_memory_allowance(memory) ||
        !find_block(memory, length, &position))
        goto out;
    memory->allocated += length;
    memory->allocations++;
    if (position + length > memory->high) {
        memory->high = position + length;
        bale_memory_wake_pinner(memory);
    }
    block = memory->arena + position;
out:
    pthread_mutex_unlock(&memory->lock);
    return block;
}

void bale_memory_on_room(struct bale_memory *memory, void (*room)(void *arg), void *arg)
{
    pthread_mutex_lock(&memory->room_lock);
    memory->on_room = room;
    memory->on_room_arg = arg;
    pthread_mutex_unlock(&memory->room_lock);
}

void bale_memory_lack(struct bale_memory *memory)
{
    atomic_store(&memory->lacking, true);
}

/* Who lacks memory tries once more after lacking is set, under the lock that the caller has given
 * up: either that finds what is free now, or this sees lacking. */
void bale_memory_tell_room(struct bale_memory *memory)
{
    if (!atomic_load(&memory->lacking) || !atomic_exchange(&memory->lacking, false))
        return;
    pthread_mutex_lock(&memory->room_lock);
    if (memory->on_room)
        memory->on_room(memory->on_room_arg);
    pthread_mutex_unlock(&memory->room_lock);
}

void bale_memory_free(struct bale_memory *memory, void *block, size_t size)
{
    if (!block)
        return;
    uint64_t position = (uint64_t)((uint8_t *)block - memory->arena);
    size_t length = round_to_pages(size);
    pthread_mutex_lock(&memory->lock);
    if (!is_unpinned(memory, position, length) &&
        bale_free_blocks_put(&memory->free_blocks, position, length))
        memory->allocated -= length;
    else
        (void)free_range(memory, position, length);
    pthread_mutex_unlock(&memory->lock);
    bale_memory_tell_room(memory);
}

void bale_memory_quarantine(struct bale_memory *memory, void *block, size_t size)
{
    uint64_t position = (uint64_t)((uint8_t *)block - memory->arena);
    size_t length = round_to_pages(size);

    pthread_mutex_lock(&memory->lock);
    bool frees = !memory->quarantine_active;
    if (frees)
        (void)free_range(memory, position, length);
    else /* without memory for the map the block stays allocated */
        (void)bale_free_map_release(&memory->quarantined, position, length);
    pthread_mutex_unlock(&memory->lock);
    if (frees)
        bale_memory_tell_room(memory);
}

void bale_memory_set_quarantine(struct bale_memory *memory, bool active)
{
    pthread_mutex_lock(&memory->lock);
    memory->quarantine_active = active;
    if (!active) {
        (void)bale_free_map_each(&memory->quarantined, free_range, memory);
        bale_free_map_clear(&memory->quarantined);
    }
    pthread_mutex_unlock(&memory->lock);
    if (!active)
        bale_memory_tell_room(memory);
}

static int return_pages(void *arg, uint64_t position, uint64_t length)
{
    const struct bale_memory *memory = arg;

    madvise(memory->arena + position, length, MADV_DONTNEED);
    return 0;
}

/* Leaves pinned pages alone: the device would go on using the old ones. */
static int return_unpinned_pages(void *arg, uint64_t position, uint64_t length)
{
    const struct bale_memory *memory = arg;
    uint64_t end = position + length;
    uint64_t from = position > memory->pinned ? position : memory->pinned;

    return from < end ? return_pages(arg, from, end - from) : 0;
}

static void trim(struct bale_memory *memory,
                 int (*each)(void *arg, uint64_t position, uint64_t length))
{
    pthread_mutex_lock(&memory->lock);
    bale_free_blocks_drain(&memory->free_blocks, add_to_map, memory);
    uint64_t end = memory->free.end;
    (void)bale_free_map_each(&memory->free, each, memory);
    if (end < memory->cap)
        (void)each(memory, end, memory->cap - end);
    pthread_mutex_unlock(&memory->lock);
}

void bale_memory_trim(struct bale_memory *memory)
{
    trim(memory, return_unpinned_pages);
}

void bale_memory_trim_unpinned(struct bale_memory *memory)
{
    trim(memory, return_pages);
}

void bale_memory_grow(struct bale_memory *memory, uint64_t cap)
{
    cap = cap < memory->room ? cap / PAGE * PAGE : memory->room;
    pthread_mutex_lock(&memory->lock);
    if (cap > memory->cap) {
        memory->cap = cap;
        memory->free_blocks.limit = cap / 8;
        bale_memory_wake_pinner(memory);
        pthread_cond_signal(&memory->pinner_wake); /* more is to be pinned ahead, too */
    }
    pthread_mutex_unlock(&memory->lock);
    bale_memory_tell_room(memory);
}

void bale_memory_count(struct bale_memory *memory, int64_t bytes)
{
    pthread_mutex_lock(&memory->lock);
    memory->counted += bytes;
    pthread_mutex_unlock(&memory->lock);
    if (bytes < 0)
        bale_memory_tell_room(memory);
}

uint64_t bale_memory_cap(const struct bale_memory *memory)
{
    return atomic_load_explicit(&memory->cap, memory_order_relaxed);
}

uint64_t bale_memory_used(struct bale_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    uint64_t used = memory->allocated + (memory->counted > 0 ? (uint64_t)memory->counted : 0);
    pthread_mutex_unlock(&memory->lock);
    return used;
}
