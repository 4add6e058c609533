#include "format/err.h"
#include "format/stream.h"

static int fail(struct bale_stream_item *item, int err, const char *why)
{
    item->why = why;
    return err;
}

static int need(struct bale_stream_item *item, size_t length)
{
    item->length = length;
    return BALE_E_SHORT;
}

static int read_head(struct bale_stream_reader *reader, const uint8_t *in, size_t length,
                     struct bale_stream_item *item)
{
    int err;

    if (length < BALE_STREAM_HEAD)
        return need(item, BALE_STREAM_HEAD);
    err = bale_stream_head_decode(in, &reader->stream);
    if (err == BALE_E_UNSUPPORTED)
        return fail(item, err, "the stream needs a newer version of balefs");
    if (err < 0)
        return fail(item, err, "the head of the stream is damaged");
    reader->inside = true;
    item->length = BALE_STREAM_HEAD;
    item->offset = reader->base;
    return BALE_OK;
}

static int read_frame(struct bale_stream_reader *reader, const uint8_t *in, size_t length,
                      struct bale_stream_item *item)
{
    int err = bale_frame_head_decode(in, length, &item->frame);

    if (err == BALE_E_SHORT && item->frame.raw_length > reader->stream.extent)
        return fail(item, BALE_E_CORRUPT, "the head of the frame is damaged");
    if (err == BALE_E_SHORT)
        return need(item, item->frame.head_length);
    if (err == BALE_E_UNSUPPORTED)
        return fail(item, err, "the frame needs a newer version of balefs");
    if (err < 0)
        return fail(item, err, "the head of the frame is damaged");
    item->length = (size_t)item->frame.head_length + item->frame.stored_length;
    if (__builtin_add_overflow(reader->base, item->frame.offset, &item->offset))
        return fail(item, BALE_E_TOOBIG, "the contents are too long");
    err = bale_stream_add(&reader->stream, &item->frame);
    if (err < 0)
        return fail(item, err, "the frame does not belong here");
    return BALE_OK;
}

static int read_end(struct bale_stream_reader *reader, const uint8_t *in, size_t length,
                    struct bale_stream_item *item)
{
    uint64_t size;
    int err;

    if (length < BALE_STREAM_END)
        return need(item, BALE_STREAM_END);
    err = bale_stream_end_decode(in, &reader->stream, &size);
    if (err == BALE_E_UNSUPPORTED)
        return fail(item, err, "the end record needs a newer version of balefs");
    if (err < 0)
        return fail(item, err, "the end record is damaged or a frame is missing");
    if (__builtin_add_overflow(reader->base, size, &reader->base))
        return fail(item, BALE_E_TOOBIG, "the contents are too long");
    reader->inside = false;
    reader->streams++;
    item->length = BALE_STREAM_END;
    item->offset = reader->base;
    return BALE_OK;
}

int bale_stream_read(struct bale_stream_reader *reader, const uint8_t *in, size_t length,
                     struct bale_stream_item *item)
{
    *item = (struct bale_stream_item){0};
    if (length < BALE_STREAM_MAGIC)
        return need(item, BALE_STREAM_MAGIC);
    item->part = bale_stream_part(in);
    if (!reader->inside) {
        if (item->part == BALE_PART_HEAD)
            return read_head(reader, in, length, item);
        return fail(item, BALE_E_CORRUPT,
                    reader->streams ? "what follows the stream is none" : "no balefs stream");
    }
    if (item->part == BALE_PART_FRAME)
        return read_frame(reader, in, length, item);
    if (item->part == BALE_PART_END)
        return read_end(reader, in, length, item);
    return fail(item, BALE_E_CORRUPT, "no frame begins where one should");
}

const char *bale_stream_ended(const struct bale_stream_reader *reader, size_t some)
{
    if (reader->inside)
        return "the stream is cut short";
    if (some > 0)
        return reader->streams ? "what follows the stream is none" : "no balefs stream";
    return reader->streams ? NULL : "empty, no balefs stream";
}
