#include "fs/fuse/freeze.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"

/* A request that is kept back. */
struct stash {
    struct stash *next;
    size_t size;
    _Alignas(8) char request[];
};

struct bale_freezer {
    struct bale_memory *memory;  /* counts the requests that are kept back */
    bale_freezer_handle *handle; /* set before there are threads */
    void *handle_arg;
    pthread_mutex_t lock; /* guards the rest */
    bool frozen;
    unsigned changing; /* handlers of changes, and changes that go on after them */
    struct stash *first, **last;
    void (*quiesced)(void *arg); /* NULL: it was called */
    void *quiesced_arg;
};

/* The request that this thread handles counts in changing. */
static _Thread_local bool counted;

int bale_freezer_create(struct bale_memory *memory, struct bale_freezer **out)
{
    struct bale_freezer *freezer = calloc(1, sizeof *freezer);

    if (!freezer)
        return BALE_E_NOMEM;
    pthread_mutex_init(&freezer->lock, NULL);
    freezer->memory = memory;
    freezer->last = &freezer->first;
    *out = freezer;
    return BALE_OK;
}

void bale_freezer_set_handler(struct bale_freezer *freezer, bale_freezer_handle *handle, void *arg)
{
    freezer->handle = handle;
    freezer->handle_arg = arg;
}

void bale_freezer_destroy(struct bale_freezer *freezer)
{
    if (!freezer)
        return;
    while (freezer->first) {
        struct stash *next = freezer->first->next;
        free(freezer->first);
        freezer->first = next;
    }
    pthread_mutex_destroy(&freezer->lock);
    free(freezer);
}

bool bale_freezer_is_change(const void *request, size_t size)
{
    const struct fuse_in_header *in = request;

    switch (in->opcode) {
    case FUSE_SETATTR:
    case FUSE_SYMLINK:
    case FUSE_MKNOD:
    case FUSE_MKDIR:
    case FUSE_UNLINK:
    case FUSE_RMDIR:
    case FUSE_RENAME:
    case FUSE_RENAME2:
    case FUSE_LINK:
    case FUSE_WRITE:
    case FUSE_RELEASE:
    case FUSE_SETXATTR:
    case FUSE_REMOVEXATTR:
    case FUSE_CREATE:
    case FUSE_TMPFILE:
    case FUSE_FALLOCATE:
    case FUSE_COPY_FILE_RANGE:
        return true;
    case FUSE_OPEN:
        return size >= sizeof *in + sizeof(struct fuse_open_in) &&
               ((const struct fuse_open_in *)(in + 1))->flags & O_TRUNC;
    default:
        return false;
    }
}

/* An empty container is a valid file: new names change nothing that a copy of the store has, and
 * the kernel keeps their directory locked until the reply, for listings too. */
static bool makes_name(const void *request)
{
    switch (((const struct fuse_in_header *)request)->opcode) {
    case FUSE_CREATE:
    case FUSE_MKNOD:
    case FUSE_MKDIR:
    case FUSE_SYMLINK:
        return true;
    default:
        return false;
    }
}

static void free_stash(struct bale_freezer *freezer, struct stash *stash)
{
    bale_memory_count(freezer->memory, -(int64_t)(sizeof *stash + stash->size));
    free(stash);
}

static bool stash_request(struct bale_freezer *freezer, const void *request, size_t size)
{
    struct stash *stash = malloc(sizeof *stash + size);

    if (!stash)
        return false;
    bale_memory_count(freezer->memory, (int64_t)(sizeof *stash + size));
    memcpy(stash->request, request, size);
    stash->size = size;
    stash->next = NULL;
    *freezer->last = stash;
    freezer->last = &stash->next;
    return true;
}

bool bale_freezer_request_begin(struct bale_freezer *freezer, const void *request, size_t size)
{
    counted = false;
    if (!bale_freezer_is_change(request, size) || makes_name(request))
        return true;
    pthread_mutex_lock(&freezer->lock);
    /* Without memory for a copy, handle it: a change in a frozen store is better than a program
     * that hangs for ever. */
    bool stashed = freezer->frozen && stash_request(freezer, request, size);
    if (!stashed) {
        freezer->changing++;
        counted = true;
    }
    pthread_mutex_unlock(&freezer->lock);
    return !stashed;
}

void bale_freezer_change_end(struct bale_freezer *freezer)
{
    void (*quiesced)(void *) = NULL;

    pthread_mutex_lock(&freezer->lock);
    if (--freezer->changing == 0) {
        quiesced = freezer->quiesced;
        freezer->quiesced = NULL;
    }
    void *arg = freezer->quiesced_arg;
    pthread_mutex_unlock(&freezer->lock);
    if (quiesced)
        quiesced(arg);
}

void bale_freezer_request_end(struct bale_freezer *freezer)
{
    if (counted) {
        counted = false;
        bale_freezer_change_end(freezer);
    }
}

void bale_freezer_change_begin(struct bale_freezer *freezer)
{
    pthread_mutex_lock(&freezer->lock);
    freezer->changing++;
    pthread_mutex_unlock(&freezer->lock);
}

bool bale_freezer_freeze(struct bale_freezer *freezer, void (*quiesced)(void *arg), void *arg)
{
    pthread_mutex_lock(&freezer->lock);
    bool can = !freezer->frozen;
    bool now = can && freezer->changing == 0;
    if (can) {
        freezer->frozen = true;
        freezer->quiesced = now ? NULL : quiesced;
        freezer->quiesced_arg = arg;
    }
    pthread_mutex_unlock(&freezer->lock);
    if (now)
        quiesced(arg);
    return can;
}

uint64_t bale_freezer_waiting(struct bale_freezer *freezer)
{
    uint64_t count = 0;

    pthread_mutex_lock(&freezer->lock);
    for (const struct stash *stash = freezer->first; stash; stash = stash->next)
        count++;
    pthread_mutex_unlock(&freezer->lock);
    return count;
}

bool bale_freezer_drop_request(struct bale_freezer *freezer, uint64_t unique)
{
    pthread_mutex_lock(&freezer->lock);
    struct stash **at = &freezer->first;
    while (*at && ((const struct fuse_in_header *)(*at)->request)->unique != unique)
        at = &(*at)->next;
    struct stash *stash = *at;
    if (stash) {
        *at = stash->next;
        if (!*at)
            freezer->last = at;
    }
    pthread_mutex_unlock(&freezer->lock);
    if (stash)
        free_stash(freezer, stash);
    return stash;
}

bool bale_freezer_is_frozen(struct bale_freezer *freezer)
{
    pthread_mutex_lock(&freezer->lock);
    bool frozen = freezer->frozen;
    pthread_mutex_unlock(&freezer->lock);
    return frozen;
}

void bale_freezer_thaw(struct bale_freezer *freezer)
{
    pthread_mutex_lock(&freezer->lock);
    freezer->frozen = false;
    /* A freeze that comes meanwhile waits for the requests handled here, and keeps the others. */
    freezer->changing++;
    while (freezer->first && !freezer->frozen) {
        struct stash *stash = freezer->first;
        freezer->first = stash->next;
        if (!freezer->first)
            freezer->last = &freezer->first;
        pthread_mutex_unlock(&freezer->lock);
        freezer->handle(freezer->handle_arg, stash->request, stash->size);
        free_stash(freezer, stash);
        pthread_mutex_lock(&freezer->lock);
    }
    pthread_mutex_unlock(&freezer->lock);
    bale_freezer_change_end(freezer);
}
