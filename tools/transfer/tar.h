/* An archive that is being written with libarchive: its state, entries, and regular files. One
 * thread. Messages name paths in the store. */
#ifndef BALE_TOOLS_TRANSFER_TAR_H
#define BALE_TOOLS_TRANSFER_TAR_H

#include <archive_entry.h>
#include <limits.h>
#include <stdatomic.h>

#include "fs/base/pool.h"
#include "tools/common/progress.h"
#include "tools/transfer/attributes.h"
#include "tools/transfer/export.h"
#include "tools/transfer/tree_walk.h"

#define BALE_TAR_ZEROS ((size_t)INT_MAX) /* the most that archive_write_data() takes */

struct bale_tar {
    const struct bale_export *export;
    const char *name; /* of the archive, for messages */
    struct archive *archive;
    struct archive_entry *entry;
    struct bale_pool *pool;
    struct bale_tree_walk walk;
    struct bale_progress progress;
    const void *zeros; /* a mapping of BALE_TAR_ZEROS bytes */
    uint64_t size;     /* of the file that is being written */
    atomic_bool stop;
    uint64_t files, bytes;
    bool failed;
    void *links; /* files with several names that are in the archive; tsearch */
};

/* Prints a message about a path, and marks the export as failed. */
void bale_tar_fail(struct bale_tar *tar, const char *path, const char *why);

/* The archive cannot be written: ends the walk, because nothing that follows could be right. */
void bale_tar_broken(struct bale_tar *tar);

/* The path relative to the exported directory, as "tar -C DIR ." shows it. */
const char *bale_tar_shown(const struct bale_tar *tar, const char *path);

/* Begins tar->entry: the path with the suffix end, and what st says. */
void bale_tar_describe(struct bale_tar *tar, const char *path, const char *end,
                       const struct stat *st);

/* Adds extended attributes and ACLs to tar->entry: those of name in the directory fd, or of fd
 * itself if name is NULL. path: for messages. */
void bale_tar_add_attributes(struct bale_tar *tar, const char *path, int fd, const char *name,
                             enum bale_attributes_part part);

/* Writes tar->entry. False, after a message, if the archive cannot be written. */
bool bale_tar_write_header(struct bale_tar *tar);

/* Writes the file name in dir, with its data; a second name of a file becomes a link to the first.
 * path: the same in the store. found: what lstat says. */
void bale_tar_write_file(struct bale_tar *tar, struct bale_tree_dir *dir, const char *name,
                         const char *path, const struct stat *found);

#endif
