/* Reading frames from a container's backing file, without the index. Any thread. */
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
    size_t length; /* bytes of data: the head, and maybe more */
    struct bale_frame frame;
};

/* Reads and decodes the head of the frame of length bytes at position, and checks that the head
 * says the same length. want: bytes worth reading at once. Errors: of the read, BALE_E_NOMEM,
 * BALE_E_CORRUPT, BALE_E_UNSUPPORTED; with the last two fault->what, expected and found say what is
 * wrong (fault may be NULL). */
int bale_frame_head_read(struct bale_io *io, uint64_t position, uint32_t length, size_t want,
                         struct bale_frame_head *head, struct bale_fault *fault);

/* Checks that a head belongs to the frame that a segment refers to, and that the frame is no longer
 * than an extent. BALE_OK or BALE_E_CORRUPT, with fault as above. */
int bale_frame_head_match(const struct bale_frame *frame, const struct bale_segment *segment,
                          uint32_t extent, struct bale_fault *fault);

/* Reads exactly length bytes. BALE_E_CORRUPT: the file ends before. */
int bale_frame_bytes_read(struct bale_io *io, uint8_t *data, size_t length, uint64_t position,
                          struct bale_fault *fault);

/* Checks the extent part of a frame, its head's part.stored bytes. BALE_OK or BALE_E_CORRUPT, with
 * fault as above. */
int bale_frame_part_check(const struct bale_frame *frame, const uint8_t *part,
                          struct bale_fault *fault);

/* Sets fault to the part of the segment that chunk i of its frame contains, whose stored bytes are
 * at position. Its length is 0 if the segment has no byte of the chunk. */
void bale_frame_fault_at(struct bale_fault *fault, const struct bale_segment *segment,
                         const struct bale_frame *frame, uint32_t i, uint64_t position);

/* Checks head and stored bytes of a segment's frame, the extent part and chunk by chunk, without
 * decoding. Calls bad for each fault, with all fields set (length 0: the segment has no byte of the
 * chunk), and goes on; if bad is NULL, ends at the first. BALE_E_CORRUPT or BALE_E_UNSUPPORTED:
 * there was a fault; other errors as bale_container_read. */
int bale_frame_verify(struct bale_io *io, const struct bale_segment *segment, uint32_t extent,
                      void (*bad)(void *arg, const struct bale_fault *fault), void *arg);

#endif
