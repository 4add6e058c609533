/* The order in which writes that wait for memory go on. */
#ifndef BALE_FS_CACHE_PARKED_H
#define BALE_FS_CACHE_PARKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/base/pool.h"

/* A write that waits for memory or for thaw. The writer owns it again once job runs. */
struct bale_parked_write {
    /* run: set by the writer before bale_volume_park; goes on with the write, or ends it if
     * cancelled. Called on a pool thread, no lock held. */
    struct bale_job job;
    void *arg;     /* names the write for bale_volume_unpark */
    uint32_t user; /* who writes */
    /* Set by the caller's caller at any time, before bale_volume_unpark; or NULL. */
    const atomic_bool *cancel;
    bool cancelled; /* set before the job is submitted */
    bool
        for_space; /* waits for space of the backing store: the flusher can do nothing for it now */
    struct bale_parked_write *next;
};

/* Puts a list in the order in which its users take turns, each with the write that has waited
 * longest: so one user's thousand writes come after the first of everybody else. */
struct bale_parked_write *bale_parked_take_turns(struct bale_parked_write *writes);

#endif
