/* Read-ahead of a stream whose reads come out of order, as from a kernel that has several of them
 * under way: the stream goes on, and nothing is decoded twice. And that of a small file, before
 * its first read. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/wait.h"
#include "fs/cache/file_state.h"
#include "tests/check.h"
#include "tests/unit/fs/cache/guest.h"

#define MIB ((uint64_t)1 << 20)
#define MEMORY (256 * MIB) /* a window of 8 MiB */
#define SIZE (40 * MIB)
#define SMALL 40001

static struct bale_volume *volume;
static struct bale_file *file;
static uint8_t *model;

static void read_bytes(uint64_t at, uint64_t length)
{
    struct bale_wait wait = BALE_WAIT;
    struct bale_read read;

    bale_file_read(file, at, length, &read, bale_wait_done, &wait);
    CHECK_EQ((uint64_t)bale_wait_for(&wait), length);
    for (int i = 0; i < read.count; i++) {
        CHECK_EQ_MEM(read.pieces[i].iov_base, model + at, read.pieces[i].iov_len);
        at += read.pieces[i].iov_len;
    }
    bale_read_release(&read);
}

static void read_in_order(uint64_t from, uint64_t to)
{
    for (; from < to; from++)
        read_bytes(from * MIB, MIB);
}

static uint64_t window(void)
{
    pthread_mutex_lock(&file->lock);
    uint64_t bytes = file->stream_window;
    pthread_mutex_unlock(&file->lock);
    return bytes;
}

static uint64_t decoded(void)
{
    struct bale_volume_stats stats;

    bale_volume_stats(volume, &stats);
    return stats.engine.cpu.decoded;
}

/* The others overtake 8 to 10, and 20. */
static void out_of_order(void)
{
    read_in_order(0, 8);
    uint64_t most = window();
    CHECK(most > 0);
    read_in_order(11, 16);
    read_in_order(8, 11);
    CHECK_EQ_U(window(), most);
    read_in_order(16, 20);
    read_in_order(21, 26);
    read_bytes(20 * MIB, MIB);
    read_in_order(26, SIZE / MIB);
    CHECK_EQ_U(window(), most);
    CHECK_EQ_U(decoded(), SIZE);
}

/* What was read is read again: soon that is a stream of its own. */
static void read_again(void)
{
    uint64_t at = SIZE - 7 * MIB;

    for (; at < SIZE - 4 * MIB; at += MIB / 4)
        read_bytes(at, MIB / 4);
    CHECK_EQ_U(file->stream_next, at);
    CHECK(window() > 0);
}

static uint64_t misses(void)
{
    struct bale_volume_stats stats;

    bale_volume_stats(volume, &stats);
    return stats.read_misses;
}

static void read_soon(void *arg)
{
    bale_file_read_soon(arg);
}

static void read_soon_as_guest(void)
{
    call_as_guest(bale_volume_pool(volume), read_soon, file);
}

/* The read finds what the call has read. */
static void small_file(void)
{
    uint64_t before = misses();

    read_soon_as_guest();
    read_bytes(0, SMALL);
    CHECK_EQ_U(misses(), before);
}

/* A thread that may run no job leaves the file to the read, which no stream then delays. */
static void small_file_left(void)
{
    uint64_t before = misses();

    bale_file_read_soon(file);
    read_bytes(0, SMALL);
    CHECK_EQ_U(misses(), before + 1);
}

/* The kernel asks for the beginning first, as far as its first window goes. */
static void small_file_in_parts(void)
{
    uint64_t before = misses();

    read_bytes(0, 16384);
    read_bytes(16384, SMALL - 16384);
    CHECK_EQ_U(misses(), before + 1);
}

static void large_file(void)
{
    uint64_t before = misses();

    read_soon_as_guest();
    read_bytes(0, MIB);
    CHECK(misses() > before);
}

static enum bale_session_state certain(const void *arg, uint32_t session)
{
    (void)arg;
    (void)session;
    return BALE_SESSION_CERTAIN;
}

static void open_file(const char *path)
{
    struct bale_container_attr defaults = {.extent = 131072, .setting = {.codec = BALE_CODEC_LZ4}};
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    REQUIRE(fd >= 0);
    CHECK_EQ(bale_file_open(volume, fd, &defaults, path, &file, NULL), BALE_OK);
}

static void close_file(void)
{
    struct bale_wait wait = BALE_WAIT;

    bale_file_on_close(file, bale_wait_closed, &wait);
    bale_file_unref(file);
    bale_wait_for(&wait);
}

static void write_to(const char *path, uint64_t size)
{
    open_file(path);
    for (uint64_t at = 0; at < size; at += MIB) {
        struct bale_wait wait = BALE_WAIT;
        uint64_t length = size - at < MIB ? size - at : MIB;
        bale_file_write(file, at, model + at, length, bale_wait_done, &wait);
        CHECK_EQ((uint64_t)bale_wait_for(&wait), length);
    }
    close_file();
}

int main(void)
{
    static _Atomic uint32_t session = 1;
    static pthread_rwlock_t roll = PTHREAD_RWLOCK_INITIALIZER;
    struct bale_volume_options options = {
        .memory = MEMORY,
        .threads = 1,
        .age_ms = 1000000,
        .reserve_fd = -1,
        .caller_caches = true,
        .container = {.session = &session,
                      .session_roll = &roll,
                      .writable = true,
                      .session_state = certain},
    };
    char path[] = "/tmp/bale-readahead-test-XXXXXX";
    int fd = mkstemp(path);

    REQUIRE(fd >= 0);
    close(fd);
    model = malloc(SIZE);
    REQUIRE(model && bale_volume_create(&options, &volume) == BALE_OK);
    for (uint64_t i = 0; i < SIZE; i++)
        model[i] = (uint8_t)(i >> 9);
    write_to(path, SIZE);
    open_file(path);
    out_of_order();
    read_again();
    close_file();
    open_file(path);
    large_file();
    close_file();
    REQUIRE(truncate(path, 0) == 0);
    write_to(path, SMALL);
    open_file(path);
    small_file();
    close_file();
    open_file(path);
    small_file_left();
    close_file();
    open_file(path);
    small_file_in_parts();
    close_file();
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    unlink(path);
    free(model);
    return check_result();
}
