/* What a store is to the volume that keeps its files. */
#include "fs/cache/volume.h"
#include "format/err.h"
#include "fs/base/log.h"
#include "fs/store/internal.h"

static int checkpoint(void *arg)
{
    struct bale_store *store = arg;
    int err = bale_store_checkpoint(store);

    if (err != BALE_OK)
        bale_log(BALE_LOG_WARNING, "%s: could not be synced: %s: check the disk", store->path,
                 bale_err_text(err));
    return err;
}

static void tainted(void *arg)
{
    (void)bale_store_taint(arg);
}

void bale_store_volume_options(struct bale_store *store, struct bale_volume_options *options)
{
    bool writer = store->how == BALE_STORE_WRITE;

    options->reserve_fd = store->reserve_fd;
    bale_store_container_config(store, &options->container);
    options->checkpoint = writer ? checkpoint : NULL;
    options->tainted = writer ? tainted : NULL;
    options->arg = store;
}
