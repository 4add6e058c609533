#include "tests/support/rig.h"

#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/hash.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"

#define CHUNK_LOG2 12

static enum bale_session_state session_state(const void *arg, uint32_t session)
{
    const struct rig *rig = arg;
    bool certain = session == 0 ? !rig->zeros_empty
                                : session < rig->certain_below ||
                                      (rig->certain_from != 0 && session >= rig->certain_from);

    if (certain)
        return BALE_SESSION_CERTAIN;
    return rig->foreign ? BALE_SESSION_UNKNOWN : BALE_SESSION_UNCERTAIN;
}

void rig_init(struct rig *rig, uint64_t seed, uint32_t extent, uint64_t size_max)
{
    memset(rig, 0, sizeof *rig);
    rig->file.fail_after = -1;
    atomic_init(&rig->session, 1);
    rig->certain_from = 1;
    rig->zeros_empty = true;
    rig->config = (struct bale_container_config){
        .session = &rig->session,
        .writable = true,
        .session_state = session_state,
        .session_arg = rig,
    };
    rig->defaults =
        (struct bale_container_attr){.extent = extent, .setting = {.codec = BALE_CODEC_LZ4}};
    rig->size_max = size_max;
    rig->piece = 3000;
    rig->model = calloc(1, (size_t)size_max);
    rig->random = seed * 0x9e3779b97f4a7c15u + 1;
    REQUIRE(rig->model);
    REQUIRE(bale_scratch_create(&rig->scratch) == BALE_OK);
}

bool rig_field_setting(uint64_t x, struct bale_setting *setting)
{
    const struct bale_codec_about *codec;

    for (size_t i = 0; (codec = bale_codec_at(i)) != NULL; i++)
        if (bale_codec_has_field(codec->id)) {
            const uint64_t step = bale_codec_is_lossy(codec->id) ? UINT64_C(0x3f70) << 48 : 0;

            *setting = (struct bale_setting){
                .codec = codec->id, .field = {.type = BALE_FIELD_F32, .dims = {x}, .step = step}};
            return true;
        }
    return false;
}

void rig_clear(struct rig *rig)
{
    rig_close(rig);
    bale_scratch_destroy(rig->scratch);
    free(rig->model);
    memory_file_clear(&rig->file);
}

uint32_t rig_random(struct rig *rig, uint32_t below)
{
    rig->random ^= rig->random << 13;
    rig->random ^= rig->random >> 7;
    rig->random ^= rig->random << 17;
    return (uint32_t)((rig->random >> 20) % below);
}

int rig_open(struct rig *rig)
{
    return bale_container_open(memory_io_open(&rig->file), &rig->config, &rig->defaults,
                               &rig->container, NULL);
}

int rig_peek(struct rig *rig, struct bale_container_attr *attr, char *feature)
{
    struct bale_io *io = memory_io_open(&rig->file);
    int err = bale_container_peek(io, &rig->config, &rig->defaults, attr, feature);

    io->ops->close(io);
    return err;
}

void rig_close(struct rig *rig)
{
    bale_container_close(rig->container);
    rig->container = NULL;
}

void rig_start(struct rig *rig, uint64_t size_max)
{
    rig_init(rig, 1, BALE_EXTENT_MIN, size_max);
    REQUIRE(rig_open(rig) == BALE_OK);
}

void rig_reopen(struct rig *rig)
{
    rig_close(rig);
    REQUIRE(rig_open(rig) == BALE_OK);
}

void rig_die(struct rig *rig)
{
    rig->file.fail_kinds = MEMORY_CHANGES;
    rig->file.fail_after = 0;
    rig->file.fail_error = BALE_E_IO;
    rig_close(rig);
    rig->file.fail_after = -1;
}

int rig_begin(struct rig *rig)
{
    return bale_container_begin(rig->container, &rig->generation);
}

static uint32_t extent_of(struct rig *rig)
{
    struct bale_container_attr attr;

    bale_container_attr(rig->container, &attr);
    return attr.extent;
}

static int set_size(struct rig *rig, uint64_t size)
{
    struct bale_container_attr attr;
    int err;

    bale_container_attr(rig->container, &attr);
    attr.size = size;
    attr.mtime = (int64_t)size;
    err = bale_container_set_attr(rig->container, &attr);
    if (err == BALE_OK) {
        if (size < rig->size)
            memset(rig->model + size, 0, (size_t)(rig->size - size));
        rig->size = size;
    }
    return err;
}

/* Bytes that compress somewhat, not at all, or are all equal. */
static void fill(struct rig *rig, uint8_t *raw, uint32_t length)
{
    uint32_t kind = rig->incompressible ? 1 : rig_random(rig, 4);
    uint8_t byte = (uint8_t)rig_random(rig, 256);

    for (uint32_t i = 0; i < length; i++)
        raw[i] = kind == 0   ? byte
                 : kind == 1 ? (uint8_t)rig_random(rig, 256)
                             : (uint8_t)(byte + i / 7);
}

/* Writes raw as one frame and refers to all of it. */
static int put_frame(struct rig *rig, uint64_t offset, const uint8_t *raw, uint32_t length)
{
    struct bale_frame frame = {.offset = offset,
                               .generation = rig->generation,
                               .raw_length = length,
                               .chunk_log2 = CHUNK_LOG2};
    const struct bale_setting setting = {.codec = BALE_CODEC_LZ4};
    uint8_t *out = malloc(bale_frame_bound(length, CHUNK_LOG2));
    struct bale_segment segment;
    size_t stored;
    int err;

    REQUIRE(out);
    REQUIRE(bale_frame_encode(rig->scratch, setting, raw, &frame, out, &stored) == BALE_OK);
    segment = (struct bale_segment){
        .offset = offset,
        .generation = rig->generation,
        .checksum = frame.head_checksum,
        .length = length,
        .frame_length = (uint32_t)stored,
        .codec = frame.codec,
        .chunk_log2 = frame.chunk_log2,
    };
    err = bale_container_write_frame(rig->container, out, stored, &segment.position);
    if (err == BALE_OK)
        err = bale_container_put(rig->container, &segment);
    free(out);
    return err;
}

