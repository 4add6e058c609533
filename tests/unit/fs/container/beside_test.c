/* A container on a descriptor: readers beside its writer, and the space that it takes. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/container/container.h"
#include "fs/container/io.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"
#include "tests/unit/fs/container/unnamed_file.h"

enum { EXTENT = BALE_EXTENT_MIN, EXTENTS = 8, ROUNDS = 300, READERS = 3 };

static enum bale_session_state certain(const void *arg, uint32_t session)
{
    (void)arg;
    return session != 0 ? BALE_SESSION_CERTAIN : BALE_SESSION_UNCERTAIN;
}

static struct bale_container *container;
static atomic_bool done;
static atomic_ulong reads;

/* Every extent holds one byte, over and over; it only grows. */
static void *read_extents(void *arg)
{
    uint8_t last[EXTENTS] = {0};
    static _Thread_local uint8_t raw[EXTENT];
    struct bale_scratch *scratch;

    (void)arg;
    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    for (unsigned i = 0; !atomic_load(&done); i = (i + 1) % EXTENTS) {
        struct bale_segment segment;
        struct bale_fault fault;
        int err = bale_container_map(container, (uint64_t)i * EXTENT, &segment);

        if (err == BALE_E_NOENT)
            continue;
        if (!CHECK_EQ(err, BALE_OK))
            break;
        if (segment.offset != (uint64_t)i * EXTENT)
            continue;
        if (i % 2 == 0)
            err = bale_container_read(container, scratch, &segment, segment.offset, EXTENT, raw,
                                      &fault);
        else
            err =
                bale_container_read(container, scratch, &segment, segment.offset, 100, raw, &fault);
        if (err == BALE_E_STALE)
            continue;
        if (!CHECK_EQ(err, BALE_OK))
            break;
        CHECK(raw[0] >= last[i]);
        last[i] = raw[0];
        for (unsigned b = 1; b < 100; b++)
            if (raw[b] != raw[0] && !CHECK_EQ(raw[b], raw[0]))
                break;
        atomic_fetch_add(&reads, 1);
    }
    bale_scratch_destroy(scratch);
    return NULL;
}

struct part {
    uint64_t generation;
    unsigned extent;
    uint8_t value;
    struct bale_segment segment;
};

/* Frames of a transaction come from several threads. */
static void *write_part(void *arg)
{
    static _Thread_local uint8_t raw[EXTENT], out[EXTENT + 200];
    struct part *part = arg;
    struct bale_frame frame = {.offset = (uint64_t)part->extent * EXTENT,
                               .generation = part->generation,
                               .raw_length = EXTENT,
                               .chunk_log2 = 12};
    struct bale_scratch *scratch;
    uint64_t position;
    size_t length;

    memset(raw, part->value, sizeof raw);
    raw[EXTENT - 1] ^= 1; /* not all equal: there is something to read */
    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    REQUIRE(bale_frame_encode(scratch, (struct bale_setting){.codec = BALE_CODEC_STORE}, raw,
                              &frame, out, &length) == BALE_OK);
    CHECK_EQ(bale_container_write_frame(container, out, length, &position), BALE_OK);
    part->segment = (struct bale_segment){
        .offset = frame.offset,
        .position = position,
        .generation = frame.generation,
        .checksum = frame.head_checksum,
        .length = EXTENT,
        .frame_length = (uint32_t)length,
        .codec = frame.codec,
        .chunk_log2 = 12,
    };
    bale_scratch_destroy(scratch);
    return NULL;
}

