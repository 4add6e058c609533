/* Writes to the backing file system that stall take no thread of the engine's: it decodes what others
 * read meanwhile. */
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/wait.h"
#include "fs/cache/file_state.h"
#include "fs/container/io.h"
#include "kernels/base/working_for.h"
#include "tests/check.h"

#define MIB ((uint64_t)1 << 20)
#define RAW 4096
#define PATIENCE_S 100

enum { FILES = 4 }; /* more than the engine has workers: one, and one for other users */

static struct bale_volume *volume;
static uint8_t data[MIB];

/* ---- A backing file system that stalls ---- */

static const struct bale_io_ops *real;
static atomic_bool stalls;
static sem_t entered, go;

static int write_or_stall(struct bale_io *io, const void *bytes, size_t length, uint64_t position)
{
    if (atomic_load(&stalls)) {
        sem_post(&entered);
        sem_wait(&go);
    }
    return real->write(io, bytes, length, position);
}

static void let_go(void)
{
    atomic_store(&stalls, false);
    for (int i = 0; i < FILES; i++)
        sem_post(&go);
}

/* ---- Items of the engine's ---- */

static void post(struct bale_item *item)
{
    sem_post(item->owner);
}

/* False: the engine did not do it. */
static bool engine_does(struct bale_item *item)
{
    struct timespec until;
    sem_t done;

    sem_init(&done, 0, 0);
    item->done = post;
    item->owner = &done;
    item->priority = BALE_PRIORITY_NORMAL;
    bale_engine_submit(volume->engine, item);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    bool in_time = sem_timedwait(&done, &until) == 0;
    if (!in_time) {
        let_go(); /* the item is on this stack */
        sem_wait(&done);
    }
    return in_time && item->status == BALE_OK;
}

/* ---- The case ---- */

static enum bale_session_state certain(const void *arg, uint32_t session)
{
    (void)arg;
    (void)session;
    return BALE_SESSION_CERTAIN;
}

static struct bale_file *open_file(void)
{
    static struct bale_io_ops ops;
    struct bale_container_attr defaults = {.extent = 131072, .setting = {.codec = BALE_CODEC_LZ4}};
    char path[] = "/tmp/bale-stall-test-XXXXXX";
    struct bale_file *file;
    int fd = mkstemp(path);

    REQUIRE(fd >= 0 && unlink(path) == 0);
    REQUIRE(bale_file_open(volume, fd, &defaults, path, &file, NULL) == BALE_OK);
    struct bale_io *io = bale_container_io(file->container);
    if (!real) {
        real = io->ops;
        ops = *real;
        ops.write = write_or_stall;
    }
    io->ops = &ops;
    return file;
}

static void close_file(struct bale_file *file)
{
    struct bale_wait wait = BALE_WAIT;

    bale_file_on_close(file, bale_wait_closed, &wait);
    bale_file_unref(file);
    bale_wait_for(&wait);
}

static void decodes_meanwhile(void)
{
    static uint8_t raw[RAW], stored[2 * RAW];
    struct bale_wait waits[FILES];
    struct bale_file *files[FILES];
    struct bale_item item = {
        .kind = BALE_ITEM_ENCODE,
        .turn.user = 1,
        .setting = {.codec = BALE_CODEC_LZ4},
        .frame = {.raw_length = RAW, .chunk_log2 = 16},
        .raw = raw,
        .stored = stored,
        .capacity = sizeof stored,
    };

    CHECK(engine_does(&item));
    for (int i = 0; i < FILES; i++) {
        struct bale_wait wait = BALE_WAIT;
        bale_working_for = 1000 + (uint32_t)i;
        files[i] = open_file();
        bale_file_write(files[i], 0, data, MIB, bale_wait_done, &wait);
        CHECK_EQ((uint64_t)bale_wait_for(&wait), MIB);
    }
    atomic_store(&stalls, true);
    for (int i = 0; i < FILES; i++) {
        waits[i] = (struct bale_wait)BALE_WAIT;
        bale_file_flush(files[i], false, bale_wait_done, &waits[i]);
    }
    for (unsigned i = 0; i < 2; i++)
        sem_wait(&entered);
    item.kind = BALE_ITEM_DECODE;
    CHECK(engine_does(&item));
    let_go();
    for (int i = 0; i < FILES; i++) {
        CHECK_EQ(bale_wait_for(&waits[i]), BALE_OK);
        close_file(files[i]);
    }
}

int main(void)
{
    static _Atomic uint32_t session = 1;
    static pthread_rwlock_t roll = PTHREAD_RWLOCK_INITIALIZER;
    struct bale_volume_options options = {
        .memory = 64 * MIB,
        .threads = 1,
        .age_ms = 1000000,
        .reserve_fd = -1,
        .container = {.session = &session,
                      .session_roll = &roll,
                      .writable = true,
                      .session_state = certain},
    };

    sem_init(&entered, 0, 0);
    sem_init(&go, 0, 0);
    for (size_t i = 0; i < MIB; i++)
        data[i] = (uint8_t)(i * i >> 9);
    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);
    decodes_meanwhile();
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    return check_result();
}
