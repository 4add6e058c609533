/* The options of a volume that come from its store. */
#include "fs/cache/volume.h"
#include "format/err.h"
#include "fs/base/log.h"
#include "fs/store/internal.h"
#include "fs/store/lock_watch.h"

static int store_checkpoint(void *arg)
{
    struct bale_store *store = arg;
    int err;

    bale_lock_look(store); /* so that files which were just removed are no failure */
    err = bale_store_checkpoint(store);
    if (err != BALE_OK)
        bale_log(BALE_LOG_WARNING, "%s: could not be synced: %s: check the disk", store->path,
                 bale_err_text(err));
    return err;
}

static int store_checkpoint_begin(void *arg, uint32_t *session)
{
    bale_lock_look(arg);
    return bale_store_checkpoint_begin(arg, session);
}

static int store_checkpoint_end(void *arg, uint32_t session)
{
    return bale_store_checkpoint_end(arg, session);
}

static int store_sync(void *arg)
{
    return bale_store_sync(arg);
}

static void store_tainted(void *arg)
{
    (void)bale_store_taint(arg);
}

void bale_store_volume_options(struct bale_store *store, struct bale_volume_options *options)
{
    bool writer = store->access == BALE_STORE_WRITE;

    options->reserve_fd = store->reserve_fd;
    bale_store_container_config(store, &options->container);
    options->sync_each = writer && !store->believes_syncfs;
    options->sync = writer && store->believes_syncfs ? store_sync : NULL;
    options->checkpoint = writer && store->believes_syncfs ? store_checkpoint : NULL;
    options->checkpoint_begin = writer ? store_checkpoint_begin : NULL;
    options->checkpoint_end = writer ? store_checkpoint_end : NULL;
    options->tainted = writer ? store_tainted : NULL;
    options->arg = store;
}
