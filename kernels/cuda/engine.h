/* The CUDA engine: items wait in queues of one codec and direction each, and the slots of the devices
 * take from them, a thread for each. A thread more, the supervisor, opens and closes the devices, looks
 * after batches that take too long, and answers items that no device does. */
#ifndef BALE_KERNELS_CUDA_ENGINE_H
#define BALE_KERNELS_CUDA_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "format/reason.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/pinned.h"
#include "kernels/cuda/queue.h"
#include "kernels/engine/gpu.h"

/* A queue's items: codec + CUDA_CODECS for decoding. */
enum { CUDA_QUEUES = 2 * CUDA_CODECS };
enum { CUDA_MISMATCHES_MAX = 3 }; /* then the codec is no longer ours */

enum cuda_state {
    CUDA_CLOSED, /* nothing is held; the next batch opens it */
    CUDA_OPENING,
    CUDA_OPEN,
    CUDA_HUNG, /* a batch was given up: nothing new, and closed when the device has come back */
    CUDA_CLOSING,
    CUDA_LOST, /* for good */
};

enum cuda_step {
    CUDA_IDLE,
    CUDA_PREPARING, /* the host reads the items: never given up */
    CUDA_READING,   /* the first step: the items are only read */
    CUDA_RESOLVING, /* the host makes what it can of the results: never given up */
    CUDA_WRITING,   /* the second step */
    CUDA_GIVEN_UP,  /* the batch was taken away; the device may still be at it */
};

/* An item of a batch and its chunks. */
struct cuda_job {
    struct bale_item *item;
    uint32_t first;
    uint32_t count;
};

/* A slot's place at work. Its thread's alone but for what the engine's mutex guards. */
struct cuda_worker {
    struct cuda_engine *engine;
    pthread_t thread;
    unsigned device;
    unsigned index;
    bool started;

    /* Guarded by the engine's mutex. */
    enum cuda_step step;
    uint64_t since_ns; /* when the step began: reading and writing have the watchdog's time each */

    /* The batch. */
    struct bale_cuda_slot *slot;
    struct cuda_job *jobs; /* room for cells */
    uint32_t job_count;
    uint32_t chunk_count;
    uint32_t move_count;
    unsigned queue;
    struct bale_chunk *table; /* room for cells, to make frames with */
    uint8_t *hashes;
};

struct cuda_engine {
    struct bale_engine engine; /* first: the handle is a pointer to it */
    struct bale_gpu_options options;
    struct nvcomp nvcomp;
    bool has_nvcomp;
    struct cuda_pinned pinned;
    atomic_uint pins; /* ranges that were to be */
    unsigned device_count;
    struct bale_driver_device about[BALE_GPU_DEVICES];
    bool apart; /* the devices are on several NUMA nodes */
    pthread_t supervisor;
    bool supervisor_started;
    pthread_mutex_t pinning; /* one pins, opens or closes at a time; taken before mutex */
    /* Guarded by pinning. */
    struct bale_cuda_device *devices[BALE_GPU_DEVICES]; /* there with CUDA_OPEN */
    bool is_pinned; /* what is in pinned is registered with a context */

    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t work;   /* for slots: items came, or the state changed */
    pthread_cond_t care;   /* for the supervisor: something for it to do */
    enum cuda_state state;
    bool stop;
    bool wanted;            /* items came and nothing is open */
    uint64_t not_before_ns; /* opening failed: not again until then */
    uint64_t idle_ns;       /* since when nothing is under way */
    struct cuda_queue queues[CUDA_QUEUES];
    struct bale_item *refused; /* with their status */
    unsigned turn;             /* queue to look at first */
    unsigned busy;             /* slots at work */
    uint32_t cells;            /* of the smallest slot when it was last open */
    unsigned workspaces;       /* batches computed at a time, of the device with the fewest */
    bool has[CUDA_CODECS];     /* every device does them */
    unsigned mismatches[CUDA_CODECS];
    bool off[CUDA_CODECS];
    bool quarantine; /* a batch was given up in its second step, and its device is not closed yet */
    struct bale_gpu_stats stats;

    unsigned worker_count;
    struct cuda_worker workers[];
};

static inline struct cuda_engine *bale_cuda_engine(struct bale_engine *engine)
{
    return (struct cuda_engine *)engine;
}

void bale_cuda_log(const struct cuda_engine *e, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* items.c: which queue an item is for, or why it is not ours; for a decode, *head is the frame's. */
int bale_cuda_queue_of(const struct bale_item *item, struct bale_frame *head);
/* Fills the slot's tables for the jobs' items. */
void bale_cuda_prepare(struct cuda_worker *worker);
/* From the results: each item's status, what there is to move, and the heads of frames. */
void bale_cuda_resolve(struct cuda_worker *worker);

/* measure.c: kernels/engine/gpu.h's measure. */
int bale_cuda_measure_all(const struct bale_gpu_options *options, struct bale_gpu_trial *trials,
                          size_t count, void (*tick)(void *argument, size_t trial), void *argument,
                          struct bale_reason *why);

/* process.c: of struct bale_gpu. */
int bale_cuda_process_memory_kind(struct bale_engine *engine, const void *memory,
                                  enum bale_memory_kind *where, int *device);
int bale_cuda_process_wait(struct bale_engine *engine, void *stream);
int bale_cuda_process_copy(struct bale_engine *engine, const struct bale_gpu_copy *copies,
                           size_t count);

/* engine.c: kernels/engine/gpu.h's open. */
int bale_cuda_engine_open(const struct bale_gpu_options *options, struct bale_engine **engine,
                          struct bale_reason *why);
/* An engine that has nothing open yet; NULL: no memory. */
struct cuda_engine *bale_cuda_engine_create(const struct bale_gpu_options *options);
/* Which devices, before anything is made on them: BALE_OK, or a negative bale_err with why. */
int bale_cuda_find_devices(struct cuda_engine *e, struct bale_reason *why);

/* worker.c: a slot's thread. */
void *bale_cuda_worker_thread(void *worker);

/* supervisor.c */
void *bale_cuda_supervisor_thread(void *engine);

/* completion.c */

/* Says that all of a list are done; their statuses are set. Without the mutex. */
void bale_cuda_complete(struct bale_item *list);
/* Marks all of a list as done with status, and says so. Without the mutex. */
void bale_cuda_answer(struct cuda_engine *e, struct bale_item *list, int status);
/* Answers items that nobody will take; false: there are none. Slots do so as well as the supervisor, which
 * may be waiting for a driver that opens or closes, or hangs in that. With the mutex, which is not held
 * meanwhile. */
bool bale_cuda_answer_unwanted(struct cuda_engine *e);
/* Whether a device may write to items that were given back: said where it is to be known, and with a device
 * that is lost the supervisor closes it then. With the mutex. */
void bale_cuda_set_quarantine(struct cuda_engine *e, bool quarantine);
/* The items of a worker's batch. */
struct bale_item *bale_cuda_list_of(struct cuda_worker *worker);

/* devices.c */

/* Whether the device has the memory that is to be taken: BALE_OK, or BALE_E_NOMEM with why. Whoever else
 * works on it is asked by nobody: no more is taken than is free. */
int bale_cuda_check_free(const struct cuda_engine *e, unsigned device, struct bale_reason *why);
/* Opens all devices: BALE_OK, or a negative bale_err with why. */
int bale_cuda_open_devices(struct cuda_engine *e, struct bale_reason *why);
/* Frees what the devices hold. */
void bale_cuda_close_devices(struct cuda_engine *e);

#endif
