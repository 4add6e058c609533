/* What the ways to export share. */
#ifndef BALE_TOOLS_TRANSFER_EXPORT_H
#define BALE_TOOLS_TRANSFER_EXPORT_H

#include "format/reason.h"
#include "tools/common/contents.h"
#include "tools/common/reader.h"
#include "tools/transfer/transfer.h"

struct bale_export {
    struct bale_reader reader;
    const char *store; /* as the user named it */
    char *below;       /* what is exported */
    bool live;         /* somebody may be writing to the store */
    bool settings;     /* user.balefs.* attributes of directories, and files' settings as such */
    unsigned threads;
};

/* Opens what is called name in the directory as a container. st: of the plain file. BALE_E_NOENT: it
 * is gone; else why says what is wrong. */
int bale_export_open(const struct bale_export *export, int dir, const char *name,
                     struct bale_contents *contents, struct stat *st, struct bale_reason *why);

/* bale_transfer.file; its arg is a struct bale_export. */
void bale_export_file(struct bale_task *task, struct bale_scratch *scratch);

/* Writes the tree from (open for reading; taken over) as a tar archive to fd, which messages call
 * name. whole: it is an archive, of all that could be read. An exit code. */
int bale_export_tar(const struct bale_export *export, int from, int fd, const char *name,
                    bool *whole);

#endif
