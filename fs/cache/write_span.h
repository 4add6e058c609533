/* The part of a write that lies in one extent. */
#ifndef BALE_FS_CACHE_WRITE_SPAN_H
#define BALE_FS_CACHE_WRITE_SPAN_H

#include "fs/cache/file_state.h"

/* Bytes [from, to) of extent number. */
struct bale_write_span {
    uint64_t number, from, to;
    const uint8_t *data;
    const atomic_bool *given_up; /* as in struct bale_writer */
    bool exact;                  /* rounds nothing */
};

enum bale_write_progress {
    BALE_WRITE_DONE,         /* or *err says why not */
    BALE_WRITE_RETRY,        /* only within write_span.c */
    BALE_WRITE_NEEDS_THREAD, /* that may wait */
    BALE_WRITE_MUST_WAIT,    /* until it is woken (enum bale_lack); here for memory */
    BALE_WRITE_RESIZED       /* the extent size has changed */
};

/* Writes a span into the cache. scratch is NULL on a thread that must not wait. *err is BALE_OK
 * before. Under file->lock; may drop it. */
enum bale_write_progress bale_write_span(struct bale_file *file, const struct bale_write_span *span,
                                         struct bale_scratch *scratch, int *err);

#endif
