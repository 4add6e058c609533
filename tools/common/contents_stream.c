/* A file's contents in order, decoded ahead by several threads. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "tools/common/contents.h"

struct stream;

struct slot {
    struct bale_job job;
    struct stream *stream;
    uint64_t from;
    size_t length; /* 0: free */
    bool ready;
    int err;
    uint8_t *data;
};

struct stream {
    const struct bale_contents *contents;
    struct bale_damage *damage;
    pthread_mutex_t lock; /* ready, of the slots */
    pthread_cond_t wake;
    struct slot *slots;
    unsigned count;
};

static void decode(struct bale_job *job, struct bale_scratch *scratch)
{
    struct slot *slot = (struct slot *)job;
    struct stream *stream = slot->stream;
    int err = scratch ? bale_contents_read(stream->contents, scratch, slot->from, slot->length,
                                           slot->data, stream->damage)
                      : BALE_E_NOMEM;

    pthread_mutex_lock(&stream->lock);
    slot->err = err;
    slot->ready = true;
    pthread_cond_signal(&stream->wake);
    pthread_mutex_unlock(&stream->lock);
}

static void wait_for(struct stream *stream, const struct slot *slot)
{
    pthread_mutex_lock(&stream->lock);
    while (!slot->ready)
        pthread_cond_wait(&stream->wake, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
}

/* Puts the next data at or after *at into the slot; false: there is none left. */
static bool begin(struct stream *stream, struct bale_pool *pool, struct slot *slot, uint64_t *at)
{
    uint64_t to;

    if (!bale_contents_next(stream->contents, *at, &slot->from, &to)) {
        *at = UINT64_MAX;
        return false;
    }
    /* Extents may be small: what follows without a gap comes along. */
    for (uint64_t from, end; to - slot->from < BALE_PIECE; to = end) {
        if (!bale_contents_next(stream->contents, to, &from, &end) || from != to)
            break;
        if (end - slot->from > BALE_PIECE)
            end = slot->from + BALE_PIECE;
    }
    slot->length = (size_t)(to - slot->from);
    slot->ready = false;
    slot->job = (struct bale_job){.run = decode};
    *at = to;
    bale_pool_submit(pool, &slot->job);
    return true;
}

static int run(struct stream *stream, struct bale_pool *pool, bale_contents_take *take, void *arg)
{
    uint64_t size = stream->contents->attr.size, begun = 0, taken = 0;
    unsigned next = 0;
    int err = BALE_OK;

    for (unsigned i = 0; i < stream->count && begun != UINT64_MAX; i++)
        begin(stream, pool, &stream->slots[i], &begun);
    for (struct slot *slot; (slot = &stream->slots[next])->length > 0;
         next = (next + 1) % stream->count) {
        wait_for(stream, slot);
        if (err == BALE_OK)
            err = slot->err;
        if (err == BALE_OK && take && slot->from > taken)
            err = take(arg, taken, NULL, slot->from - taken);
        if (err == BALE_OK && take)
            err = take(arg, slot->from, slot->data, slot->length);
        taken = slot->from + slot->length;
        slot->length = 0;
        if (err == BALE_OK && begun != UINT64_MAX)
            begin(stream, pool, slot, &begun);
    }
    if (err == BALE_OK && take && taken < size)
        err = take(arg, taken, NULL, size - taken);
    return err;
}

int bale_contents_stream(const struct bale_contents *contents, struct bale_pool *pool,
                         unsigned threads, struct bale_damage *damage, bale_contents_take *take,
                         void *arg)
{
    struct stream stream = {.contents = contents,
                            .damage = damage,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .wake = PTHREAD_COND_INITIALIZER,
                            .count = 2 * threads};
    uint64_t pieces = contents->attr.size / BALE_PIECE + 1;
    int err = BALE_E_NOMEM;

    if (pieces < stream.count)
        stream.count = (unsigned)pieces;
    uint8_t *data = malloc((size_t)stream.count * BALE_PIECE);
    stream.slots = calloc(stream.count, sizeof *stream.slots);
    if (data && stream.slots) {
        for (unsigned i = 0; i < stream.count; i++) {
            stream.slots[i].stream = &stream;
            stream.slots[i].data = data + (size_t)i * BALE_PIECE;
        }
        err = run(&stream, pool, take, arg);
    }
    free(stream.slots);
    free(data);
    return err;
}
