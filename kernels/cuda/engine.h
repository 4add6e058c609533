/* The CUDA engine. Items wait in a queue for each codec and direction. Each slot of a device has a
 * thread, the worker, that takes items and does them as a batch. One more thread, the supervisor,
 * opens and closes the devices, gives up batches that take too long, and returns items that no
 * device does.
 *
 * Locks: pinning, then mutex. Calls go one way: plugin.c and measure.c call engine.c; that starts
 * supervisor.c and worker.c; these call devices.c, items.c, results.c and completion.c. The sources
 * below have no thread and do not know the engine: queue.c, pinned.c, and the device behind
 * device.h. */
#ifndef BALE_KERNELS_CUDA_ENGINE_H
#define BALE_KERNELS_CUDA_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "format/reason.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/pinned.h"
#include "kernels/cuda/queue.h"
#include "kernels/engine/gpu.h"

/* Queues by enum cuda_codec, plus CUDA_CODECS for decoding. */
enum { CUDA_QUEUES = 2 * CUDA_CODECS };
enum { CUDA_MISMATCHES_MAX = 3 }; /* after so many the CPU does the codec */

enum cuda_state {
    CUDA_CLOSED, /* nothing is allocated; the next item opens the devices */
    CUDA_OPENING,
    CUDA_OPEN,
    CUDA_KEPT, /* contexts are there, and pinned memory unless it was unpinned; slots are not */
    CUDA_HUNG, /* a batch was given up: no new ones, and closed when the device has come back */
    CUDA_CLOSING,
    CUDA_LOST, /* a device failed: never open again */
};

enum cuda_step {
    CUDA_IDLE,
    CUDA_PREPARING, /* the host reads the items; never given up */
    CUDA_READING,   /* the first step: the device only reads the items */
    CUDA_RESOLVING, /* the host evaluates the results; never given up */
    CUDA_WRITING,   /* the second step: the device writes the items */
    CUDA_GIVEN_UP,  /* the supervisor took the items; the device may still work on them */
};

/* An item of a batch and its cells in the batch. */
struct cuda_job {
    struct bale_item *item;
    uint32_t first;
    uint32_t count;
};

/* A worker and its batch. Only its thread uses it, except what the engine's mutex guards. */
struct cuda_worker {
    struct cuda_engine *engine;
    pthread_t thread;
    unsigned device;
    unsigned index;
    bool started;

    /* Guarded by the engine's mutex. */
    enum cuda_step step;
    uint64_t since_ns; /* when the step began: reading and writing may each take watchdog_ms */

    /* The batch. slot, jobs, table and hashes are there while the device is open; the supervisor
     * reads jobs when it gives up the batch. */
    struct bale_cuda_slot *slot;
    struct cuda_job *jobs; /* one for each cell at most */
    uint32_t job_count;
    uint32_t cell_count;
    uint32_t move_count;
    unsigned queue;
    struct bale_chunk *table; /* a frame's chunk table; room for all cells */
    uint8_t *hashes;          /* a frame's chunks' checksums; room for all cells */
};

struct cuda_engine {
    struct bale_engine base; /* what the users' handle points to */

    /* Set before the threads start, and then only read. */
    struct bale_gpu_options options;
    struct nvcomp nvcomp;
    bool has_nvcomp;
    unsigned device_count;
    struct bale_driver_device info[BALE_GPU_DEVICES];
    bool several_nodes; /* the devices are on several NUMA nodes */
    unsigned worker_count;
    pthread_t supervisor;
    bool supervisor_started;
    pthread_t pinner;
    bool pinner_started;

    struct cuda_pinned pinned; /* has a lock of its own */
    atomic_uint pins;          /* calls of pin, to spread ranges over the devices */

    pthread_mutex_t pinning; /* held while a thread pins, opens or closes; taken before mutex */
    /* Guarded by pinning; while the state is CUDA_OPEN only read. */
    struct bale_cuda_device *devices[BALE_GPU_DEVICES];
    uint64_t shares[BALE_GPU_DEVICES]; /* the most bytes of each, since it was opened */
    bool is_pinned; /* the ranges in pinned that may be used are registered with a context */

