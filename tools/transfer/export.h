/* What both kinds of export share. */
#ifndef BALE_TOOLS_TRANSFER_EXPORT_H
#define BALE_TOOLS_TRANSFER_EXPORT_H

#include "format/reason.h"
#include "tools/common/contents.h"
#include "tools/common/reader.h"
#include "tools/transfer/same.h"
#include "tools/transfer/transfer.h"

struct bale_export {
    struct bale_reader reader;
    const char *store; /* as the user named it */
    char *below;       /* the exported path, relative to the store */
    enum bale_root_pick pick;
    bool live;     /* another process may write to the store */
    bool settings; /* keep user.balefs.*, and settings of files as such attributes */
    unsigned threads;
};

/* Opens name in the directory dir as a container. st: attributes of the plain file. BALE_E_NOENT:
 * it is gone; for any other error why is set. */
int bale_export_open(const struct bale_export *export, int dir, const char *name,
                     struct bale_contents *contents, struct stat *st, struct bale_reason *why);

/* The callback bale_transfer.file; its arg is a struct bale_export. Runs on a thread of the pool
 * without locks. */
void bale_export_file(struct bale_task *task, struct bale_scratch *scratch);

/* bale_move.same; the arg of the transfer is a struct bale_export. */
enum bale_same bale_export_same(struct bale_transfer *transfer, struct bale_tree_dir *dir,
                                const char *name, int from, struct bale_scratch *scratch);

/* Writes the tree from, which is open for reading and is taken over, as a tar archive to fd. name:
 * for messages. *whole: the archive is complete, with everything that could be read. Returns the
 * exit code. */
int bale_export_tar(const struct bale_export *export, int from, int fd, const char *name,
                    bool *whole);

#endif
