/* The arena's state, for memory.c and for what pins it, memory_pin.c. */
#ifndef BALE_FS_BASE_MEMORY_STATE_H
#define BALE_FS_BASE_MEMORY_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "fs/base/free_blocks.h"
#include "fs/base/free_map.h"
#include "fs/base/memory.h"

struct bale_memory {
    pthread_mutex_t lock; /* guards every member that changes, except where said */
    uint8_t *arena;
    uint64_t room;             /* bytes of the mapping; constant */
    atomic_uint_fast64_t cap;  /* read without the lock, too */
    uint64_t allocated;        /* bytes of the arena */
    int64_t counted;           /* bytes elsewhere */
    struct bale_free_map free; /* of the arena; lowest first, so that the top stays untouched */
    struct bale_free_blocks free_blocks; /* free, but not in the map */
    struct bale_free_map quarantined;    /* allocated, because a device may still write to it */
    bool quarantine_active;              /* a device may still write to quarantined memory */

    atomic_bool lacking;       /* no lock: somebody waits for room */
    pthread_mutex_t room_lock; /* guards the next two; held while on_room runs */
    void (*on_room)(void *arg);
    void *on_room_arg;

    /* Pinning. */
    uint64_t high;        /* end of what was ever allocated */
    uint64_t allocations; /* how often something was allocated */
    /* Bytes from the arena's start, including the step that is being pinned; read without the lock,
     * too. */
    atomic_uint_fast64_t pinned;
    atomic_bool pinning; /* a step is due; read without the lock, too */
    bool pin_all;
    bool (*is_scarce)(void); /* bale_memory_is_scarce; constant once the pinner has started */
    int (*pin)(void *arg, void *start, size_t size);
    void *pin_arg;
    pthread_t pinner;
    pthread_cond_t pinner_wake;
    bool pinner_started, pinner_ending;
    bool pinner_left; /* no lock: the thread hangs in pin and was left behind */
};

/* Under the lock. Bytes that the arena may give out. A quarter of the cap is always its own,
 * however much is counted elsewhere. */
static inline uint64_t bale_memory_allowance(const struct bale_memory *memory)
{
    uint64_t counted = memory->counted > 0 ? (uint64_t)memory->counted : 0;
    uint64_t least = memory->cap / 4;

    return counted > memory->cap - least ? least : memory->cap - counted;
}

/* memory_pin.c. Under the lock, after high or the cap has grown: a step may be due. What is pinned
 * ahead needs no wake after allocations, since the pinner waits until there are none. */
void bale_memory_wake_pinner(struct bale_memory *memory);

#endif
