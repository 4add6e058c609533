#include "fs/container/frame_io.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"

/* Enough for the table of 337 chunks, so that most heads need one read. */
#define HEAD_WANT 4096u

static void set_fault(struct bale_fault *fault, const char *what, uint64_t expected, uint64_t found)
{
    if (!fault)
        return;
    fault->what = what;
    fault->expected = expected;
    fault->found = found;
}

int bale_frame_bytes_read(struct bale_io *io, uint8_t *data, size_t length, uint64_t position,
                          struct bale_fault *fault)
{
    size_t got;
    int err = io->ops->read(io, data, length, position, &got);

    if (err == BALE_OK && got < length) {
        set_fault(fault, "end of the container", position + length, position + got);
        err = BALE_E_CORRUPT;
    }
    return err;
}

/* Says why a head did not decode. */
static void set_head_fault(const struct bale_frame_head *head, struct bale_fault *fault)
{
    const uint8_t *data = head->data;
    size_t covered = head->frame.head_length - sizeof(uint64_t);

    set_fault(fault, "frame head", 0, 0);
    if (memcmp(data, "BFRM", 4) != 0) {
        set_fault(fault, "frame magic", bale_get32((const uint8_t *)"BFRM"), bale_get32(data));
    } else if (head->length >= head->frame.head_length) {
        uint64_t found = bale_hash(data, covered);

        if (found != bale_get64(data + covered))
            set_fault(fault, "head checksum", bale_get64(data + covered), found);
    }
}

int bale_frame_head_read(struct bale_io *io, uint64_t position, uint32_t length, size_t want,
                         struct bale_frame_head *head, struct bale_fault *fault)
{
    size_t got = 0;
    int err;

    *head = (struct bale_frame_head){0};
    head->frame.head_length = want > HEAD_WANT ? (uint32_t)want : HEAD_WANT;
    do {
        size_t need = head->frame.head_length < length ? head->frame.head_length : length;
        uint8_t *data = need > head->length ? realloc(head->data, need) : NULL;

        if (need <= head->length) { /* the head would be longer than the frame */
            set_fault(fault, "frame length", length, head->frame.head_length);
            return BALE_E_CORRUPT;
        }
        if (!data)
            return BALE_E_NOMEM;
        head->data = data;
        err = io->ops->read(io, data + head->length, need - head->length, position + head->length,
                            &got);
        if (err != BALE_OK)
            return err;
        head->length += got;
        /* A frame that ends beyond the container may have a whole head, and that may be one of a
         * newer version. */
        err = bale_frame_head_decode(data, head->length, &head->frame);
        if (err == BALE_E_SHORT && head->length < need) {
            set_fault(fault, "end of the container", position + need, position + head->length);
            return BALE_E_CORRUPT;
        }
    } while (err == BALE_E_SHORT);

    if (err != BALE_OK) {
        set_head_fault(head, fault);
    } else if ((uint64_t)head->frame.head_length + head->frame.stored_length != length) {
        set_fault(fault, "frame length", length,
                  (uint64_t)head->frame.head_length + head->frame.stored_length);
        err = BALE_E_CORRUPT;
    }
    return err;
}

int bale_frame_head_match(const struct bale_frame *frame, const struct bale_segment *segment,
                          uint32_t extent, struct bale_fault *fault)
{
    const struct {
        const char *what;
        uint64_t expected;
        uint64_t found;
    } same[] = {
        {"frame generation", segment->generation, frame->generation},
        {"frame offset", segment->offset - segment->skip, frame->offset},
        {"frame codec", segment->codec, frame->codec},
        {"frame chunk size", segment->chunk_log2, frame->chunk_log2},
        {"frame identity", segment->checksum, frame->head_checksum},
    };

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        if (same[i].expected != same[i].found) {
            set_fault(fault, same[i].what, same[i].expected, same[i].found);
            return BALE_E_CORRUPT;
        }
    }
    if (frame->raw_length < (uint64_t)segment->skip + segment->length) {
        set_fault(fault, "frame raw length", (uint64_t)segment->skip + segment->length,
                  frame->raw_length);
        return BALE_E_CORRUPT;
    }
    if (frame->raw_length > extent) {
        set_fault(fault, "frame raw length", extent, frame->raw_length);
        return BALE_E_CORRUPT;
    }
    return BALE_OK;
}

