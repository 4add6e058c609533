/* A backing file system that stalls. Writes that do take no thread of the engine's: it decodes what
 * others read meanwhile; and a file that has nothing to store is closed. Nor do closes keep others
 * from reading whose callers write. Reads of a file's index keep nobody from its attributes. What
 * is given up while it waits is not done. */
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/wait.h"
#include "fs/cache/copy.h"
#include "fs/cache/file_state.h"
#include "fs/container/io.h"
#include "kernels/base/working_for.h"
#include "tests/check.h"

#define MIB ((uint64_t)1 << 20)
#define RAW 4096
#define PATIENCE_S 100
#define PAGED_MIB 16

/* More than the engine has workers: one, and one for other users. So many threads the pool has for
 * one user. */
enum { FILES = 4 };

static struct bale_volume *volume;
static uint8_t data[MIB];

/* ---- A backing file system that stalls ---- */

static const struct bale_io_ops *real;
static atomic_bool writes_stall, reads_stall;
static sem_t entered, go;

static void stall_if(const atomic_bool *stalls)
{
    if (atomic_load(stalls)) {
        sem_post(&entered);
        sem_wait(&go);
    }
}

static int write_or_stall(struct bale_io *io, const void *bytes, size_t length, uint64_t position)
{
    stall_if(&writes_stall);
    return real->write(io, bytes, length, position);
}

static int read_or_stall(struct bale_io *io, void *bytes, size_t length, uint64_t position,
                         size_t *got)
{
    stall_if(&reads_stall);
    return real->read(io, bytes, length, position, got);
}

static void stall(atomic_bool *stalls)
{
    sem_init(&entered, 0, 0);
    sem_init(&go, 0, 0);
    atomic_store(stalls, true);
}

static void let_go(void)
{
    atomic_store(&writes_stall, false);
    atomic_store(&reads_stall, false);
    for (int i = 0; i < FILES; i++)
        sem_post(&go);
}

/* False: nobody posted it. Then what it waits for lies on the caller's stack: lets go, and
 * waits. */
static bool posted(sem_t *done)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    if (sem_timedwait(done, &until) == 0)
        return true;
    let_go();
    sem_wait(done);
    return false;
}

/* ---- Items of the engine's ---- */

static void post(struct bale_item *item)
{
    sem_post(item->owner);
}

/* False: the engine did not do it. */
static bool engine_does(struct bale_item *item)
{
    sem_t done;

    sem_init(&done, 0, 0);
    item->done = post;
    item->owner = &done;
    item->priority = BALE_PRIORITY_NORMAL;
    bale_engine_submit(volume->engine, item);
    return posted(&done) && item->status == BALE_OK;
}

/* ---- Files ---- */

static enum bale_session_state certain(const void *arg, uint32_t session)
{
    (void)arg;
    (void)session;
    return BALE_SESSION_CERTAIN;
}

