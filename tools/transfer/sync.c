/* Makes what a transfer has written durable where a sync of the whole file system does not. */
#include <errno.h>

#include "fs/store/file.h"
#include "fs/store/store.h"
#include "tools/transfer/transfer.h"

int bale_transfer_sync_directory(const struct bale_transfer *transfer,
                                 const struct bale_tree_dir *dir)
{
    if (bale_sync_directory(dir->to) < 0)
        return errno;
    return !dir->parent && transfer->to_store ? bale_store_top_sync(transfer->to_store) : 0;
}