void bale_frame_fault_at(struct bale_fault *fault, const struct bale_segment *segment,
                         const struct bale_frame *frame, uint32_t i, uint64_t position)
{
    uint64_t from = frame->offset + ((uint64_t)i << frame->chunk_log2);
    uint64_t to = from + bale_frame_chunk_raw(frame, i);
    uint64_t end = segment->offset + segment->length;

    from = from > segment->offset ? from : segment->offset;
    to = to < end ? to : end;
    *fault = (struct bale_fault){
        .offset = from, .length = to > from ? to - from : 0, .position = position};
}

/* Reads one chunk's stored bytes and compares their checksum. */
static int verify_chunk(struct bale_io *io, const struct bale_chunk *chunk, uint64_t position,
                        uint8_t *stored, struct bale_fault *fault)
{
    int err = bale_frame_bytes_read(io, stored, chunk->stored, position, fault);
    uint64_t found;

    if (err != BALE_OK)
        return err;
    found = bale_hash(stored, chunk->stored);
    if (found == chunk->checksum)
        return BALE_OK;
    set_fault(fault, "chunk checksum", chunk->checksum, found);
    return BALE_E_CORRUPT;
}

static uint32_t longest_chunk(const struct bale_frame_head *head)
{
    uint32_t longest = 1;

    for (uint32_t i = 0; i < head->frame.chunks; i++) {
        uint32_t length = bale_frame_chunk(head->data, &head->frame, i).stored;

        longest = length > longest ? length : longest;
    }
    return longest;
}

static int verify_chunks(struct bale_io *io, const struct bale_segment *segment,
                         const struct bale_frame_head *head,
                         void (*bad)(void *arg, const struct bale_fault *fault), void *arg)
{
    const struct bale_frame *frame = &head->frame;
    uint64_t position = segment->position + frame->head_length;
    uint8_t *stored;
    int result = BALE_OK;

    if (frame->chunks == 0)
        return BALE_OK;
    stored = malloc(longest_chunk(head));
    if (!stored)
        return BALE_E_NOMEM;
    for (uint32_t i = 0; i < frame->chunks; i++) {
        struct bale_chunk chunk = bale_frame_chunk(head->data, frame, i);
        struct bale_fault fault;
        int err;

        bale_frame_fault_at(&fault, segment, frame, i, position);
        err = verify_chunk(io, &chunk, position, stored, &fault);
        if (err != BALE_OK)
            result = err;
        if (err == BALE_E_CORRUPT && bad)
            bad(arg, &fault);
        else if (err != BALE_OK)
            break;
        position += chunk.stored;
    }
    free(stored);
    return result;
}

int bale_frame_verify(struct bale_io *io, const struct bale_segment *segment, uint32_t extent,
                      void (*bad)(void *arg, const struct bale_fault *fault), void *arg)
{
    struct bale_fault fault = {
        .offset = segment->offset, .length = segment->length, .position = segment->position};
    struct bale_frame_head head;
    int err;

    err = bale_frame_head_read(io, segment->position, segment->frame_length, 0, &head, &fault);
    if (err == BALE_OK)
        err = bale_frame_head_match(&head.frame, segment, extent, &fault);
    if ((err == BALE_E_CORRUPT || err == BALE_E_UNSUPPORTED) && bad)
        bad(arg, &fault);
    if (err == BALE_OK)
        err = verify_chunks(io, segment, &head, bad, arg);
    free(head.data);
    return err;
}
