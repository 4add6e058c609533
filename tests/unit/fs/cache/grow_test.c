/* A larger default with a GPU: what the mounts of a user claim, and what a volume has then. */
#include "fs/cache/grow.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/memory_claim.h"
#include "fs/cache/reserve.h"
#include "tests/unit/fs/cache/parked.h"

#define UNIT ((uint64_t)64 << 20)

/* Claims are disjoint, never above the bound together, and end with their descriptor. */
static void claims(void)
{
    char path[] = "/tmp/bale-grow-test-XXXXXX";
    int file = mkstemp(path), first, second, third;

    REQUIRE(file >= 0);
    CHECK_EQ_U(bale_memory_claim_at(path, 3 * UNIT + 1, 4 * UNIT, &first), 3 * UNIT);
    CHECK_EQ_U(bale_memory_claim_at(path, 3 * UNIT, 4 * UNIT + UNIT / 2, &second), UNIT);
    CHECK_EQ_U(bale_memory_claim_at(path, UNIT, 4 * UNIT, &third), 0);
    CHECK_EQ(third, -1);
    close(first);
    CHECK_EQ_U(bale_memory_claim_at(path, 4 * UNIT, 4 * UNIT, &third), 3 * UNIT);
    close(second);
    close(third);
    CHECK_EQ_U(bale_memory_claim_at(path, UNIT - 1, 4 * UNIT, &third), 0);
    close(file);
    unlink(path);
    CHECK_EQ(symlink("/dev/null", path), 0);
    CHECK_EQ_U(bale_memory_claim_at(path, UNIT, UNIT, &third), 0);
    CHECK_EQ(third, -1);
    unlink(path);
}

static struct bale_volume *make_volume(uint64_t memory, int reserve_fd)
{
    struct bale_volume_options options = volume_options(memory, 1);
    struct bale_volume *volume;

    options.reserve_fd = reserve_fd;
    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);
    return volume;
}

/* An error that says nothing about space: no reserve, and writes go on with little dirty. */
static void goes_without(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct bale_volume *volume = make_volume(UNIT, fd);

    CHECK_EQ(atomic_load(&volume->full), BALE_OK);
    CHECK_EQ_U(volume->reserve.bytes, 0);
    CHECK_EQ_U(atomic_load(&volume->dirty_limit), (uint64_t)1 << 20);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    close(fd);
}

/* How far it grows depends on the machine; never does what is dirty exceed what the reserve
 * takes. */
static void grows(void)
{
    char path[] = "/tmp/bale-grow-test-XXXXXX";
    int fd = mkstemp(path);
    struct stat st;

    REQUIRE(fd >= 0);
    struct bale_volume *volume = make_volume(0, fd);
    uint64_t cap = bale_memory_cap(volume->memory), dirty = atomic_load(&volume->dirty_limit);
    uint64_t reserve = volume->reserve.bytes;
    bale_volume_grow(volume);
    uint64_t grown = bale_memory_cap(volume->memory);
    CHECK(grown >= cap && grown <= bale_memory_gpu_cap());
    CHECK(atomic_load(&volume->dirty_limit) >= dirty);
    CHECK(atomic_load(&volume->dirty_limit) <= grown / 2);
    CHECK(volume->reserve.bytes >= reserve);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ_U((uint64_t)st.st_size, volume->reserve.bytes);
    if (volume->reserve.bytes > 0 && atomic_load(&volume->dirty_limit) > dirty)
        CHECK(atomic_load(&volume->dirty_limit) / 8 * 9 <= volume->reserve.bytes);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);

    volume = make_volume(UNIT, fd);
    bale_volume_grow(volume); /* the user has said how much */
    CHECK_EQ_U(bale_memory_cap(volume->memory), UNIT);
    CHECK_EQ(volume->claim, -1);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    close(fd);
    unlink(path);
}

/* The flusher has it grow once a GPU is open, not before. */
static void grows_for_gpu(void)
{
    struct bale_volume *volume = make_volume(0, -1);

    bale_volume_grow_if_due(volume);
    CHECK(!volume->grow_job.run);
    atomic_store(&volume->grow_due, true);
    while (atomic_load(&volume->grow_due))
        usleep(1000);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
}

