/* Input: a frame's head. */
#include "format/frame.h"

#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "tests/fuzz/target.h"
#include "tests/support/offsets.h"

enum {
    CHECKSUM = 8,
    HEAD_MOST = FRAME_HEAD_MIN + FRAME_ENTRY_SIZE * (1 + (BALE_EXTENT_MAX >> BALE_CHUNK_LOG2_MIN))
};

/* The table adds up, and writing the head again gives the head that was read. */
static void check_head(const uint8_t *head, struct bale_frame *frame)
{
    struct bale_frame again = *frame;
    struct bale_chunk *chunks = malloc((frame->chunks + 1) * sizeof(*chunks));
    uint8_t *out = malloc(frame->head_length);
    uint64_t raw = 0;

    FUZZ_HOLDS(chunks != NULL && out != NULL);
    for (uint32_t i = 0; i < frame->chunks; i++) {
        chunks[i] = bale_frame_chunk(head, frame, i);
        FUZZ_HOLDS(chunks[i].stored >= 1 && chunks[i].stored <= bale_frame_chunk_raw(frame, i));
        raw += bale_frame_chunk_raw(frame, i);
    }
    FUZZ_HOLDS(frame->codec == BALE_CODEC_ZERO || raw == frame->raw_length);
    FUZZ_HOLDS(frame->head_length + (size_t)frame->stored_length <=
               bale_frame_bound(frame->raw_length, frame->chunk_log2));
    FUZZ_HOLDS(bale_frame_head_encode(&again, chunks, out) == frame->head_length);
    FUZZ_HOLDS(memcmp(out, head, frame->head_length) == 0);
    free(chunks);
    free(out);
}

bool fuzz_frame(const uint8_t *data, size_t size)
{
    uint8_t *head = malloc(size > 0 ? size : 1); /* exact, for the sanitizer */
    struct bale_frame frame;
    int err;

    FUZZ_HOLDS(head != NULL);
    if (size > 0)
        memcpy(head, data, size);
    err = bale_frame_head_decode(head, size, &frame);
    FUZZ_HOLDS(frame.head_length <= HEAD_MOST);
    FUZZ_HOLDS(err != BALE_E_SHORT || frame.head_length > size);
    if (err == BALE_E_CORRUPT && frame.head_length <= size) {
        size_t covered = frame.head_length - CHECKSUM;

        bale_put64(head + covered, bale_hash(head, covered));
        err = bale_frame_head_decode(head, size, &frame);
    }
    if (err == BALE_OK)
        check_head(head, &frame);
    free(head);
    return err == BALE_OK;
}

size_t fuzz_frame_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX])
{
    static const struct {
        struct bale_frame frame;
        struct bale_chunk chunks[3];
    } frames[] = {
        {{.codec = BALE_CODEC_ZERO, .raw_length = 1 << 20, .parameter = 9, .chunk_log2 = 16},
         {{0}}},
        {{.codec = BALE_CODEC_STORE, .raw_length = 5000, .chunk_log2 = 12, .offset = 16384},
         {{.stored = 4096}, {.stored = 904}}},
        {{.codec = BALE_CODEC_ZSTD, .raw_length = 9000, .parameter = 3, .chunk_log2 = 12},
         {{.stored = 100}, {.stored = 4096}, {.stored = 1}}},
        {{.codec = BALE_CODEC_LZ4, .raw_length = 1, .chunk_log2 = 26, .generation = 7},
         {{.stored = 1}}},
        {{.codec = BALE_CODEC_CULZSS, .raw_length = 5000, .parameter = 2, .chunk_log2 = 12},
         {{.stored = 4096}, {.stored = 500}}},
        {{.codec = BALE_CODEC_GPULZ, .raw_length = 8192, .parameter = 0x1dff, .chunk_log2 = 13},
         {{.stored = 700}}},
    };
    struct bale_frame frame;

    if (n >= sizeof(frames) / sizeof(frames[0]))
        return 0;
    frame = frames[n].frame;
    return bale_frame_head_encode(&frame, frames[n].chunks, out);
}
