/* A flush that finds no space for its commit alone commits once more: the frames are stored
 * already. One that finds none for its frames stores the dirty blocks alone. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "format/limits.h"
#include "fs/cache/committed.h"
#include "kernels/frame/registry.h"
#include "tests/unit/fs/cache/parked.h"

#define CAP ((uint64_t)32 << 20)
#define LENGTH ((uint64_t)1 << 20)

static struct bale_volume *volume;
static uint8_t data[LENGTH];

/* What the file system still refuses, if there is no space for it: a root, or a larger write. */
static atomic_int roots, frames;

static bool refuses(atomic_int *count)
{
    return atomic_load(count) > 0 && atomic_fetch_sub(count, 1) > 0;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t position)
{
    if (refuses(length <= BALE_ROOT_SIZE ? &roots : &frames)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, bytes, length, position);
}

/* Frames of it are larger than a root. */
static void fill(uint32_t seed)
{
    for (size_t i = 0; i < LENGTH; i++)
        data[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
}

static uint64_t stored_items(void)
{
    struct bale_volume_stats stats;

    bale_volume_stats(volume, &stats);
    return stats.items;
}

/* What is committed. */
static void check_contents(struct bale_file *file)
{
    struct bale_scratch *scratch;
    static uint8_t back[LENGTH];

    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    CHECK_EQ(bale_file_read_committed(file, scratch, 0, LENGTH, back), BALE_OK);
    CHECK(memcmp(back, data, LENGTH) == 0);
    bale_scratch_destroy(scratch);
}

static void commit_alone(struct bale_file *file)
{
    uint64_t before = stored_items();

    fill(1);
    volume_file_write(file, 0, data, LENGTH);
    atomic_store(&roots, 1);
    volume_file_flush(file, false);
    CHECK_EQ(atomic_load(&roots), 0);
    CHECK_EQ_U(stored_items() - before, LENGTH / BALE_EXTENT_DEFAULT);
    check_contents(file);
}

static void frames_again(struct bale_file *file)
{
    fill(2);
    volume_file_write(file, 0, data, LENGTH);
    atomic_store(&frames, 1);
    volume_file_flush(file, false);
    CHECK_EQ(atomic_load(&frames), 0);
    check_contents(file);
}

int main(void)
{
    struct bale_volume_options options = volume_options(CAP, 1);

    options.age_ms = VOLUME_NEVER_MS;
    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);
    struct bale_file *file = parked_open(volume);
    fill(0);
    volume_file_write(file, 0, data, LENGTH);
    volume_file_flush(file, false); /* now the slots of the roots are there */
    commit_alone(file);
    frames_again(file);
    volume_file_close(file);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    return check_result();
}
