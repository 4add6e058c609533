#include "format/stream.h"

#include <stdbool.h>
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"

enum {
    AT_VERSION = 4,
    AT_HEAD_ZERO = 5,
    AT_EXTENT = 8,
    AT_HEAD_ZERO_2 = 12,
    AT_FEATURES = 16,
    AT_HEAD_CHECKSUM = 24,
    AT_END_ZERO = 4,
    AT_FRAMES = 8,
    AT_SIZE = 16,
    AT_STORED = 24,
    AT_CHAIN = 32,
    AT_END_CHECKSUM = 40,
    VERSION = 1,
};

static const uint8_t magic_head[BALE_STREAM_MAGIC] = {'B', 'S', 'T', 'R'};
static const uint8_t magic_frame[BALE_STREAM_MAGIC] = {'B', 'F', 'R', 'M'};
static const uint8_t magic_end[BALE_STREAM_MAGIC] = {'B', 'E', 'N', 'D'};

static bool begins(const uint8_t *in, const uint8_t *magic)
{
    return memcmp(in, magic, BALE_STREAM_MAGIC) == 0;
}

enum bale_stream_part bale_stream_part(const uint8_t in[static BALE_STREAM_MAGIC])
{
    if (begins(in, magic_frame))
        return BALE_PART_FRAME;
    if (begins(in, magic_end))
        return BALE_PART_END;
    return begins(in, magic_head) ? BALE_PART_HEAD : BALE_PART_OTHER;
}

void bale_stream_begin(struct bale_stream *stream, uint32_t extent, struct bale_setting setting,
                       uint8_t out[static BALE_STREAM_HEAD])
{
    *stream = (struct bale_stream){
        .extent = extent, .features = bale_setting_may_have_part(setting) ? BALE_FEATURE_PARTS : 0};
    memset(out, 0, BALE_STREAM_HEAD);
    memcpy(out, magic_head, BALE_STREAM_MAGIC);
    out[AT_VERSION] = VERSION;
    bale_put32(out + AT_EXTENT, extent);
    bale_features_encode(stream->features, out + AT_FEATURES);
    bale_put64(out + AT_HEAD_CHECKSUM, bale_hash(out, AT_HEAD_CHECKSUM));
}

static bool is_zero(const uint8_t *in, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (in[i] != 0)
            return false;
    return true;
}

int bale_stream_head_decode(const uint8_t in[static BALE_STREAM_HEAD], struct bale_stream *stream)
{
    uint32_t extent = bale_get32(in + AT_EXTENT);
    uint8_t features;
    char unknown[5];
    int err;

    if (!begins(in, magic_head) ||
        bale_get64(in + AT_HEAD_CHECKSUM) != bale_hash(in, AT_HEAD_CHECKSUM))
        return BALE_E_CORRUPT;
    if (in[AT_VERSION] > VERSION || !is_zero(in + AT_HEAD_ZERO, AT_EXTENT - AT_HEAD_ZERO) ||
        !is_zero(in + AT_HEAD_ZERO_2, AT_FEATURES - AT_HEAD_ZERO_2))
        return BALE_E_UNSUPPORTED;
    err = bale_features_decode(in + AT_FEATURES, &features, unknown);
    if (err != BALE_OK)
        return err;
    if (in[AT_VERSION] != VERSION || !bale_extent_is_valid(extent))
        return BALE_E_CORRUPT;
    *stream = (struct bale_stream){.extent = extent, .features = features};
    return BALE_OK;
}

int bale_stream_add(struct bale_stream *stream, const struct bale_frame *frame)
{
    uint8_t link[16];

    if (frame->generation != 0 || frame->raw_length > stream->extent ||
        frame->offset < stream->size)
        return BALE_E_CORRUPT;
    if (bale_codec_has_part(frame->codec) && (stream->features & BALE_FEATURE_PARTS) == 0)
        return BALE_E_CORRUPT;
    bale_put64(link, stream->chain);
    bale_put64(link + 8, frame->head_checksum);
    stream->chain = bale_hash(link, sizeof link);
    stream->frames++;
    stream->size = frame->offset + frame->raw_length;
    stream->stored += (uint64_t)frame->head_length + frame->stored_length;
    return BALE_OK;
}

void bale_stream_end_encode(const struct bale_stream *stream, uint64_t size,
                            uint8_t out[static BALE_STREAM_END])
{
    memset(out, 0, BALE_STREAM_END);
    memcpy(out, magic_end, BALE_STREAM_MAGIC);
    bale_put64(out + AT_FRAMES, stream->frames);
    bale_put64(out + AT_SIZE, size);
    bale_put64(out + AT_STORED, stream->stored);
    bale_put64(out + AT_CHAIN, stream->chain);
    bale_put64(out + AT_END_CHECKSUM, bale_hash(out, AT_END_CHECKSUM));
}

int bale_stream_end_decode(const uint8_t in[static BALE_STREAM_END],
                           const struct bale_stream *stream, uint64_t *size)
{
    if (!begins(in, magic_end) ||
        bale_get64(in + AT_END_CHECKSUM) != bale_hash(in, AT_END_CHECKSUM))
        return BALE_E_CORRUPT;
    if (!is_zero(in + AT_END_ZERO, AT_FRAMES - AT_END_ZERO))
        return BALE_E_UNSUPPORTED;
    *size = bale_get64(in + AT_SIZE);
    if (bale_get64(in + AT_FRAMES) != stream->frames ||
        bale_get64(in + AT_STORED) != stream->stored ||
        bale_get64(in + AT_CHAIN) != stream->chain || *size < stream->size ||
        *size > (uint64_t)BALE_SIZE_MAX)
        return BALE_E_CORRUPT;
    return BALE_OK;
}
