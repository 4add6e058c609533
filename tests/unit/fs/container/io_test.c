/* The descriptor io, and a container on it with readers beside its writer. */
#include "fs/container/io.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/container/container.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"

enum { EXTENT = BALE_EXTENT_MIN, EXTENTS = 8, ROUNDS = 300, READERS = 3 };

/* A file without a name. */
static int open_file(void)
{
    char name[] = "io_test.XXXXXX";
    int fd = mkstemp(name);

    REQUIRE(fd >= 0);
    REQUIRE(unlink(name) == 0);
    return fd;
}

static void test_calls(void)
{
    static uint8_t data[300000], back[300000];
    struct bale_io *io;
    uint64_t size;
    size_t got;
    int fd = open_file();

    REQUIRE(bale_io_open_fd(fd, &io) == BALE_OK);
    CHECK_EQ(bale_io_fd(io), fd);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + i / 1000);
    CHECK_EQ(io->ops->write(io, data, sizeof data, 5), BALE_OK);
    CHECK_EQ(io->ops->size(io, &size), BALE_OK);
    CHECK_EQ_U(size, sizeof data + 5);
    CHECK_EQ(io->ops->sync(io), BALE_OK);
    CHECK_EQ(io->ops->read(io, back, sizeof back, 5, &got), BALE_OK);
    CHECK_EQ_U(got, sizeof data);
    CHECK_EQ_MEM(data, back, sizeof data);
    CHECK_EQ(io->ops->read(io, back, 100, size - 10, &got), BALE_OK);
    CHECK_EQ_U(got, 10);
    CHECK_EQ(io->ops->read(io, back, 100, size + 10, &got), BALE_OK);
    CHECK_EQ_U(got, 0);
    CHECK_EQ(io->ops->write(io, data, 10, INT64_MAX), BALE_E_TOOBIG);

    if (io->ops->punch(io, 4096, 4096) == BALE_OK) {
        CHECK_EQ(io->ops->read(io, back, 4096, 4096, &got), BALE_OK);
        for (size_t i = 0; i < 4096; i++)
            CHECK_EQ(back[i], 0);
    }
    (void)io->ops->allocate(io, 1000000, 4096); /* not every file system can */
    CHECK_EQ(io->ops->size(io, &size), BALE_OK);
    CHECK_EQ_U(size, sizeof data + 5);
    CHECK_EQ(io->ops->truncate(io, 100), BALE_OK);
    CHECK_EQ(io->ops->size(io, &size), BALE_OK);
    CHECK_EQ_U(size, 100);
    io->ops->close(io);
    CHECK_EQ(fcntl(fd, F_GETFD), -1);
}

/* Whether one of the file's pages in [from, from + count) is in the kernel's cache. */
static bool has_pages(int fd, uint64_t from, size_t count)
{
    unsigned char are[64];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *map = mmap(NULL, count * page, PROT_READ, MAP_SHARED, fd, (off_t)(from * page));
    bool some = false;

    REQUIRE(count <= sizeof are && map != MAP_FAILED && mincore(map, count * page, are) == 0);
    for (size_t i = 0; i < count; i++)
        some |= are[i] & 1;
    REQUIRE(munmap(map, count * page) == 0);
    return some;
}

/* A read that continues another looks like a stream, but nothing is read ahead of it. A file system
 * may read whole groups of 8 pages. */
static void test_alone(void)
{
    enum { FIRST = 256, LENGTH = 16, SOME = 8, BEHIND = 32 };
    static uint8_t data[LENGTH << 16];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), got;
    struct bale_io *io;
    int fd = open_file();

    REQUIRE(page <= sizeof data / LENGTH && bale_io_open_fd(fd, &io) == BALE_OK);
    for (unsigned at = 0; at < 4 * FIRST; at += LENGTH)
        CHECK_EQ(io->ops->write(io, data, LENGTH * page, at * page), BALE_OK);
    CHECK_EQ(io->ops->sync(io), BALE_OK);
    CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    if (!has_pages(fd, FIRST, 64)) { /* a file system in memory keeps them */
        io->ops->expect(io, true);
        CHECK_EQ(io->ops->read(io, data, page, FIRST * page, &got), BALE_OK);
        for (unsigned at = 1; at < LENGTH; at += 5)
            CHECK_EQ(io->ops->read(io, data, 5 * page, (FIRST + at) * page, &got), BALE_OK);
        CHECK(!has_pages(fd, FIRST + LENGTH + SOME, BEHIND));
    }
    io->ops->close(io);
}