static struct bale_file *open_file(const char *path)
{
    static struct bale_io_ops ops;
    struct bale_container_attr defaults = {.extent = 16384, .setting = {.codec = BALE_CODEC_LZ4}};
    struct bale_file *file;
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    REQUIRE(fd >= 0);
    REQUIRE(bale_file_open(volume, fd, &defaults, path, &file, NULL) == BALE_OK);
    struct bale_io *io = bale_container_io(file->container);
    if (!real) {
        real = io->ops;
        ops = *real;
        ops.write = write_or_stall;
        ops.read = read_or_stall;
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

static void write_mib(struct bale_file *file, uint64_t count)
{
    for (uint64_t at = 0; at < count * MIB; at += MIB) {
        struct bale_wait wait = BALE_WAIT;
        bale_file_write(file, at, data, MIB, bale_wait_done, &wait);
        CHECK_EQ((uint64_t)bale_wait_for(&wait), MIB);
    }
}

/* Each is the user's. */
static void write_files(const char *directory, struct bale_file **files, const uint32_t *users)
{
    for (int i = 0; i < FILES; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%d", directory, i);
        bale_working_for = users[i];
        files[i] = open_file(path);
        unlink(path);
        write_mib(files[i], 1);
    }
}

static void begin_flushes(struct bale_file **files, struct bale_wait *waits)
{
    for (int i = 0; i < FILES; i++) {
        waits[i] = (struct bale_wait)BALE_WAIT;
        bale_file_flush(files[i], false, bale_wait_done, &waits[i]);
    }
}

static void end_flushes(struct bale_file **files, struct bale_wait *waits)
{
    for (int i = 0; i < FILES; i++) {
        CHECK_EQ(bale_wait_for(&waits[i]), BALE_OK);
        close_file(files[i]);
    }
}

/* ---- Cases ---- */

static void decodes_meanwhile(const char *directory)
{
    static const uint32_t users[FILES] = {1000, 1001, 1002, 1003};
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
    write_files(directory, files, users);
    stall(&writes_stall);
    begin_flushes(files, waits);
    for (unsigned i = 0; i < 2; i++)
        sem_wait(&entered);
    item.kind = BALE_ITEM_DECODE;
    CHECK(engine_does(&item));
    let_go();
    end_flushes(files, waits);
}

static void note_closed(void *arg, bool written, const struct stat *last)
{
    (void)written;
    (void)last;
    sem_post(arg);
}

static void note_read(void *arg, int64_t result)
{
    CHECK_EQ(result, RAW);
    sem_post(arg);
}

/* All by one user: what he has open and did not write to is his as well. */
static void closes_meanwhile(const char *directory)
{
    const uint32_t user = getuid(), users[FILES] = {user, user, user, user};
    struct bale_file *files[FILES], *clean;
    struct bale_wait waits[FILES];
    char path[64];
    sem_t closed;

    sem_init(&closed, 0, 0);
    snprintf(path, sizeof path, "%s/clean", directory);
    clean = open_file(path);
    unlink(path);
    write_files(directory, files, users);
    stall(&writes_stall);
    begin_flushes(files, waits);
    for (unsigned i = 0; i < FILES; i++)
        sem_wait(&entered);
    bale_file_on_close(clean, note_closed, &closed);
    bale_file_unref(clean);
    CHECK(posted(&closed));
    let_go();
    end_flushes(files, waits);
}

static void write_when_closed(void *arg, bool written, const struct stat *last)
{
    (void)written;
    (void)last;
    sem_post(&entered);
    sem_wait(&go);
    sem_post(arg);
}

/* Closes that store nothing, of which whoever is told writes, while others miss the cache. */
static void reads_beside_closes(const char *directory)
{
    struct bale_file *files[FILES], *read_file;
    struct bale_read read;
    sem_t closed, done;
    char path[64];

    sem_init(&closed, 0, 0);
    sem_init(&done, 0, 0);
    bale_working_for = getuid();
    snprintf(path, sizeof path, "%s/read", directory);
    read_file = open_file(path);
    write_mib(read_file, 1);
    close_file(read_file);
    read_file = open_file(path);
    unlink(path);
    sem_init(&entered, 0, 0);
    sem_init(&go, 0, 0);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%d", directory, i);
        files[i] = open_file(path);
        unlink(path);
        bale_file_on_close(files[i], write_when_closed, &closed);
        bale_file_close_writes(files[i]);
        bale_file_unref(files[i]);
    }
    for (int i = 0; i < FILES; i++)
        sem_wait(&entered);
    bale_file_read(read_file, 0, RAW, &read, note_read, &done);
    CHECK(posted(&done));
    bale_read_release(&read);
    let_go();
    for (int i = 0; i < FILES; i++)
        sem_wait(&closed);
    close_file(read_file);
}

struct asking {
    struct bale_file *file;
    struct bale_file_attr attr;
    sem_t done;
};

static void *ask_thread(void *arg)
{
    struct asking *asking = arg;

    bale_file_attr(asking->file, &asking->attr);
    sem_post(&asking->done);
    return NULL;
}

/* The file's index has many pages, of which an open reads the first. */
static void attributes_meanwhile(const char *directory)
{
    struct bale_wait wait = BALE_WAIT;
    struct asking asking;
    struct bale_read read;
    pthread_t thread;
    char path[64];

    snprintf(path, sizeof path, "%s/paged", directory);
    asking.file = open_file(path);
    write_mib(asking.file, PAGED_MIB);
    close_file(asking.file);
    asking.file = open_file(path);
    unlink(path);
    sem_init(&asking.done, 0, 0);
    stall(&reads_stall);
    bale_file_read(asking.file, (PAGED_MIB - 1) * MIB, 4096, &read, bale_wait_done, &wait);
    sem_wait(&entered);
    REQUIRE(pthread_create(&thread, NULL, ask_thread, &asking) == 0);
    CHECK(posted(&asking.done));
    CHECK_EQ_U(asking.attr.size, PAGED_MIB * MIB);
    let_go();
    CHECK_EQ(bale_wait_for(&wait), 4096);
    bale_read_release(&read);
    pthread_join(thread, NULL);
    close_file(asking.file);
}

#define PART 100
#define SIZE (MIB - PART)

/* It needs the old contents of a block. */
static void give_up_write(struct bale_file *file, uint64_t at)
{
    static const uint8_t other[PART];
    atomic_bool given_up = false;
    const struct bale_writer writer = {.given_up = &given_up};
    struct bale_wait wait = BALE_WAIT;
    struct bale_file_attr attr;

    stall(&reads_stall);
    bale_file_write_by(file, at, other, sizeof other, &writer, bale_wait_done, &wait);
    sem_wait(&entered);
    atomic_store(&given_up, true);
    let_go();
    CHECK_EQ(bale_wait_for(&wait), BALE_E_CANCELLED);
    bale_file_attr(file, &attr);
    CHECK_EQ_U(attr.size, SIZE);
    CHECK_EQ_U(attr.dirty, 0);
}

static void gives_up_writes(const char *directory)
{
    struct bale_wait wait = BALE_WAIT;
    char path[64];

    snprintf(path, sizeof path, "%s/written", directory);
    struct bale_file *file = open_file(path);
    bale_file_write(file, 0, data, SIZE, bale_wait_done, &wait);
    CHECK_EQ((uint64_t)bale_wait_for(&wait), SIZE);
    close_file(file);
    file = open_file(path); /* again, so that nothing of it is cached */
    unlink(path);
    give_up_write(file, MIB / 2 + 10);
    give_up_write(file, SIZE + 10);
    close_file(file);
}

static atomic_bool copy_given_up;

static bool is_given_up(void *arg)
{
    (void)arg;
    return atomic_load(&copy_given_up);
}

/* It waits until the source is stored. */
static void gives_up_copies(const char *directory)
{
    struct bale_copy copy = {.length = MIB, .given_up = is_given_up};
    struct bale_wait wait = BALE_WAIT;
    struct bale_file_attr attr;
    char path[64];

    snprintf(path, sizeof path, "%s/source", directory);
    struct bale_file *from = open_file(path);
    unlink(path);
    write_mib(from, 1);
    snprintf(path, sizeof path, "%s/target", directory);
    struct bale_file *to = open_file(path);
    unlink(path);
    stall(&writes_stall);
    bale_file_copy(from, to, &copy, bale_wait_done, &wait);
    sem_wait(&entered);
    atomic_store(&copy_given_up, true);
    let_go();
    CHECK_EQ(bale_wait_for(&wait), BALE_E_CANCELLED);
    bale_file_attr(to, &attr);
    CHECK_EQ_U(attr.size, 0);
    close_file(from);
    close_file(to);
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

    char directory[] = "/tmp/bale-stall-test-XXXXXX";

    REQUIRE(mkdtemp(directory));
    for (size_t i = 0; i < MIB; i++)
        data[i] = (uint8_t)(i * i >> 9);
    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);
    decodes_meanwhile(directory);
    closes_meanwhile(directory);
    reads_beside_closes(directory);
    attributes_meanwhile(directory);
    gives_up_writes(directory);
    gives_up_copies(directory);
    rmdir(directory);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    return check_result();
}