static void write_round(unsigned round)
{
    struct bale_container_attr attr;
    struct part parts[2];
    pthread_t threads[2];

    CHECK_EQ(bale_container_begin(container, &parts[0].generation), BALE_OK);
    for (unsigned i = 0; i < 2; i++) {
        parts[i].generation = parts[0].generation;
        parts[i].extent = (round + i * EXTENTS / 2) % EXTENTS;
        parts[i].value = (uint8_t)(1 + round * 250 / ROUNDS);
        REQUIRE(pthread_create(&threads[i], NULL, write_part, &parts[i]) == 0);
    }
    for (unsigned i = 0; i < 2; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    bale_container_attr(container, &attr);
    attr.size = (uint64_t)EXTENTS * EXTENT;
    CHECK_EQ(bale_container_set_attr(container, &attr), BALE_OK);
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQ(bale_container_put(container, &parts[i].segment), BALE_OK);
    CHECK_EQ(bale_container_commit(container, round % 32 == 0), BALE_OK);
}

static void test_threads(void)
{
    static const _Atomic uint32_t session = 3;
    const struct bale_container_config config = {
        .session = &session, .writable = true, .session_state = certain};
    const struct bale_container_attr defaults = {.extent = EXTENT};
    struct bale_container_usage usage;
    pthread_t threads[READERS];
    struct bale_io *io;

    REQUIRE(bale_io_open_fd(open_unnamed_file(), &io) == BALE_OK);
    REQUIRE(bale_container_open(io, &config, &defaults, &container, NULL) == BALE_OK);
    write_round(0);
    for (unsigned i = 0; i < READERS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, read_extents, NULL) == 0);
    for (unsigned round = 1; round < ROUNDS; round++) {
        write_round(round);
        if (round % 50 == 0)
            CHECK_EQ(bale_container_trim(container), BALE_OK);
        if (round % 40 == 0)
            CHECK_EQ(bale_container_sync(container), BALE_OK);
        if (round % 30 == 0)
            CHECK_EQ(bale_container_usage(container, &usage), BALE_OK);
    }
    while (atomic_load(&reads) < 100)
        ;
    atomic_store(&done, true);
    for (unsigned i = 0; i < READERS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    bale_container_close(container);
}

/* A file of a few kilobytes takes one block, where a block is that large. */
static void test_one_block(void)
{
    static const _Atomic uint32_t session = 3;
    const struct bale_container_config config = {.session = &session, .writable = true};
    const struct bale_container_attr defaults = {.extent = BALE_EXTENT_DEFAULT};
    struct part part = {.value = 7};
    struct bale_container_attr attr;
    struct bale_io *io;
    struct stat st;
    int fd = open_unnamed_file(), keep = dup(fd);

    REQUIRE(keep >= 0 && bale_io_open_fd(fd, &io) == BALE_OK);
    REQUIRE(bale_container_open(io, &config, &defaults, &container, NULL) == BALE_OK);
    REQUIRE(bale_container_begin(container, &part.generation) == BALE_OK);
    {
        uint8_t raw[3000], out[4096];
        struct bale_frame frame = {
            .generation = part.generation, .raw_length = sizeof raw, .chunk_log2 = 16};
        struct bale_scratch *scratch;
        size_t length;

        for (size_t i = 0; i < sizeof raw; i++)
            raw[i] = (uint8_t)(i * i >> 5);
        REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
        REQUIRE(bale_frame_encode(scratch, (struct bale_setting){.codec = BALE_CODEC_STORE}, raw,
                                  &frame, out, &length) == BALE_OK);
        part.segment = (struct bale_segment){.generation = part.generation,
                                             .checksum = frame.head_checksum,
                                             .length = sizeof raw,
                                             .frame_length = (uint32_t)length,
                                             .codec = frame.codec,
                                             .chunk_log2 = 16};
        CHECK_EQ(bale_container_write_frame(container, out, length, &part.segment.position),
                 BALE_OK);
        bale_scratch_destroy(scratch);
    }
    bale_container_attr(container, &attr);
    attr.size = 3000;
    CHECK_EQ(bale_container_set_attr(container, &attr), BALE_OK);
    CHECK_EQ(bale_container_put(container, &part.segment), BALE_OK);
    CHECK_EQ(bale_container_commit(container, true), BALE_OK);
    bale_container_close(container);
    REQUIRE(fstat(keep, &st) == 0);
    CHECK_EQ(st.st_size, BALE_DATA_START + 52 + 12 + 3000);
    (void)close(keep);
}

int main(void)
{
    test_one_block();
    test_threads();
    return check_result();
}
