#include "fs/container/container.h"

#include <stdlib.h>

#include "format/err.h"
#include "fs/container/internal.h"

static int make_locks(struct bale_container *c)
{
    pthread_rwlockattr_t attr;

    if (pthread_rwlockattr_init(&attr) != 0)
        return BALE_E_NOMEM;
    /* There are always readers, which would starve a commit: prefer writers. */
    (void)pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    (void)pthread_mutex_init(&c->state_lock, NULL);
    (void)pthread_mutex_init(&c->first_lock, NULL);
    pthread_mutex_init(&c->space.lock, NULL);
    (void)pthread_cond_init(&c->idle, NULL);
    (void)pthread_rwlock_init(&c->index_lock, &attr);
    (void)pthread_rwlockattr_destroy(&attr);
    return BALE_OK;
}

struct bale_container *bale_container_create(struct bale_io *io,
                                             const struct bale_container_config *config)
{
    struct bale_container *c = calloc(1, sizeof *c);

    if (!c || make_locks(c) != BALE_OK) {
        free(c);
        (void)io->ops->close(io);
        return NULL;
    }
    c->io = io;
    c->config = config;
    c->slot = c->durable_slot = -1;
    c->punchable = true;
    c->read_only = !config->writable;
    atomic_init(&c->broken, false);
    atomic_init(&c->slack, true);
    atomic_init(&c->id, 0);
    atomic_init(&c->newest_durable, true);
    bale_free_map_init(&c->space.free, BALE_DATA_START, 8);
    bale_free_map_init(&c->space.written, UINT64_MAX, 8);
    return c;
}

int bale_container_destroy(struct bale_container *c)
{
    int err;

    bale_index_clear(&c->index);
    bale_space_clear(c);
    (void)pthread_rwlock_destroy(&c->index_lock);
    (void)pthread_cond_destroy(&c->idle);
    (void)pthread_mutex_destroy(&c->space.lock);
    pthread_mutex_destroy(&c->first_lock);
    (void)pthread_mutex_destroy(&c->state_lock);
    err = c->io->ops->close(c->io);
    free(c);
    return err;
}

void bale_container_note_durable(struct bale_container *c)
{
    atomic_store(&c->newest_durable, c->durable >= c->root.generation);
}

void bale_container_lock_writer(struct bale_container *c)
{
    pthread_mutex_lock(&c->state_lock);
    while (c->busy)
        pthread_cond_wait(&c->idle, &c->state_lock);
    c->busy = true;
    pthread_mutex_unlock(&c->state_lock);
}

void bale_container_unlock_writer(struct bale_container *c)
{
    pthread_mutex_lock(&c->state_lock);
    c->busy = false;
    pthread_cond_signal(&c->idle);
    pthread_mutex_unlock(&c->state_lock);
}

int bale_container_failed(struct bale_container *c, int err)
{
    switch (err) {
    case BALE_E_NOSPACE:
    case BALE_E_DQUOT:
    case BALE_E_TOOBIG:
    case BALE_E_NOMEM:
        return err;
    default:
        atomic_store(&c->broken, true);
        return BALE_E_IO;
    }
}

struct bale_io *bale_container_io(struct bale_container *c)
{
    return c->io;
}

uint64_t bale_container_id(const struct bale_container *c)
{
    return atomic_load(&c->id);
}

enum bale_session_state bale_container_session(const struct bale_container_config *config,
                                               uint32_t session)
{
    if (!config->session_state)
        return BALE_SESSION_UNCERTAIN;
    return session > 0 ? config->session_state(config->session_arg, session) : BALE_SESSION_UNKNOWN;
}

uint64_t bale_container_rejected(const struct bale_container *c)
{
    return c->rejected;
}

enum bale_recovery bale_container_recovery(const struct bale_container *c)
{
    return c->recovery;
}

const char *bale_recovery_text(enum bale_recovery recovery)
{
    switch (recovery) {
    case BALE_RECOVERY_NONE:
        break;
    case BALE_RECOVERY_SLOT:
        return "one of its two roots is damaged: the other one is used, and may be an older state";
    case BALE_RECOVERY_CUT_OFF:
        return "a crash cut off its last commit: it shows the commit before";
    case BALE_RECOVERY_MISSING:
        return "its last commit was written under another store or list of sessions, and parts of "
               "it are missing: it shows the commit before";
    case BALE_RECOVERY_DAMAGE:
        return "its last commit was written under another store or list of sessions, and parts of "
               "it are damaged: these cannot be read, and it is read-only until balefs fsck "
               "--repair";
    case BALE_RECOVERY_BLANK:
        return "both of its roots are zeros, and the list of sessions is lost: it shows no data, "
               "and is "
               "read-only until balefs fsck --repair";
    }
    return NULL;
}

bool bale_container_is_held(const struct bale_container *c)
{
    return c->read_only && c->config->writable;
}

void bale_container_attr(struct bale_container *c, struct bale_container_attr *attr)
{
    pthread_mutex_lock(&c->state_lock);
    *attr = c->attr;
    pthread_mutex_unlock(&c->state_lock);
}

void bale_container_show_attr(struct bale_container *c, const struct bale_container_attr *attr)
{
    pthread_mutex_lock(&c->state_lock);
    c->attr = *attr;
    pthread_mutex_unlock(&c->state_lock);
}

size_t bale_container_memory(struct bale_container *c)
{
    size_t bytes = sizeof *c;

    pthread_rwlock_rdlock(&c->index_lock);
    bytes += c->index.memory + c->index.released_capacity * sizeof *c->index.released;
    pthread_rwlock_unlock(&c->index_lock);
    pthread_mutex_lock(&c->space.lock);
    bytes += bale_free_map_memory(&c->space.free) + bale_free_map_memory(&c->space.written) +
             c->space.deferred_capacity * sizeof *c->space.deferred;
    pthread_mutex_unlock(&c->space.lock);
    return bytes;
}

uint64_t bale_container_deferred_bytes(struct bale_container *c)
{
    uint64_t bytes;

    pthread_mutex_lock(&c->space.lock);
    bytes = c->space.deferred_bytes;
    pthread_mutex_unlock(&c->space.lock);
    return bytes;
}
