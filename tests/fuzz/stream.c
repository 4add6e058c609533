/* Input: streams. Read from heads alone, as far as they go; and once more, given byte by byte. */
#include "format/stream.h"

#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "tests/fuzz/target.h"
#include "tests/support/offsets.h"

/* The next part; makes the checksums of heads and end records right. */
static int next(struct bale_stream_reader *reader, uint8_t *data, size_t size,
                struct bale_stream_item *item)
{
    enum bale_stream_part part =
        size >= BALE_STREAM_MAGIC ? bale_stream_part(data) : BALE_PART_OTHER;

    if (part == BALE_PART_HEAD && size >= BALE_STREAM_HEAD)
        bale_put64(data + STREAM_AT_CHECKSUM, bale_hash(data, STREAM_AT_CHECKSUM));
    if (part == BALE_PART_END && size >= BALE_STREAM_END)
        bale_put64(data + STREAM_END_AT_CHECKSUM, bale_hash(data, STREAM_END_AT_CHECKSUM));
    return bale_stream_read(reader, data, size, item);
}

/* Asking for more, byte by byte, comes to the same, and never asks for too much. */
static void check_slowly(struct bale_stream_reader reader, const uint8_t *data, int err,
                         const struct bale_stream_item *item, size_t size)
{
    size_t room = reader.inside ? bale_frame_bound(reader.stream.extent, BALE_CHUNK_LOG2_MIN)
                                : BALE_STREAM_HEAD;
    struct bale_stream_item again;
    size_t have = 0;
    int got;

    while ((got = bale_stream_read(&reader, data, have, &again)) == BALE_E_SHORT) {
        FUZZ_HOLDS(again.length > have && again.length <= room);
        if (again.length > size)
            break;
        have = again.length;
    }
    FUZZ_HOLDS(got == err);
    FUZZ_HOLDS(got != BALE_OK || (again.length == item->length && again.length <= room));
}

bool fuzz_stream(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1); /* exact, for the sanitizer */
    struct bale_stream_reader reader = {0}, before;
    struct bale_stream_item item;
    uint64_t offset = 0;
    size_t at = 0;
    int err = BALE_OK;

    FUZZ_HOLDS(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    while (err == BALE_OK && at < size) {
        before = reader;
        err = next(&reader, copy + at, size - at, &item);
        check_slowly(before, copy + at, err, &item, size - at);
        FUZZ_HOLDS(err == BALE_OK || err == BALE_E_SHORT || item.why != NULL);
        if (err != BALE_OK || item.length > size - at)
            break;
        FUZZ_HOLDS(item.offset >= offset);
        offset = item.offset + (item.part == BALE_PART_FRAME ? item.frame.raw_length : 0);
        at += item.length;
    }
    free(copy);
    return err == BALE_OK && !bale_stream_ended(&reader, size - at);
}

size_t fuzz_stream_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX])
{
    struct bale_frame frame = {.codec = BALE_CODEC_ZERO, .raw_length = 16384, .chunk_log2 = 12};
    struct bale_chunk chunk = {.stored = 100};
    struct bale_stream stream;
    size_t length = BALE_STREAM_HEAD;

    if (n > 3)
        return 0;
    bale_stream_begin(&stream, BALE_EXTENT_MIN, (struct bale_setting){0}, out);
    for (unsigned i = 0; i < n; i++) {
        length += bale_frame_head_encode(&frame, &chunk, out + length);
        memset(out + length, 0, frame.stored_length);
        length += frame.stored_length;
        FUZZ_HOLDS(bale_stream_add(&stream, &frame) == BALE_OK);
        frame = (struct bale_frame){.codec = BALE_CODEC_STORE,
                                    .raw_length = 100,
                                    .chunk_log2 = 12,
                                    .offset = stream.size + 5};
    }
    bale_stream_end_encode(&stream, stream.size + n, out + length);
    return length + BALE_STREAM_END;
}
