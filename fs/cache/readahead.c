#include "fs/cache/readahead.h"

#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/cache/committed.h"
#include "fs/cache/extent.h"
#include "fs/cache/queue.h"
#include "kernels/engine/dispatch.h"

#define WINDOW_FIRST ((uint64_t)256 << 10)
#define STREAM_SLACK 4 /* requests */
/* The kernel asks for two windows of its read-ahead of 4 MiB before it waits. */
#define STREAM_LATE ((uint64_t)8 << 20)
#define LATE_LEAST ((uint64_t)128 << 10) /* it asks for much at a time */
#define WINDOW_MOST ((uint64_t)8 << 20)
#define WINDOW_MOST_GPU ((uint64_t)64 << 20)
#define WINDOWS_GPU ((uint64_t)256 << 20) /* of all streams: pinning more takes too long */
#define EXTENTS_A_JOB_GPU 16u
#define JOB_BYTES ((uint64_t)512 << 10)
/* Decoding so much takes about as long as the read takes to come. */
#define SOON_MOST ((uint64_t)64 << 10)

/* One extent that is read ahead. Its filling bits keep it in memory. Owned by one thread after the
 * other. */
struct bale_fetch {
    struct bale_job job;
    struct bale_queue_item item;
    struct bale_fetch *next;     /* in the same job */
    struct bale_fetch *next_job; /* of the first in a job: the next job's, until it is submitted */
    struct bale_file *file;      /* counted */
    struct bale_extent *extent;
    uint64_t blocks;
    size_t length; /* of the extent inside the file */
    bool far;      /* nobody waits for it yet */
};

static void fetch_end(struct bale_fetch *fetch, int err)
{
    struct bale_file *file = fetch->file;
    struct bale_fill_waiter *waiters = NULL;
    size_t over = fetch->length % file->block;

    if (over)
        memset(fetch->extent->buffer->data + fetch->length, 0, file->block - over);
    pthread_mutex_lock(&file->lock);
    fetch->extent->buffer->quarantined |= err == BALE_E_QUARANTINED;
    /* A read that needs what failed here reads it again and reports the error. */
    (void)bale_fill_end_quietly(fetch->extent, fetch->blocks, err, &waiters);
    pthread_mutex_unlock(&file->lock);
    bale_fill_wake(waiters);
    free(fetch);
    bale_file_unref(file);
}

static void fetch_decoded(struct bale_queue_item *item)
{
    struct bale_fetch *fetch = item->owner;
    int err = item->item.status;
    bale_queue_release(item);
    fetch_end(fetch, err);
}

/* False if a truncation cut off a part of the frame: the engine does not decode such a frame. */
static bool is_whole(const struct bale_segment *segment, const struct bale_item *item,
                     struct bale_frame *head)
{
    return bale_frame_head_decode(item->stored, segment->frame_length, head) == BALE_OK &&
           head->raw_length == segment->length;
}

/* Reads the extent without the engine, as a read that needs it would. */
static void fetch_committed(struct bale_fetch *fetch, struct bale_scratch *scratch)
{
    uint64_t start = fetch->extent->number * fetch->file->extent;

    fetch_end(fetch,
              scratch ? bale_file_read_committed(fetch->file, scratch, start, start + fetch->length,
                                                 fetch->extent->buffer->data)
                      : BALE_E_NOMEM);
}

