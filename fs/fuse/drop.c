#include "fs/fuse/drop.h"

#include <stdlib.h>

#include "format/err.h"

/* Pages of a file; or a name in a directory. */
struct drop {
    struct drop *next;
    fuse_ino_t ino;
    off_t from, to;
    char name[]; /* empty: pages */
};

struct bale_drops {
    struct fuse_session *const *session; /* set before the first drop */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t wake;
    struct drop *first; /* one of each file; of each directory as many as names */
    bool stop;
};

#define END ((off_t)INT64_MAX)

static void drop_now(struct fuse_session *session, const struct drop *drop)
{
    if (drop->name[0])
        (void)fuse_lowlevel_notify_inval_entry(session, drop->ino, drop->name, strlen(drop->name));
    else
        (void)fuse_lowlevel_notify_inval_inode(session, drop->ino, drop->from,
                                               drop->to == END ? 0 : drop->to - drop->from);
}

static void *drops_thread(void *argument)
{
    struct bale_drops *drops = argument;

    pthread_mutex_lock(&drops->lock);
    while (!drops->stop) {
        struct drop *drop = drops->first;
        if (!drop) {
            pthread_cond_wait(&drops->wake, &drops->lock);
            continue;
        }
        drops->first = drop->next;
        pthread_mutex_unlock(&drops->lock);
        drop_now(*drops->session, drop);
        free(drop);
        pthread_mutex_lock(&drops->lock);
    }
    pthread_mutex_unlock(&drops->lock);
    return NULL;
}

int bale_drops_create(struct fuse_session *const *session, struct bale_drops **out)
{
    struct bale_drops *drops = calloc(1, sizeof *drops);

    if (!drops)
        return BALE_E_NOMEM;
    drops->session = session;
    pthread_mutex_init(&drops->lock, NULL);
    pthread_cond_init(&drops->wake, NULL);
    if (pthread_create(&drops->thread, NULL, drops_thread, drops) != 0) {
        pthread_cond_destroy(&drops->wake);
        pthread_mutex_destroy(&drops->lock);
        free(drops);
        return BALE_E_NOMEM;
    }
    pthread_setname_np(drops->thread, "balefs-drop");
    *out = drops;
    return BALE_OK;
}

void bale_drops_stop(struct bale_drops *drops)
{
    if (!drops)
        return;
    pthread_mutex_lock(&drops->lock);
    drops->stop = true;
    pthread_cond_signal(&drops->wake);
    pthread_mutex_unlock(&drops->lock);
    pthread_join(drops->thread, NULL);
}

void bale_drops_destroy(struct bale_drops *drops)
{
    if (!drops)
        return;
    for (struct drop *drop = drops->first, *next; drop; drop = next) {
        next = drop->next;
        free(drop);
    }
    pthread_cond_destroy(&drops->wake);
    pthread_mutex_destroy(&drops->lock);
    free(drops);
}

/* NULL: no memory. With the lock. */
static struct drop *drop_create(struct bale_drops *drops, fuse_ino_t ino, const char *name)
{
    size_t size = strlen(name) + 1;
    struct drop *drop = malloc(sizeof *drop + size);

    if (drop) {
        *drop = (struct drop){.next = drops->first, .ino = ino, .from = END};
        memcpy(drop->name, name, size);
        drops->first = drop;
    }
    return drop;
}

/* The drop of that file that is waiting, or a new and empty one; NULL: no memory. With the lock. */
static struct drop *drop_of(struct bale_drops *drops, fuse_ino_t ino)
{
    struct drop *drop = drops->first;

    while (drop && (drop->ino != ino || drop->name[0]))
        drop = drop->next;
    return drop ? drop : drop_create(drops, ino, "");
}

void bale_drops_add(struct bale_drops *drops, fuse_ino_t ino, off_t offset, off_t length)
{
    const off_t to = length == 0 ? END : offset + length;

    pthread_mutex_lock(&drops->lock);
    struct drop *drop = drops->stop ? NULL : drop_of(drops, ino);
    if (drop) {
        drop->from = offset < drop->from ? offset : drop->from;
        drop->to = to > drop->to ? to : drop->to;
    }
    pthread_cond_signal(&drops->wake);
    pthread_mutex_unlock(&drops->lock);
}

void bale_drops_add_name(struct bale_drops *drops, fuse_ino_t dir, const char *name)
{
    pthread_mutex_lock(&drops->lock);
    if (!drops->stop)
        (void)drop_create(drops, dir, name);
    pthread_cond_signal(&drops->wake);
    pthread_mutex_unlock(&drops->lock);
}
