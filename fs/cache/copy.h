/* Copying committed frames from one file into another one, without decoding them. */
#ifndef BALE_FS_CACHE_COPY_H
#define BALE_FS_CACHE_COPY_H

#include "fs/cache/file.h"

struct bale_scratch;

struct bale_copy {
    uint64_t offset; /* of the bytes, in both files */
    uint64_t length;
    /* Whether nobody waits for the copy any more: then it ends with BALE_E_CANCELLED, unless it is
     * being committed already. Called on any thread, with the argument of done. NULL: somebody
     * does. */
    bool (*given_up)(void *arg);
    bool untrusted; /* out: the target got frames that this process did not write */
};

/* Copies bytes of a file to the same place of another one, where that has no data yet: commits what
 * is dirty in the source, copies its frames as they are stored, and commits the target, with a
 * modification time of now. What a frame has and the file no longer shows is left out: such an
 * extent is encoded again. Result: the bytes copied from offset on, less than length at the end of
 * the source, or if much has been done already: call it again for the rest. BALE_E_UNSUPPORTED:
 * read and write instead. That is so if the setting or the extent size of the files differ, if the
 * target rounds elements or has data there, if the first extent is to be copied in part, or if it
 * cannot be read. Other errors are those of a commit; then nothing of the target has changed. The
 * target takes over the source's greatest step, for the other way as well. The caller keeps copy
 * until done. */
void bale_file_copy(struct bale_file *from, struct bale_file *to, struct bale_copy *copy,
                    bale_file_done *done, void *arg);

/* Before a copy by reading and writing: the target takes over the source's greatest step. Any
 * thread, no lock held. */
void bale_file_copy_otherwise(struct bale_file *from, struct bale_file *to);

/* ---- For change_run.c ---- */

struct bale_change;
/* Runs the change of the target, after a flush. On a pool thread, no lock held. */
void bale_copy_run(struct bale_change *change, struct bale_scratch *scratch);

#endif
