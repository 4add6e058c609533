/* The contents of a file in order, decoded ahead by several threads. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "tools/common/contents.h"

struct stream;

struct piece {
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
    pthread_mutex_t lock; /* guards ready of the pieces */
    pthread_cond_t wake;
    struct piece *pieces;
    unsigned count;
};

static void piece_decode(struct bale_job *job, struct bale_scratch *scratch)
{
    struct piece *piece = (struct piece *)job;
    struct stream *stream = piece->stream;
    int err = scratch ? bale_contents_read(stream->contents, scratch, piece->from, piece->length,
                                           piece->data, stream->damage)
                      : BALE_E_NOMEM;

    pthread_mutex_lock(&stream->lock);
    piece->err = err;
    piece->ready = true;
    pthread_cond_signal(&stream->wake);
    pthread_mutex_unlock(&stream->lock);
}

static void wait_for_piece(struct stream *stream, const struct piece *piece)
{
    pthread_mutex_lock(&stream->lock);
    while (!piece->ready)
        pthread_cond_wait(&stream->wake, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
}

/* Starts to read the next data at or after *at into the piece. False: there is none left. */
static bool begin_piece(struct stream *stream, struct bale_pool *pool, struct piece *piece,
                        uint64_t *at)
{
    uint64_t to;

    if (!bale_contents_next(stream->contents, *at, &piece->from, &to)) {
        *at = UINT64_MAX;
        return false;
    }
    /* Extents may be small: take along the data that follows without a gap. */
    for (uint64_t from, end; to - piece->from < BALE_PIECE; to = end) {
        if (!bale_contents_next(stream->contents, to, &from, &end) || from != to)
            break;
        if (end - piece->from > BALE_PIECE)
            end = piece->from + BALE_PIECE;
    }
    piece->length = (size_t)(to - piece->from);
    piece->ready = false;
    piece->job = (struct bale_job){.run = piece_decode};
    *at = to;
    bale_pool_submit(pool, &piece->job);
    return true;
}

static int hand_over_pieces(struct stream *stream, struct bale_pool *pool, bale_contents_take *take,
                            void *arg)
{
    uint64_t size = stream->contents->attr.size, begun = 0, taken = 0;
    unsigned next = 0;
    int err = BALE_OK;

    for (unsigned i = 0; i < stream->count && begun != UINT64_MAX; i++)
        begin_piece(stream, pool, &stream->pieces[i], &begun);
    for (struct piece *piece; (piece = &stream->pieces[next])->length > 0;
         next = (next + 1) % stream->count) {
        wait_for_piece(stream, piece);
        if (err == BALE_OK)
            err = piece->err;
        if (err == BALE_OK && take && piece->from > taken)
            err = take(arg, taken, NULL, piece->from - taken);
        if (err == BALE_OK && take)
            err = take(arg, piece->from, piece->data, piece->length);
        taken = piece->from + piece->length;
        piece->length = 0;
        if (err == BALE_OK && begun != UINT64_MAX)
            begin_piece(stream, pool, piece, &begun);
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
    uint64_t most = contents->attr.size / BALE_PIECE + 1;
    int err = BALE_E_NOMEM;

    if (most < stream.count)
        stream.count = (unsigned)most;
    uint8_t *data = malloc((size_t)stream.count * BALE_PIECE);
    stream.pieces = calloc(stream.count, sizeof *stream.pieces);
    if (data && stream.pieces) {
        for (unsigned i = 0; i < stream.count; i++) {
            stream.pieces[i].stream = &stream;
            stream.pieces[i].data = data + (size_t)i * BALE_PIECE;
        }
        err = hand_over_pieces(&stream, pool, take, arg);
    }
    free(stream.pieces);
    free(data);
    return err;
}