int rig_write(struct rig *rig, uint64_t offset, uint32_t length)
{
    uint32_t extent = extent_of(rig);
    uint8_t *raw = malloc(length);
    uint64_t end = offset + length;
    int err = BALE_OK;

    REQUIRE(raw);
    fill(rig, raw, length);
    if (end > rig->size)
        err = set_size(rig, end);
    for (uint64_t from = offset; from < end && err == BALE_OK;) {
        uint64_t border = (from / extent + 1) * extent;
        uint64_t to = border < end ? border : end;

        err = put_frame(rig, from, raw + (from - offset), (uint32_t)(to - from));
        if (err == BALE_OK)
            memcpy(rig->model + from, raw + (from - offset), (size_t)(to - from));
        from = to;
    }
    free(raw);
    return err;
}

int rig_rewrite(struct rig *rig, uint64_t offset)
{
    uint32_t extent = extent_of(rig);
    uint64_t first = offset / extent * extent;
    uint64_t end = first + extent < rig->size ? first + extent : rig->size;

    if (first >= end)
        return BALE_OK;
    return put_frame(rig, first, rig->model + first, (uint32_t)(end - first));
}

int rig_cut(struct rig *rig, uint64_t offset, uint64_t length)
{
    int err = bale_container_cut(rig->container, offset, length);

    if (err == BALE_OK && offset < rig->size)
        memset(rig->model + offset, 0,
               (size_t)(offset + length < rig->size ? length : rig->size - offset));
    return err;
}

int rig_truncate(struct rig *rig, uint64_t size)
{
    return set_size(rig, size);
}

void rig_commit(struct rig *rig, bool durable)
{
    CHECK_EQ(bale_container_commit(rig->container, durable), BALE_OK);
}

struct bale_container_attr rig_attr(struct rig *rig)
{
    struct bale_container_attr attr;

    bale_container_attr(rig->container, &attr);
    return attr;
}

int rig_change(struct rig *rig)
{
    uint32_t most = (uint32_t)rig->size_max;
    uint64_t offset = rig_random(rig, most);
    bool large = rig_random(rig, rig->piece < 1000 ? 50 : 3) == 0;
    uint32_t length = 1 + rig_random(rig, large ? most / 2 : rig->piece);

    if (length > rig->size_max - offset)
        length = (uint32_t)(rig->size_max - offset);
    switch (rig_random(rig, 16)) {
    case 0:
        return rig_truncate(rig, rig_random(rig, 4) == 0 ? 0 : offset);
    case 1:
    case 2:
        return rig_cut(rig, offset, length);
    case 3:
    case 4:
        return rig_rewrite(rig, offset);
    case 5:
        if (offset + length > rig->size)
            return BALE_OK;
        return bale_container_preallocate(rig->container, offset, length);
    case 6:
    case 7:
        if (rig->size + length > rig->size_max)
            return BALE_OK;
        return rig_write(rig, rig->size, length);
    default:
        return rig_write(rig, offset, length);
    }
}

int rig_read(struct rig *rig, uint8_t *data, uint64_t *size)
{
    struct bale_container_attr attr;
    struct bale_segment segment = {0};
    int err = BALE_OK;

    bale_container_attr(rig->container, &attr);
    *size = attr.size;
    if (attr.size > rig->size_max)
        return BALE_E_TOOBIG;
    memset(data, 0, (size_t)rig->size_max);
    while (err == BALE_OK) {
        uint64_t end = segment.offset + segment.length;

        err = bale_container_map(rig->container, end, &segment);
        if (err == BALE_E_NOENT)
            return BALE_OK;
        if (err == BALE_OK && segment.offset + segment.length > rig->size_max)
            return BALE_E_TOOBIG;
        if (err == BALE_OK)
            err = bale_container_read(rig->container, rig->scratch, &segment, segment.offset,
                                      segment.length, data + segment.offset, NULL);
    }
    return err;
}

static void report(void *arg, const struct bale_fault *fault)
{
    (void)arg;
    fprintf(stderr,
            "fault: %s at %" PRIu64 " (offset %" PRIu64 ", %" PRIu64 " bytes): %" PRIx64
            ", %" PRIx64 "\n",
            fault->what, fault->position, fault->offset, fault->length, fault->expected,
            fault->found);
}

bool rig_matches(struct rig *rig, bool committed)
{
    uint8_t *data = malloc((size_t)rig->size_max);
    uint64_t size;
    bool ok;

    REQUIRE(data);
    ok = CHECK_EQ(rig_read(rig, data, &size), BALE_OK) &&
         CHECK_EQ_MEM(data, rig->model, (size_t)rig->size_max);
    if (ok && committed)
        ok = CHECK_EQ_U(size, rig->size) &&
             CHECK_EQ(bale_container_check(rig->container, rig->scratch, true, report, NULL),
                      BALE_OK);
    free(data);
    return ok;
}

uint64_t rig_digest(const uint8_t *data, uint64_t size)
{
    return bale_hash(data, (size_t)size) ^ size * 0x9e3779b97f4a7c15u;
}