    pthread_mutex_t mutex;      /* guards the rest, except workers; atomics are read without it */
    pthread_cond_t worker_wake; /* for workers: items, a free workspace or a new state */
    pthread_cond_t supervisor_wake; /* for the supervisor */
    pthread_cond_t pinner_wake;     /* for the pinner: pins_left or stop is set */
    _Atomic(enum cuda_state) state;
    bool stop;
    bool open_wanted;               /* items came, or will, and no device is open */
    bool pins_left;                 /* ranges may be left to be pinned for the new context */
    bool close_wanted;              /* the contexts go once there is nothing to do */
    bool unpin_wanted;              /* pinned memory goes, if there is nothing to do in CUDA_KEPT */
    atomic_uint_fast64_t reopen_ns; /* opening failed, and is not tried again until then */
    bool lacks_memory;              /* it failed for that */
    uint64_t idle_ns;               /* when the last batch ended */
    struct cuda_queue queues[CUDA_QUEUES];
    struct bale_item *refused; /* items that go back with the status that they have */
    unsigned next_queue;       /* the queue that is served next */
    unsigned busy_workers;     /* workers with a batch */
    atomic_uint cells;         /* of the smallest slot when the devices were last open */
    unsigned workspaces;       /* batches that the device with the fewest computes at a time */
    atomic_bool available[CUDA_CODECS]; /* every device does the codec */
    unsigned mismatches[CUDA_CODECS];
    atomic_bool disabled[CUDA_CODECS];
    bool quarantine; /* a batch was given up while it wrote, and its device is not closed yet */
    struct bale_gpu_stats stats;

    struct cuda_worker workers[];
};

static inline struct cuda_engine *bale_cuda_engine(struct bale_engine *handle)
{
    return (struct cuda_engine *)handle;
}

/* Passes a line to the log of the program that opened the engine (bale_gpu_options.log). Any
 * thread. */
