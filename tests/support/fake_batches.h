/* A fake GPU's batches: a thread does them with the CPU's codecs, one after another, and as much of
 * it wrong as BALE_FAKE_GPU says (tests/support/fake_words.h). */
#ifndef BALE_TESTS_SUPPORT_FAKE_BATCHES_H
#define BALE_TESTS_SUPPORT_FAKE_BATCHES_H

#include <pthread.h>

#include "kernels/engine/gpu.h"
#include "tests/support/fake_memory.h"
#include "tests/support/fake_quarantine.h"

struct fake_batch;

struct fake_batches {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct fake_batch *first, **end; /* those to do; guarded by lock, as are stop and stats */
    bool stop;
    bool unpinned; /* no memory is pinned until the device is open again; guarded by lock, too */
    struct bale_gpu_stats stats;
    struct bale_gpu_options options;
    /* The thread's. */
    const struct fake_memory *memory;
    struct bale_scratch *scratch;
    uint64_t items;
    unsigned of_kind[2]; /* batches that encode, and that decode */
    struct fake_quarantine late;
};

/* All else of it is zero. The fake's memory is open while there are batches. False: there is no
 * room for it. */
bool fake_batches_start(struct fake_batches *batches, const struct bale_gpu_options *options,
                        const struct fake_memory *memory);
/* Once all are done. */
void fake_batches_stop(struct fake_batches *batches);

/* The list is a batch. */
void fake_batches_add(struct fake_batches *batches, struct bale_item *list);

/* A range is pinned, which the timeline says of the first. */
void fake_batches_note_pinned(struct fake_batches *batches);

/* Whether the device is open, as stats say; a batch opens it. Memory is pinned while it is, and
 * while its context is kept until it is unpinned. */
void fake_batches_set_open(struct fake_batches *batches, bool open);
void fake_batches_unpin(struct fake_batches *batches);
bool fake_batches_are_unpinned(struct fake_batches *batches);

/* Whether an item is none for a batch, where it fails: a frame of codec zero is the host's, as with
 * CUDA. */
bool fake_batches_leave(const struct bale_item *item);

/* Counts so far. */
struct bale_gpu_stats fake_batches_stats(struct fake_batches *batches);

#endif
