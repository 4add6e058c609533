/* The flush of a stream, while its frames wait for the engine: it takes what is written meanwhile,
 * and once more when another flush comes; then it commits all of it at once. */
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/wait.h"
#include "fs/cache/file_state.h"
#include "tests/support/volume.h"

#define MIB ((uint64_t)1 << 20)
#define MEMORY (64 * MIB) /* a stream begins at 4 MiB, and goes on by 2 */
#define SIZE (12 * MIB)
#define RAW 4096

static struct bale_volume *volume;
static struct bale_file *file;
static uint8_t *model;

/* ---- Keeping the engine's workers from the frames ---- */

enum { WORKERS = 2 }; /* one, and one for other users */

static struct {
    struct bale_item items[WORKERS];
    uint8_t raw[RAW], stored[WORKERS][2 * RAW];
    sem_t entered, go;
} blocker;

static void block_worker(struct bale_item *item)
{
    (void)item;
    sem_post(&blocker.entered);
    sem_wait(&blocker.go);
    sem_post(&blocker.entered);
}

static void block_workers(void)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        blocker.items[i] = (struct bale_item){
            .kind = BALE_ITEM_ENCODE,
            .priority = BALE_PRIORITY_HIGH,
            .turn.user = 1000 + i,
            .setting = {.codec = BALE_CODEC_STORE},
            .frame = {.raw_length = RAW, .chunk_log2 = 16},
            .raw = blocker.raw,
            .stored = blocker.stored[i],
            .capacity = sizeof blocker.stored[i],
            .done = block_worker,
        };
        bale_engine_submit(volume->engine, &blocker.items[i]);
        sem_wait(&blocker.entered);
    }
}

static void free_workers(void)
{
    for (unsigned i = 0; i < WORKERS; i++)
        sem_post(&blocker.go);
    for (unsigned i = 0; i < WORKERS; i++)
        sem_wait(&blocker.entered);
}

/* ---- The file ---- */

static void write_bytes(uint64_t offset, uint64_t length)
{
    static uint8_t seed;

    seed++;
    for (uint64_t i = offset; i < offset + length; i++)
        model[i] = (uint8_t)((i >> 9) * seed);
    volume_file_write(file, offset, model + offset, length);
}

static void write_mib(uint64_t from, uint64_t to)
{
    for (; from < to; from++)
        write_bytes(from * MIB, MIB);
}

/* Waits until so much is on its way to the container, and no more than that; open: and the flush
 * is ready to take more. */
static void await_flushing(uint64_t bytes, bool open)
{
    uint64_t flushing;
    bool ready;

    do {
        usleep(1000);
        pthread_mutex_lock(&file->lock);
        flushing = file->flushing;
        ready = file->more || !open;
        pthread_mutex_unlock(&file->lock);
    } while (flushing < bytes || !ready);
    CHECK_EQ_U(flushing, bytes);
}

static uint64_t commits(void)
{
    struct bale_volume_stats stats;

    bale_volume_stats(volume, &stats);
    return stats.commits;
}

static void check_contents(uint64_t size)
{
    struct bale_file_attr attr;

    bale_file_attr(file, &attr);
    CHECK_EQ_U(attr.size, size);
    for (uint64_t at = 0; at < size; at += MIB) {
        uint64_t left = size - at;
        struct bale_wait wait = BALE_WAIT;
        struct bale_read read;
        bale_file_read(file, at, left < MIB ? left : MIB, &read, bale_wait_done, &wait);
        CHECK_EQ_U((uint64_t)bale_wait_for(&wait), left < MIB ? left : MIB);
        uint64_t from = at;
        for (int i = 0; i < read.count; i++) {
            CHECK_EQ_MEM(read.pieces[i].iov_base, model + from, read.pieces[i].iov_len);
            from += read.pieces[i].iov_len;
        }
        bale_read_release(&read);
    }
}

/* ---- Cases ---- */

static void goes_on(void)
{
    struct bale_wait wait = BALE_WAIT;
    const uint64_t size = 7 * MIB + MIB / 2 + 1000;

    block_workers();
    write_mib(0, 4);
    await_flushing(4 * MIB, true);
    write_mib(4, 6);
    await_flushing(6 * MIB, true);
    write_mib(6, 7);
    write_bytes(7 * MIB, MIB / 2 + 1000);
    await_flushing(6 * MIB, true);
    CHECK_EQ_U(commits(), 0);
    /* A flush that comes finds the last, broken extent alone. */
    bale_file_flush(file, false, bale_wait_done, &wait);
    await_flushing(7 * MIB + MIB / 2, false);
    CHECK_EQ_U(commits(), 0);
    free_workers();
    CHECK_EQ(bale_wait_for(&wait), BALE_OK);
    CHECK_EQ_U(commits(), 2);
    check_contents(size);
}

/* An extent is written again while the flush has it: what comes behind it goes on, the extent waits
 * for the next one. */
static void written_again(void)
{
    struct bale_wait wait = BALE_WAIT;
    uint64_t before = commits();

    block_workers();
    write_mib(0, 4);
    await_flushing(4 * MIB, true);
    write_bytes(100, 200000);
    write_bytes(3 * MIB, MIB / 2);
    write_bytes(4 * MIB, 2 * MIB);
    await_flushing(6 * MIB, true);
    free_workers();
    bale_file_flush(file, true, bale_wait_done, &wait);
    CHECK_EQ(bale_wait_for(&wait), BALE_OK);
    CHECK_EQ_U(commits(), before + 2);
    CHECK_EQ_U(file->dirty, 0);
    CHECK_EQ_U(file->flushing, 0);
}

static void open_file(const char *path)
{
    struct bale_container_attr defaults = {.extent = 131072, .setting = {.codec = BALE_CODEC_LZ4}};
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    REQUIRE(fd >= 0);
    CHECK_EQ(bale_file_open(volume, fd, &defaults, path, &file, NULL), BALE_OK);
}

int main(void)
{
    struct bale_volume_options options = volume_options(MEMORY, 1);
    char path[] = "/tmp/bale-stream-test-XXXXXX";
    int fd = mkstemp(path);

    REQUIRE(fd >= 0);
    close(fd);
    options.age_ms = VOLUME_NEVER_MS;
    model = calloc(1, SIZE);
    sem_init(&blocker.entered, 0, 0);
    sem_init(&blocker.go, 0, 0);
    REQUIRE(model && bale_volume_create(&options, &volume) == BALE_OK);
    volume->stream_ms = 1000000;
    open_file(path);
    goes_on();
    written_again();
    check_contents(7 * MIB + MIB / 2 + 1000);
    volume_file_close(file);
    open_file(path);
    check_contents(7 * MIB + MIB / 2 + 1000);
    volume_file_close(file);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    unlink(path);
    free(model);
    return check_result();
}