/* Reads the stored frame. True: the engine is to decode it; false: the fetch has ended. */
static bool fetch_stored(struct bale_fetch *fetch, struct bale_scratch *scratch)
{
    struct bale_file *file = fetch->file;
    uint64_t start = fetch->extent->number * file->extent;
    struct bale_segment segment;
    struct bale_frame head = {0};
    int err = bale_container_map(file->container, start, &segment);
    struct bale_queue_item *item = &fetch->item;
    bale_file_count_container(file);

    if (err != BALE_OK || segment.offset != start || segment.skip != 0 || segment.flags ||
        segment.length != fetch->length ||
        bale_queue_stage(file->volume->queue, item, segment.frame_length, segment.length) !=
            BALE_OK) {
        fetch_committed(fetch, scratch);
        return false;
    }
    err = bale_container_read_frame(file->container, &segment, item->item.stored);
    if (err == BALE_OK && !is_whole(&segment, &item->item, &head)) {
        bale_queue_release(item);
        fetch_committed(fetch, scratch);
        return false;
    }
    if (err != BALE_OK) {
        bale_queue_release(item);
        fetch_end(fetch, err);
        return false;
    }
    item->item.kind = BALE_ITEM_DECODE;
    item->item.priority = BALE_PRIORITY_NORMAL;
    item->item.background = fetch->far;
    item->item.trusted = atomic_load_explicit(&file->trusted, memory_order_relaxed);
    item->item.raw = fetch->extent->buffer->data;
    item->item.stored_length = segment.frame_length;
    item->item.frame.raw_length = segment.length;
    item->item.frame.chunk_log2 = segment.chunk_log2;
    item->item.frame.codec = segment.codec;
    item->item.frame.parameter = head.parameter;
    item->done = fetch_decoded;
    item->owner = fetch;
    if (!bale_engine_run_inline(file->volume->engine, &item->item, scratch))
        return true;
    fetch_decoded(item);
    return false;
}

static void fetch_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct bale_fetch *fetch = (struct bale_fetch *)job;
    struct bale_queue *queue = fetch->file->volume->queue;
    struct bale_queue_item *list = NULL, **end = &list;

    while (fetch) {
        struct bale_fetch *next = fetch->next;
        if (fetch_stored(fetch, scratch)) {
            *end = &fetch->item;
            end = &fetch->item.next;
        }
        fetch = next;
    }
    if (list)
        bale_queue_decode(queue, list);
}

/* Jobs of up to `most` fetches, which the engine gets together. */
struct fetches {
    struct bale_fetch *jobs, **next_job;
    struct bale_fetch **end; /* of the last job */
    unsigned count, most;
};

static void add_fetch(struct fetches *fetches, struct bale_fetch *fetch)
{
    if (fetches->count == 0) {
        *fetches->next_job = fetch;
        fetches->next_job = &fetch->next_job;
    } else {
        *fetches->end = fetch;
    }
    fetches->end = &fetch->next;
    fetches->count = (fetches->count + 1) % fetches->most;
}

void bale_readahead_submit(struct bale_volume *volume, struct bale_fetch *jobs)
{
    while (jobs) {
        struct bale_fetch *next = jobs->next_job;
        bale_pool_submit(volume->fetchers, &jobs->job); /* may free it */
        jobs = next;
    }
}

