/* What the parts of import share. */
#ifndef BALE_TOOLS_TRANSFER_IMPORT_H
#define BALE_TOOLS_TRANSFER_IMPORT_H

#include "fs/cache/volume.h"
#include "fs/store/store.h"
#include "tools/balefs.h"
#include "tools/common/reader.h"
#include "tools/transfer/same.h"
#include "tools/transfer/transfer.h"

enum { BALE_IMPORT_CHOICES = 64 };

/* Which codec the user has chosen for files of some names, instead of the settings of volume,
 * directories and files. */
struct bale_import_choice {
    const char *glob;
    struct bale_setting setting;
    double relative; /* not 0: its bound is this part of each file's range */
};

struct bale_import {
    struct bale_store *store; /* NULL: the target is a mount, and choices alone of the rest count */
    struct bale_volume *volume;
    struct bale_container_attr defaults;
    bool modes_in_container;
    struct bale_import_choice choices[BALE_IMPORT_CHOICES]; /* the first that matches counts */
    size_t choice_count;
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
/* Options: the codec for all files, and "GLOB CODEC" for some, which is cut behind the glob and must
 * stay. Those for some come before the one for all, if all was taken. 0, or the exit code. */
int bale_import_take_codec(const struct bale_command *command, const char *text,
                           struct bale_import_choice *all);
int bale_import_take_match(const struct bale_command *command, char *line,
                           struct bale_import *import);
int bale_import_end_choices(const struct bale_command *command, struct bale_import *import,
                            const struct bale_import_choice *all, bool move);
/* The first choice for files of that name, or NULL. */
const struct bale_import_choice *bale_import_choice_of(const struct bale_import *import,
                                                       const char *name);
/* Gets a setting that was chosen for the file in fd, of at most size - 1 bytes, with a NUL behind
 * it. False: there is none. A file in a mount has a value for each setting, and lists those that
 * were chosen. */
bool bale_import_wish(int fd, const char *name, char *value, size_t size);
/* Whether the file in fd is not as it was when st was taken. */
bool bale_import_changed(int fd, const struct stat *st);
/* Prints what an import has done. */
void bale_import_report(const struct bale_transfer *transfer);

#endif
