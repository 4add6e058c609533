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

static void store_tainted(void *arg)
{
    (void)bale_store_taint(arg);
}

void bale_store_volume_options(struct bale_store *store, struct bale_volume_options *options)
{
    bool writer = store->access == BALE_STORE_WRITE;

    options->reserve_fd = store->reserve_fd;
    bale_store_container_config(store, &options->container);
    options->checkpoint = writer ? store_checkpoint : NULL;
    options->tainted = writer ? store_tainted : NULL;
    options->arg = store;
}