/* False: no memory; the stream is read without read-ahead. */
static bool start_fetch(struct bale_file *file, uint64_t number, struct fetches *fetches)
{
    if (bale_extent_find(&file->table, number))
        return true;
    uint64_t start = number * file->extent;
    uint64_t left = file->size - start;
    size_t length = left < file->extent ? (size_t)left : file->extent;
    struct bale_fetch *fetch = calloc(1, sizeof *fetch);
    struct bale_extent *extent = fetch ? bale_extent_get(file, number, length) : NULL;
    if (!extent) {
        free(fetch);
        return false;
    }
    fetch->job.run = fetch_job;
    fetch->job.turn.user = fetch->item.item.turn.user = bale_working_for;
    fetch->file = bale_file_ref(file);
    fetch->extent = extent;
    fetch->blocks = bale_blocks(file, 0, length);
    fetch->length = length;
    fetch->far = file->stream_window >= WINDOW_MOST;
    bale_fill_begin(extent, fetch->blocks);
    add_fetch(fetches, fetch);
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The most bytes to read ahead of a stream. A GPU needs large batches: for it the streams share up
 * to a quarter of the memory. */
static uint64_t window_most(struct bale_volume *volume)
{
    uint64_t cap = bale_memory_cap(volume->memory);
    uint64_t most = least(cap / 16, WINDOW_MOST);
    uint64_t streams = atomic_load_explicit(&volume->file_count, memory_order_relaxed);
    uint64_t share =
        least(least(cap / 4, WINDOWS_GPU) / (streams > 0 ? streams : 1), WINDOW_MOST_GPU);

    return share > most && bale_dispatch_collects(volume->engine) ? share : most;
}

/* Without a GPU jobs run in parallel: while a stream begins they have one extent each, and later
 * some, because waking a thread takes as long as decoding a part of an extent. */
static unsigned extents_a_job(const struct bale_file *file, uint64_t window_most)
{
    if (window_most > WINDOW_MOST)
        return EXTENTS_A_JOB_GPU;
    if (file->stream_window < window_most || file->extent >= JOB_BYTES)
        return 1;
    return (unsigned)(JOB_BYTES / file->extent);
}

/* Whether the read is one of the stream's that others have overtaken, on threads of their own. Many
 * in a row are none: the program reads something again. */
static bool is_late(struct bale_file *file, uint64_t offset, uint64_t end)
{
    return file->stream_window > 0 && end <= file->stream_next && end - offset >= LATE_LEAST &&
           file->stream_next - offset <= STREAM_LATE && file->stream_late++ < STREAM_SLACK;
}

/* ---- A small file that is about to be read ---- */

static void fetch_soon_job(struct bale_job *job, struct bale_scratch *scratch)
{
    fetch_committed((struct bale_fetch *)job, scratch);
}

void bale_file_read_soon(struct bale_file *file)
{
    struct bale_volume *volume = file->volume;
    struct fetches fetches = {.most = 1};

    /* On another thread it would wait behind what streams fetch, and the read with it. */
    if (!bale_pool_may_run(volume->pool))
        return;
    fetches.next_job = &fetches.jobs;
    pthread_mutex_lock(&file->lock);
    if (file->size > 0 && file->size <= SOON_MOST)
        (void)start_fetch(file, 0, &fetches);
    if (fetches.jobs)
        file->untouched = true;
    pthread_mutex_unlock(&file->lock);
    if (!fetches.jobs)
        return;
    fetches.jobs->job.run = fetch_soon_job;
    fetches.jobs->job.writes_nothing = true;
    bale_pool_run(volume->pool, volume->fetchers, &fetches.jobs->job);
}

/* ---- Streams ---- */

struct bale_fetch *bale_readahead_note(struct bale_file *file, uint64_t offset, uint64_t end)
{
    /* Requests of one reader are under way at the same time, and arrive in any order. */
    uint64_t slack = STREAM_SLACK * (end - offset);
    bool near = offset <= file->stream_next + slack && file->stream_next <= offset + slack;

    if ((near && end <= file->stream_next) || is_late(file, offset, end))
        return NULL;
    bool stream = near && end > offset;
    file->stream_next = end;
    file->stream_late = 0;
    if (!stream) {
        file->stream_window = 0;
        file->stream_ahead = end;
        return NULL;
    }
    uint64_t most = window_most(file->volume);
    /* A large window grows faster: until it is reached the batches are small. */
    uint64_t growth = most > WINDOW_MOST ? 4 : 2;
    uint64_t window = file->stream_window ? file->stream_window * growth : WINDOW_FIRST;
    file->stream_window = least(window, most);

    uint64_t from = file->stream_ahead > end ? file->stream_ahead : end;
    uint64_t to = end + file->stream_window < file->size ? end + file->stream_window : file->size;
    /* Read at least a quarter of a window at a time, so that the engine gets batches, and has
     * others to work on while one is read. */
    if (from >= to || (to < file->size && to - from < file->stream_window / 4))
        return NULL;
    struct fetches fetches = {.most = extents_a_job(file, most)};
    fetches.next_job = &fetches.jobs;
    uint64_t number = (from + file->extent - 1) / file->extent;
    while (number * file->extent < to && start_fetch(file, number, &fetches))
        number++;
    file->stream_ahead = number * file->extent;
    return fetches.jobs;
}
