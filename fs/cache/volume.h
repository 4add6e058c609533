/* A volume at work: memory, engine, threads, and all files that are open or dirty. It knows neither
 * FUSE nor names; it gets files as descriptors. Any thread. */
#ifndef BALE_FS_CACHE_VOLUME_H
#define BALE_FS_CACHE_VOLUME_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/base/memory.h"
#include "fs/base/pool.h"
#include "fs/container/container.h"
#include "kernels/engine/dispatch.h"

struct bale_volume;

/* Files that lost data which could not be stored when they were closed, and that still exist. */
struct bale_volume_lost {
    size_t count;
    char name[256]; /* one of them; empty: none has a name here */
};

struct bale_volume_options {
    uint64_t memory;  /* cap, bytes; 0: bale_memory_default_cap() */
    unsigned threads; /* engine threads; 0: bale_cpus() */
    /* The caller sets choice, gpu, untrusted_store, untrusted_input and plugin; the volume the
     * rest. */
    struct bale_dispatch_options engine;
    unsigned age_ms; /* dirty data older than this is committed; 0: 4000 */
    /* An extent that is read or stored whole leaves the cache, as the caller has a cache of its
     * own. */
    bool caller_caches;
    struct bale_container_config container;
    int reserve_fd; /* .balefs/reserve, open for writing, or -1; the caller's */
    /* The callbacks below may be NULL. They are called on a pool thread, no lock held. arg is the
     * caller's and outlives the volume. checkpoint: makes all roots written so far durable, and
     * ends the session that they name, so that containers keep these roots (bale_store_checkpoint).
     * Called every 30 s if there were commits, and for a sync. sync: makes everything durable
     * without that, where no checkpoint is possible. tainted: a sync failed. */
    int (*checkpoint)(void *arg);
    int (*sync)(void *arg);
    void (*tainted)(void *arg);
    void *arg;
    /* The backing file system cannot be synced as a whole. The volume then calls neither checkpoint
     * nor sync. It calls checkpoint_begin, which begins a session; syncs every open file; calls
     * sync_closed, which syncs all other changes (closed files, directories, attributes); and calls
     * checkpoint_end. closed_arg is the caller's too. If sync_closed is NULL, the caller syncs
     * these changes, and there are no checkpoints. */
    bool sync_each;
    int (*checkpoint_begin)(void *arg, uint32_t *session);
    int (*checkpoint_end)(void *arg, uint32_t session);
    int (*sync_closed)(void *closed_arg);
    void *closed_arg;
    /* bale_volume_destroy stores the figures here once everything is stored. May be NULL. */
    struct bale_volume_stats *last;
    struct bale_volume_lost *lost; /* likewise */
};

/* Starts the threads and sizes the reserve; options are copied, and what they point to must outlive
 * the volume. BALE_E_NOMEM. On failure *volume is not set. */
int bale_volume_create(const struct bale_volume_options *options, struct bale_volume **volume);

/* Opens the GPU engine in the background, as the options say; it gets the arena as its memory.
 * Called at most once. */
void bale_volume_open_gpu(struct bale_volume *volume);
/* Waits until it is open, or will not be opened, for `ms` at most. */
void bale_volume_wait_gpu(struct bale_volume *volume, unsigned ms);

/* Gives the GPU back as soon as it has nothing to do, until the next batch. */
void bale_volume_release_gpu(struct bale_volume *volume);

/* The volume's own, which live as long as it does. */
struct bale_memory *bale_volume_memory(struct bale_volume *volume);
struct bale_pool *bale_volume_pool(struct bale_volume *volume);
const struct bale_container_config *bale_volume_container_config(const struct bale_volume *volume);

/* Commits all dirty files; durable: also syncs them. done is called once with the first error: on a
 * pool thread, no lock held; without memory before this returns. arg is the caller's. */
void bale_volume_sync(struct bale_volume *volume, bool durable, void (*done)(void *arg, int err),
                      void *arg);

/* freeze: defers every change until thaw, and commits and syncs all; done as above. */
void bale_volume_freeze(struct bale_volume *volume, void (*done)(void *arg, int err), void *arg);
/* Lets changes and writes go on, those that were deferred first. Nothing happens if it is not
 * frozen. */
void bale_volume_thaw(struct bale_volume *volume);

struct bale_volume_stats {
    uint64_t memory_cap, memory_used;
    uint64_t cached, dirty, dirty_limit; /* bytes; the limit as it is now */
    uint64_t files;                      /* open or dirty */
    uint64_t read_hits, read_misses;     /* extents */
    uint64_t commits, syncs, items, errors;
    uint64_t read, written;           /* bytes, as reads and writes came */
    uint64_t raw_bytes, stored_bytes; /* through the encoder */
    uint64_t throttled;               /* writes that had to wait */
    uint64_t waiting;                 /* writes that wait now: for memory, or for the thaw */
    uint64_t reserve;                 /* bytes of the backing store set aside for dirty data */
    struct bale_dispatch_stats engine;
};
/* The figures now. They are read one after the other, so they may not belong to one moment. */
void bale_volume_stats(struct bale_volume *volume, struct bale_volume_stats *stats);

/* Of `available` bytes, which the backing store has for users other than root, how many data that
 * does not compress can take: without the space that backs dirty data. */
uint64_t bale_volume_room(struct bale_volume *volume, uint64_t available);
/* The container with this inode number was removed for good, and gives its space back now or in a
 * moment: writes that find none wait for that. Any thread. */
void bale_volume_removed(struct bale_volume *volume, uint64_t inode);
/* Something has given blocks back to the backing store: writes that have found no space look again.
 * Looks at one atomic if there are none. Any thread. */
void bale_volume_tell_space(struct bale_volume *volume);
/* Adds to the figure errors: a request failed for lack of space, or of the backing file system. Any
 * thread. */
void bale_volume_count_error(struct bale_volume *volume);

/* Commits and syncs all, ends the threads, frees. The first error of the last sync comes back. */
int bale_volume_destroy(struct bale_volume *volume);

#endif
