/* Reads one container of a mounted store. */
#ifndef BALE_TOOLS_INSPECT_SCRUB_FILE_H
#define BALE_TOOLS_INSPECT_SCRUB_FILE_H

#include "format/reason.h"
#include "fs/container/container.h"
#include "tools/common/reader.h"

struct bale_scrub_file {
    const struct bale_reader *reader;
    struct bale_scratch *scratch;
    const char *below; /* relative to the store */
    uint64_t offset;   /* where to begin */

    /* Called after each frame, with its stored bytes, and where the next one begins. False: end. */
    bool (*next)(void *arg, uint64_t offset, uint64_t stored);
    /* What is wrong; text is a bale_fault's what. */
    void (*problem)(void *arg, const struct bale_fault *fault);
    void *arg;
};

/* Reads everything that the file has stored from the offset on, beside a mount that may write it:
 * something wrong counts only if no newer commit has come meanwhile. BALE_OK: read to its end, with
 * or without problems, or ended by next; BALE_E_NOENT: the file is gone; BALE_E_STALE: it changed
 * all the time; other errors of opening and reading, with why. */
int bale_scrub_file(struct bale_scrub_file *file, struct bale_reason *why);

#endif
