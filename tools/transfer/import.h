/* What the parts of import share. */
#ifndef BALE_TOOLS_TRANSFER_IMPORT_H
#define BALE_TOOLS_TRANSFER_IMPORT_H

#include "fs/cache/volume.h"
#include "fs/store/store.h"
#include "tools/common/reader.h"
#include "tools/transfer/same.h"
#include "tools/transfer/transfer.h"

struct bale_import {
    struct bale_store
        *store; /* NULL: the target is a mount, and setting alone of the rest counts */
    struct bale_volume *volume;
    struct bale_container_attr defaults;
    bool modes_in_container;
    bool chosen; /* use setting for all files, instead of the settings of volume and directories */
    struct bale_setting setting;
    struct bale_reader reader; /* of a move: reads the store's files back */
};

/* The callbacks bale_transfer.file and .entered, and bale_move.same; the arg of the transfer is a
 * struct bale_import. */
void bale_import_file(struct bale_task *task, struct bale_scratch *scratch);
void bale_import_entered(struct bale_transfer *transfer, struct bale_tree_dir *dir, bool made);
enum bale_same bale_import_same(struct bale_transfer *transfer, struct bale_tree_dir *dir,
                                const char *name, int from, struct bale_scratch *scratch);

/* The same for a target that lies in a mount. */
void bale_import_mounted_file(struct bale_task *task, struct bale_scratch *scratch);
void bale_import_mounted_entered(struct bale_transfer *transfer, struct bale_tree_dir *dir,
                                 bool made);
enum bale_same bale_import_mounted_same(struct bale_transfer *transfer, struct bale_tree_dir *dir,
                                        const char *name, int from, struct bale_scratch *scratch);

/* Whether path lies in a mount, or would if it existed. */
bool bale_import_is_mounted(const char *path);
/* Moves from, which it takes over, into the mount where transfer->to_top lies. Returns the exit
 * code. */
int bale_import_mounted(struct bale_transfer *transfer, int from);

/* Opens a regular file of the walk for reading, and keeps its access time if possible. *st: its
 * attributes. -1 and errno; ESTALE: it was replaced meanwhile. */
int bale_import_open(const struct bale_task *task, struct stat *st);
/* For a move: refuses a setting that changes the file, because then its original must stay. True
 * after a message. */
bool bale_import_refuses(struct bale_task *task, const struct bale_setting *setting);
/* Gets a setting that was chosen for the file in fd, of at most size - 1 bytes, with a NUL behind
 * it. False: there is none. A file in a mount has a value for each setting, and lists those that
 * were chosen. */
bool bale_import_wish(int fd, const char *name, char *value, size_t size);
/* Whether the file in fd is not as it was when st was taken. */
bool bale_import_changed(int fd, const struct stat *st);
/* Prints what an import has done. */
void bale_import_report(const struct bale_transfer *transfer);

#endif