void bale_cuda_log(const struct cuda_engine *engine, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* items.c */

/* The queue of an item, or a negative bale_err if the engine does not do it. For a decode *head
 * is the frame's head. */
int bale_cuda_queue_of(const struct bale_item *item, struct bale_frame *head);
/* Whether the codec's device code does chunks of the size: only some do those of several cells. */
bool bale_cuda_fits_cells(uint8_t codec, uint8_t chunk_log2);
/* Makes the entries of a chunk's cells of the first one's, in which length and address are those of
 * the whole chunk. Returns how many they are. */
uint32_t bale_cuda_spread(struct cuda_chunk *cells, struct cuda_chunk chunk);
/* Cells that an item with this frame takes. */
uint32_t bale_cuda_cells(const struct bale_frame *frame);
/* The item's frame with the size of chunks that its setting takes. If the frame becomes store or
 * zero it has the size that was asked for, which is that of cells where the two differ. */
struct bale_frame bale_cuda_packed_frame(const struct bale_item *item);
/* Fills the slot's table of chunks from the jobs' items. */
void bale_cuda_prepare(struct cuda_worker *worker);

/* results.c */

/* Makes each item's status, the moves and the heads of frames from the results of the first
 * step. */
void bale_cuda_resolve(struct cuda_worker *worker);

/* measure.c: measure of kernels/engine/gpu.h. */
int bale_cuda_measure_all(const struct bale_gpu_options *options, struct bale_gpu_trial *trials,
                          size_t count, void (*tick)(void *argument, size_t trial), void *argument,
                          struct bale_reason *why);

/* process.c: operations of struct bale_gpu. */
int bale_cuda_process_memory_kind(struct bale_engine *handle, const void *memory,
                                  enum bale_memory_kind *where, int *device);
int bale_cuda_process_wait(struct bale_engine *handle, void *stream);
int bale_cuda_process_copy(struct bale_engine *handle, const struct bale_gpu_copy *copies,
                           size_t count);

/* engine.c */

/* Whether the devices reach the item's memory. With several devices none reads another's memory. */
bool bale_cuda_reaches(struct cuda_engine *engine, const struct bale_item *item);

/* open of kernels/engine/gpu.h. */
int bale_cuda_engine_open(const struct bale_gpu_options *options, struct bale_engine **handle,
                          struct bale_reason *why);
/* An engine without threads and open devices; NULL: no memory. */
struct cuda_engine *bale_cuda_engine_create(const struct bale_gpu_options *options);
/* Opens the driver and fills info of the engine's devices, without making anything on them:
 * BALE_OK, or a negative bale_err with why. */
int bale_cuda_find_devices(struct cuda_engine *engine, struct bale_reason *why);

/* worker.c: the thread of a slot; its argument is a struct cuda_worker. */
void *bale_cuda_worker_thread(void *worker);

/* supervisor.c: its argument is the struct cuda_engine. */
void *bale_cuda_supervisor_thread(void *argument);

/* pinner.c */

/* Pins the first range for new contexts, unless they have all that is pinned: BALE_OK, or a
 * negative bale_err with why. With pinning, as the next one. */
int bale_cuda_pin_first(struct cuda_engine *engine, struct bale_reason *why);
/* Unpins all ranges. */
void bale_cuda_unpin_all(struct cuda_engine *engine);
/* Notes in the stats how much is pinned. */
void bale_cuda_count_pinned(struct cuda_engine *engine);
/* The driver does nothing else while it registers memory, so afterwards batches in flight get as
 * much time. */
void bale_cuda_yield_to_batches(struct cuda_engine *engine, uint64_t ns);
/* Its argument is the struct cuda_engine. */
void *bale_cuda_pinner_thread(void *argument);

/* completion.c */

/* Calls done of all items of a list, whose statuses are set. Without the mutex. */
void bale_cuda_complete(struct bale_item *list);
/* Returns undone items: sets their status, unless it is BALE_OK, and calls their done. Without
 * the mutex. */
void bale_cuda_answer(struct cuda_engine *engine, struct bale_item *list, int status);
/* Returns items that no worker will take; false: there are none. Workers do so as well, because
 * the supervisor may be waiting for a driver that opens or closes a device, or hangs. With the
 * mutex, which it releases meanwhile. */
bool bale_cuda_answer_unwanted(struct cuda_engine *engine);
/* Sets whether a device may still write to items that were returned, and reports a change to the
 * options' quarantine. If a lost device may still write, the supervisor closes it. With the
 * mutex. */
void bale_cuda_set_quarantine(struct cuda_engine *engine, bool quarantine);
/* The items of a worker's batch, as a list. */
struct bale_item *bale_cuda_list_of(struct cuda_worker *worker);

/* devices.c */

/* Whether *share, the memory that the engine takes of the device, is free, besides what it has
 * there: BALE_OK, or BALE_E_NOMEM with why. No more is taken than is free, so that other programs
 * on the device lose nothing. With pinning, if there are threads. */
int bale_cuda_check_free(const struct cuda_engine *engine, unsigned device, uint64_t *share,
                         struct bale_reason *why);
/* Whether another program needs the memory that this one would take again. Calls the driver:
 * without the mutex. */
bool bale_cuda_is_pressed(struct cuda_engine *engine);
/* Opens all devices: BALE_OK, or a negative bale_err with why. opening has begin_ns and the phases
 * so far; complete it is the one of the engine's stats. */
int bale_cuda_open_devices(struct cuda_engine *engine, struct bale_gpu_timeline *opening,
                           struct bale_reason *why);
/* Frees the slots of all devices, and allocates them again: BALE_OK, or a negative bale_err with
 * why. Between the two only the contexts and the pinned memory are there. Without the mutex. */
void bale_cuda_free_slots(struct cuda_engine *engine);
int bale_cuda_allocate_slots(struct cuda_engine *engine, struct bale_gpu_timeline *opening,
                             struct bale_reason *why);
/* Closes all devices and ends the quarantine. NULL devices are fine. Without the mutex. */
void bale_cuda_close_devices(struct cuda_engine *engine);

#endif
