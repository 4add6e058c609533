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

/* codec: of the frame; store for its extent part. */
static int check_entry(const struct bale_chunk *entry, uint8_t codec, const uint8_t *stored,
                       const char *what, struct bale_fault *fault)
{
    uint64_t found = bale_chunk_checksum(codec, stored, entry->stored);

    if (found == entry->checksum)
        return BALE_OK;
    set_fault(fault, what, entry->checksum, found);
    return BALE_E_CORRUPT;
}

int bale_frame_part_check(const struct bale_frame *frame, const uint8_t *part,
                          struct bale_fault *fault)
{
    return check_entry(&frame->part, BALE_CODEC_STORE, part, "extent part checksum", fault);
}

/* Reads stored bytes and compares their checksum. */
static int verify_entry(struct bale_io *io, const struct bale_chunk *entry, uint8_t codec,
                        const char *what, uint64_t position, uint8_t *stored,
                        struct bale_fault *fault)
{
    int err = bale_frame_bytes_read(io, stored, entry->stored, position, fault);

    return err == BALE_OK ? check_entry(entry, codec, stored, what, fault) : err;
}

/* The length of the longest of the extent part and the chunks. */
static uint32_t longest_entry(const struct bale_frame_head *head)
{
    uint32_t longest = head->frame.part.stored > 1 ? head->frame.part.stored : 1;

    for (uint32_t i = 0; i < head->frame.chunks; i++) {
        uint32_t length = bale_frame_chunk(head->data, &head->frame, i).stored;

        longest = length > longest ? length : longest;
    }
    return longest;
}

/* The frame that is verified, and the callback that its faults go to. */
struct verify {
    struct bale_io *io;
    const struct bale_segment *segment;
    void (*bad)(void *arg, const struct bale_fault *fault);
    void *arg;
    uint8_t *stored; /* room for the longest entry */
};

static int report(const struct verify *v, int err, const struct bale_fault *fault)
{
    if (err == BALE_E_CORRUPT && v->bad)
        v->bad(v->arg, fault);
    return err;
}

/* No chunk decodes without the extent part, so a fault of that is one of the whole segment. */
static int verify_part(const struct verify *v, const struct bale_frame *frame)
{
    struct bale_fault fault = {.offset = v->segment->offset,
                               .length = v->segment->length,
                               .position = v->segment->position + frame->head_length};

    if (!bale_codec_has_part(frame->codec))
        return BALE_OK;
    return report(v,
                  verify_entry(v->io, &frame->part, BALE_CODEC_STORE, "extent part checksum",
                               fault.position, v->stored, &fault),
                  &fault);
}

static int verify_chunks(const struct verify *v, const struct bale_frame_head *head)
{
    const struct bale_frame *frame = &head->frame;
    uint64_t position = v->segment->position + bale_frame_chunks_at(frame);
    int result = verify_part(v, frame);

    for (uint32_t i = 0; i < frame->chunks; i++) {
        struct bale_chunk chunk = bale_frame_chunk(head->data, frame, i);
        struct bale_fault fault;
        int err;

        if (result != BALE_OK && (result != BALE_E_CORRUPT || !v->bad))
            return result;
        bale_frame_fault_at(&fault, v->segment, frame, i, position);
        err = report(v,
                     verify_entry(v->io, &chunk, frame->codec, "chunk checksum", position,
                                  v->stored, &fault),
                     &fault);
        if (err != BALE_OK)
            result = err;
        position += chunk.stored;
    }
    return result;
}

int bale_frame_verify(struct bale_io *io, const struct bale_segment *segment, uint32_t extent,
                      void (*bad)(void *arg, const struct bale_fault *fault), void *arg)
{
    struct bale_fault fault = {
        .offset = segment->offset, .length = segment->length, .position = segment->position};
    struct verify v = {.io = io, .segment = segment, .bad = bad, .arg = arg};
    struct bale_frame_head head;
    int err;

    err = bale_frame_head_read(io, segment->position, segment->frame_length, 0, &head, &fault);
    if (err == BALE_OK)
        err = bale_frame_head_match(&head.frame, segment, extent, &fault);
    if ((err == BALE_E_CORRUPT || err == BALE_E_UNSUPPORTED) && bad)
        bad(arg, &fault);
    if (err == BALE_OK) {
        v.stored = malloc(longest_entry(&head));
        err = v.stored ? verify_chunks(&v, &head) : BALE_E_NOMEM;
    }
    free(v.stored);
    free(head.data);
    return err;
}
