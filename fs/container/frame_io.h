/* Reading frames from a container's backing file: what needs no index. Any thread. */
#ifndef BALE_FS_CONTAINER_FRAME_IO_H
#define BALE_FS_CONTAINER_FRAME_IO_H

#include <stddef.h>
#include <stdint.h>

#include "format/frame.h"
#include "format/page.h"
#include "fs/container/container.h"
#include "fs/container/io.h"

/* The first bytes of a frame. */
struct bale_frame_head {
    uint8_t *data; /* freed by the caller, also after an error */
    size_t length; /* bytes there: the head, and maybe more */
    struct bale_frame frame;
};

/* Reads the head of the frame of length bytes at position and decodes it; the frame's length must
 * be what the head says. want: bytes worth reading at once. Errors: of the read, BALE_E_NOMEM,
 * BALE_E_CORRUPT, BALE_E_UNSUPPORTED; with the last two fault->what, expected and found say what is
 * wrong (fault may be NULL). */
int bale_frame_head_read(struct bale_io *io, uint64_t position, uint32_t length, size_t want,
                         struct bale_frame_head *head, struct bale_fault *fault);

/* Whether a head is that of the frame a segment refers to. BALE_OK or BALE_E_CORRUPT, with fault as
 * above. */
int bale_frame_head_match(const struct bale_frame *frame, const struct bale_segment *segment,
                          struct bale_fault *fault);

/* Reads exactly length bytes. What lies beyond the end of the file is BALE_E_CORRUPT. */
int bale_frame_bytes_read(struct bale_io *io, uint8_t *data, size_t length, uint64_t position,
                          struct bale_fault *fault);

/* Checks head and stored bytes of a segment's frame, chunk by chunk, without decoding; calls bad
 * for each fault found (all fields set; length 0: in a chunk the segment has nothing of). bad NULL:
 * ends at the first. BALE_E_CORRUPT or BALE_E_UNSUPPORTED: there was one; other errors as _read. */
int bale_frame_verify(struct bale_io *io, const struct bale_segment *segment,
                      void (*bad)(void *arg, const struct bale_fault *fault), void *arg);

#endif