/* Pins a step for each post. */
static int pin(void *gate, void *start, size_t size)
{
    (void)start;
    (void)size;
    sem_wait(gate);
    return BALE_OK;
}

struct limit_case {
    bool given; /* the user has said how much memory */
    uint64_t limit, expected;
};

static void check_limits(struct bale_volume *volume, const struct limit_case *cases, size_t count)
{
    uint64_t given = volume->options.memory;

    for (size_t i = 0; i < count; i++) {
        volume->options.memory = cases[i].given ? given : 0;
        atomic_store(&volume->dirty_limit, cases[i].limit);
        CHECK_EQ_U(bale_reserve_dirty_limit(volume), cases[i].expected);
    }
    volume->options.memory = given;
}

/* Whether a write waits that a user begins who has `own` of the dirty bytes. */
static bool waits(struct bale_volume *volume, uint64_t own, uint64_t dirty)
{
    atomic_uint_fast64_t *owns = &volume->unevictable_of[bale_working_for % BALE_TURNS];
    struct bale_file *file = parked_open(volume);
    struct bale_wait wait = BALE_WAIT;

    atomic_fetch_add(owns, own);
    atomic_fetch_add(&volume->dirty, dirty);
    bale_file_write(file, 0, "data", 4, bale_wait_done, &wait);
    bool parked = bale_volume_waiting_writes(volume) > 0;
    atomic_fetch_sub(&volume->dirty, dirty);
    atomic_fetch_sub(owns, own);
    bale_volume_wake(volume);
    CHECK_EQ(bale_wait_for(&wait), 4);
    volume_file_close(file);
    return parked;
}

/* 8 units may be dirty now, and 32 are backed. Users who have less than a unit need not wait for
 * what others wrote before the limit fell, as long as they leave room for those who have less. */
static void check_users(struct bale_volume *volume)
{
    CHECK(!waits(volume, 2 * UNIT, 6 * UNIT));
    CHECK(!waits(volume, UNIT - 1, 7 * UNIT));
    CHECK(waits(volume, UNIT, 7 * UNIT));
    CHECK(waits(volume, UNIT, 16 * UNIT));
    CHECK(!waits(volume, UNIT - 1, 16 * UNIT));
    CHECK(!waits(volume, 0, 32 * UNIT - 4));
    CHECK(waits(volume, UNIT / 2, 32 * UNIT - UNIT / 2));
    CHECK(waits(volume, 0, 32 * UNIT));
}

/* What may be dirty follows what is pinned: by default always, even if nothing is, and where the
 * user has said how much memory there is, until everything is pinned that should be. */
static void dirty_follows_pins(void)
{
    static const struct limit_case before[] = {{true, 32 * UNIT, 32 * UNIT},
                                               {false, 32 * UNIT, 8 * UNIT}};
    static const struct limit_case during[] = {
        {true, 32 * UNIT, 8 * UNIT}, {false, 32 * UNIT, 8 * UNIT}, {false, 4 * UNIT, 4 * UNIT}};
    static const struct limit_case after[] = {
        {true, 48 * UNIT, 48 * UNIT}, {false, 48 * UNIT, 32 * UNIT}, {false, UNIT, UNIT}};
    struct bale_volume *volume = make_volume(64 * UNIT, -1);
    sem_t gate;

    parked_stop_flusher(volume);
    sem_init(&gate, 0, 0);
    check_limits(volume, before, sizeof before / sizeof *before);
    bale_memory_pin_begin(volume->memory, true, pin, &gate);
    while (bale_memory_pinned(volume->memory) == 0)
        usleep(1000);
    check_limits(volume, during, sizeof during / sizeof *during);
    atomic_store(&volume->dirty_limit, 32 * UNIT);
    check_users(volume);
    for (int i = 0; i < 128; i++)
        sem_post(&gate);
    while (bale_memory_is_pinning(volume->memory))
        usleep(1000);
    check_limits(volume, after, sizeof after / sizeof *after);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    sem_destroy(&gate);
}

int main(void)
{
    claims();
    goes_without();
    grows();
    grows_for_gpu();
    dirty_follows_pins();
    return check_result();
}