static void test_read_only_fd(void)
{
    struct bale_io *io;

    REQUIRE(bale_io_open_fd(open("/dev/null", O_RDONLY | O_CLOEXEC), &io) == BALE_OK);
    CHECK(io->ops->write(io, "x", 1, 0) < 0);
    io->ops->close(io);
}

/* ---- Set-id bits ----------------------------------------------------------------------------- */

/* As an ordinary user: without CAP_FSETID the kernel takes the bits away at each change. */
static void lose_fsetid(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    REQUIRE(syscall(SYS_capget, &head, data) == 0);
    data[0].effective &= ~(1u << CAP_FSETID);
    REQUIRE(syscall(SYS_capset, &head, data) == 0);
}

static mode_t mode_of(int fd)
{
    struct stat st;

    REQUIRE(fstat(fd, &st) == 0);
    return st.st_mode & 07777;
}

static void *write_pieces(void *arg)
{
    struct bale_io *io = arg;

    for (unsigned i = 0; i < ROUNDS; i++)
        CHECK_EQ(io->ops->write(io, "piece", 5, i), BALE_OK);
    return NULL;
}

static void change_in_all_ways(struct bale_io *io)
{
    pthread_t threads[2];

    CHECK_EQ(io->ops->write(io, "hello", 5, 0), BALE_OK);
    CHECK_EQ(io->ops->truncate(io, 100000), BALE_OK);
    (void)io->ops->punch(io, 4096, 4096);
    (void)io->ops->allocate(io, 200000, 4096);
    for (unsigned i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, write_pieces, io) == 0);
    for (unsigned i = 0; i < 2; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
}

static void *test_set_id(void *arg)
{
    struct bale_io *io;
    int fd = open_file();

    (void)arg;
    lose_fsetid();
    REQUIRE(bale_io_open_fd(fd, &io) == BALE_OK);
    REQUIRE(fchmod(fd, 06755) == 0);
    CHECK_EQ(io->ops->write(io, "hello", 5, 0), BALE_OK);
    CHECK_EQ_U(mode_of(fd), 0755); /* the kernel does take them */
    REQUIRE(fchmod(fd, 06755) == 0);
    bale_io_keep_set_id(io);
    change_in_all_ways(io);
    CHECK_EQ_U(mode_of(fd), 06755);
    REQUIRE(fchmod(fd, 0755) == 0); /* bits that are taken away in between stay away */
    change_in_all_ways(io);
    CHECK_EQ_U(mode_of(fd), 0755);
    io->ops->close(io);
    return NULL;
}

/* ---- Readers beside a writer ----------------------------------------------------------------- */

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

    REQUIRE(bale_io_open_fd(open_file(), &io) == BALE_OK);
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
    int fd = open_file(), keep = dup(fd);

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

/* What another descriptor writes shows after renew, whatever the alignment. */
static void test_remote(void)
{
    static uint8_t data[3000000], back[sizeof data];
    static const size_t at[] = {0, 1, 4095, 4096, 70000, 1048575, 2999999, 3000000};
    struct bale_io *io;
    size_t got;
    int fd = open_file();

    REQUIRE(bale_io_open_fd(dup(fd), &io) == BALE_OK);
    bale_io_set_remote(io);
    for (uint8_t round = 1; round <= 3; round++) {
        for (size_t i = 0; i < sizeof data; i++)
            data[i] = (uint8_t)(i * 7 + i / 1000 + round);
        REQUIRE(pwrite(fd, data, sizeof data, 0) == sizeof data);
        CHECK_EQ(io->ops->renew(io), BALE_OK);
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            CHECK_EQ(io->ops->read(io, back, sizeof back, at[i], &got), BALE_OK);
            CHECK_EQ_U(got, sizeof data - at[i]);
            CHECK_EQ_MEM(data + at[i], back, got);
            CHECK_EQ(io->ops->read(io, back, 112, at[i], &got), BALE_OK);
            CHECK_EQ_MEM(data + at[i], back, got);
        }
        REQUIRE(ftruncate(fd, 5000) == 0);
        CHECK_EQ(io->ops->read(io, back, 5000, 1000, &got), BALE_OK);
        CHECK_EQ_U(got, 4000);
    }
    CHECK_EQ(io->ops->close(io), BALE_OK);
    close(fd);
}

int main(void)
{
    pthread_t other;

    test_calls();
    test_remote();
    REQUIRE(pthread_create(&other, NULL, test_set_id, NULL) == 0); /* capabilities are a thread's */
    REQUIRE(pthread_join(other, NULL) == 0);
    test_alone();
    test_read_only_fd();
    test_one_block();
    test_threads();
    return check_result();
}
