/* Why a page or a frame does not verify: its write never arrived, or its bytes are wrong (FORMAT.md
 * section 8, rule 5). Any thread. */
#ifndef BALE_FS_CONTAINER_EVIDENCE_H
#define BALE_FS_CONTAINER_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/root.h"
#include "fs/container/io.h"

/* *missing: the page that ref refers to was never written. BALE_OK, BALE_E_NOMEM, or an error of
 * the read. */
int bale_evidence_page(struct bale_io *io, const struct bale_ref *ref, uint64_t container_id,
                       bool *missing);

/* What the head of a frame must say. */
struct bale_evidence_frame {
    struct bale_ref ref; /* its checksum is the head's */
    uint64_t offset;     /* of its first raw byte in the file */
    uint64_t generation_least;
    uint64_t generation_most;
};
/* The same for a frame. */
int bale_evidence_frame(struct bale_io *io, const struct bale_evidence_frame *frame, bool *missing);

#endif
