#include "fs/store/lock_watch.h"

#include "format/err.h"
#include "fs/store/internal.h"
#include "kernels/base/cond.h"
#include "kernels/base/thread.h"

#define PERIOD_NS BALE_SECOND_NS
#define DAY_MS ((int64_t)24 * 3600 * 1000)

bool bale_store_must_look(const struct bale_store *store)
{
    return store->access == BALE_STORE_WRITE && !atomic_load(&store->stopped) &&
           bale_platform_now() - atomic_load(&store->lock.looked) > BALE_LOCK_PAUSE_MS;
}

bool bale_store_is_stopped(struct bale_store *store)
{
    if (store->access != BALE_STORE_WRITE)
        return false;
    if (bale_store_must_look(store) && !bale_lock_look_surely(store))
        return true;
    return atomic_load(&store->stopped);
}

static void *lock_watch_thread(void *arg)
{
    struct bale_store *store = arg;
    bool end = false;

    while (!end) {
        bale_lock_look(store);
        if (bale_platform_now() - store->lock.touched > DAY_MS && !atomic_load(&store->stopped)) {
            store->lock.touched = bale_platform_now();
            bale_store_touch(store);
        }
        uint64_t until = bale_clock_ns() + PERIOD_NS;
        pthread_mutex_lock(&store->lock.looking);
        if (!store->lock.end)
            (void)bale_cond_wait_until(&store->lock.ended, &store->lock.looking, until);
        end = store->lock.end;
        pthread_mutex_unlock(&store->lock.looking);
    }
    return NULL;
}

int bale_store_watch(struct bale_store *store)
{
    if (store->access != BALE_STORE_WRITE)
        return 0;
    store->lock.touched = bale_platform_now();
    store->lock.watched =
        bale_thread_start(&store->lock.watch, "balefs-lock", lock_watch_thread, store) == 0;
    return store->lock.watched ? 0 : BALE_E_NOMEM;
}

void bale_lock_watch_end(struct bale_store *store)
{
    if (!store->lock.watched)
        return;
    pthread_mutex_lock(&store->lock.looking);
    store->lock.end = true;
    pthread_cond_signal(&store->lock.ended);
    pthread_mutex_unlock(&store->lock.looking);
    pthread_join(store->lock.watch, NULL);
    store->lock.watched = false;
}
