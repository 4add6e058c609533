/* The descriptor io. */
#include "fs/container/io.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "tests/check.h"
#include "tests/unit/fs/container/unnamed_file.h"

enum { ROUNDS = 300 };

static void test_calls(void)
{
    static uint8_t data[300000], back[300000];
    struct bale_io *io;
    uint64_t size;
    size_t got;
    int fd = open_unnamed_file();

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
    int fd = open_unnamed_file();

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
    int fd = open_unnamed_file();

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

/* What another descriptor writes shows after renew, whatever the alignment. */
static void test_remote(void)
{
    static uint8_t data[3000000], back[sizeof data];
    static const size_t at[] = {0, 1, 4095, 4096, 70000, 1048575, 2999999, 3000000};
    struct bale_io *io;
    size_t got;
    int fd = open_unnamed_file();

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
    return check_result();
}
