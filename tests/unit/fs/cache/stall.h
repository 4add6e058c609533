/* A backing file system that stalls below the files of a test's volume. */
#ifndef BALE_TESTS_UNIT_FS_CACHE_STALL_H
#define BALE_TESTS_UNIT_FS_CACHE_STALL_H

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/cache/file_state.h"
#include "fs/container/io.h"
#include "tests/support/volume.h"

#define MIB ((uint64_t)1 << 20)
#define PATIENCE_S 100

/* How many calls may stall at a time: more than the engine has workers, which are one, and one for
 * other users; and as many as the pool has threads for one user. */
enum { FILES = 4 };

static struct bale_volume *volume;
static uint8_t data[MIB];
static char directory[] = "/tmp/bale-stall-test-XXXXXX";

static const struct bale_io_ops *real;
static atomic_bool writes_stall, reads_stall;
static sem_t entered, go;

static inline void stall_if(const atomic_bool *stalls)
{
    if (atomic_load(stalls)) {
        sem_post(&entered);
        sem_wait(&go);
    }
}

static inline int write_or_stall(struct bale_io *io, const void *bytes, size_t length,
                                 uint64_t position)
{
    stall_if(&writes_stall);
    return real->write(io, bytes, length, position);
}

static inline int read_or_stall(struct bale_io *io, void *bytes, size_t length, uint64_t position,
                                size_t *got)
{
    stall_if(&reads_stall);
    return real->read(io, bytes, length, position, got);
}

static inline void stall(atomic_bool *stalls)
{
    sem_init(&entered, 0, 0);
    sem_init(&go, 0, 0);
    atomic_store(stalls, true);
}

static inline void let_go(void)
{
    atomic_store(&writes_stall, false);
    atomic_store(&reads_stall, false);
    for (int i = 0; i < FILES; i++)
        sem_post(&go);
}

/* Waits until done is posted. False: nobody did so for long. What done belongs to lies on the
 * caller's stack, so this then ends the stall and waits on. */
static inline bool posted(sem_t *done)
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

/* Opens the file of this name in the directory, which it makes if it is missing. */
static inline struct bale_file *open_file(const char *name)
{
    static struct bale_io_ops ops;
    struct bale_container_attr defaults = {.extent = 16384, .setting = {.codec = BALE_CODEC_LZ4}};
    struct bale_file *file;
    char path[64];

    snprintf(path, sizeof path, "%s/%s", directory, name);
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

/* The same for a file that nobody opens again. */
static inline struct bale_file *open_last(const char *name)
{
    struct bale_file *file = open_file(name);
    char path[64];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    unlink(path);
    return file;
}

static inline void write_mib(struct bale_file *file, uint64_t count)
{
    for (uint64_t at = 0; at < count * MIB; at += MIB)
        volume_file_write(file, at, data, MIB);
}

static inline void stall_begin(void)
{
    struct bale_volume_options options = volume_options(64 * MIB, 1);

    options.age_ms = VOLUME_NEVER_MS;
    REQUIRE(mkdtemp(directory));
    for (size_t i = 0; i < MIB; i++)
        data[i] = (uint8_t)(i * i >> 9);
    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);
}

static inline void stall_end(void)
{
    rmdir(directory);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
}

#endif
