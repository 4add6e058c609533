/* What the parts of import share. */
#ifndef BALE_TOOLS_TRANSFER_IMPORT_H
#define BALE_TOOLS_TRANSFER_IMPORT_H

#include "fs/cache/volume.h"
#include "fs/store/store.h"
#include "tools/transfer/transfer.h"

struct bale_import {
    struct bale_store *store;
    struct bale_volume *volume;
    struct bale_container_attr defaults;
    bool modes_in_container;
    bool chosen; /* use setting for all files, instead of the settings of volume and directories */
    struct bale_setting setting;
};

/* The callbacks bale_transfer.file and .entered; their arg is a struct bale_import. */
void bale_import_file(struct bale_task *task, struct bale_scratch *scratch);
void bale_import_entered(struct bale_transfer *transfer, struct bale_tree_dir *dir, bool made);

#endif
