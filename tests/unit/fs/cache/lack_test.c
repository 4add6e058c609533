/* Writes that lack memory are woken as soon as there is some, however it comes. */
#include <pthread.h>
#include <sched.h>

#include "fs/cache/evict.h"
#include "fs/cache/extent.h"
#include "tests/unit/fs/cache/parked.h"

#define CAP ((uint64_t)32 << 20)
#define PAGE 4096
#define PATIENCE_MS 20000
#define BLOCKS_MOST (CAP / PAGE)

static struct bale_volume *volume;
static const uint8_t data[PAGE] = {1};

/* Blocks of the arena that the test holds. */
static void *held[BLOCKS_MOST];
static size_t held_count;

/* Takes what is left of the arena, and what can be evicted. */
static void take_all(void)
{
    void *block;

    while ((block = bale_cache_allocate(volume, PAGE, NULL)))
        held[held_count++] = block;
}

static void free_one(void)
{
    bale_memory_free(volume->memory, held[--held_count], PAGE);
}

static void free_all(void)
{
    while (held_count > 0)
        free_one();
}

/* Writes a block, for which there is no memory. */
static void write_parked(struct bale_file *file, struct bale_wait *wait)
{
    *wait = (struct bale_wait)BALE_WAIT;
    bale_file_write(file, 0, data, sizeof data, bale_wait_done, wait);
    CHECK_EQ_U(bale_volume_waiting_writes(volume), 1);
}

/* A write waits while all is taken, and make_room wakes it. */
static void check_woken_by(void (*make_room)(void))
{
    struct bale_file *file = parked_open(volume);
    struct bale_wait wait;

    take_all();
    write_parked(file, &wait);
    make_room();
    parked_check_woken(volume, &wait, sizeof data);
    free_all();
    volume_file_close(file);
}

static void count_less(void)
{
    bale_memory_count(volume->memory, -(int64_t)CAP / 2);
}

/* The cap counts less that lies elsewhere. */
static void counted(void)
{
    bale_memory_count(volume->memory, CAP / 2);
    check_woken_by(count_less);
}

/* A device can write to it no longer. */
static void quarantined(void)
{
    struct bale_file *file = parked_open(volume);
    struct bale_wait wait;

    take_all();
    bale_memory_set_quarantine(volume->memory, true);
    while (held_count > 0)
        bale_memory_quarantine(volume->memory, held[--held_count], PAGE);
    write_parked(file, &wait);
    bale_memory_set_quarantine(volume->memory, false);
    parked_check_woken(volume, &wait, sizeof data);
    volume_file_close(file);
}

/* An extent has been filled, and may be evicted from then on. */
static void filled(void)
{
    struct bale_file *file = parked_open(volume), *read = parked_open(volume);
    struct bale_wait wait;

    pthread_mutex_lock(&read->lock);
    struct bale_extent *extent = bale_extent_get(read, 0, PAGE);
    REQUIRE(extent);
    bale_fill_begin(extent, 1);
    pthread_mutex_unlock(&read->lock);
    take_all();
    write_parked(file, &wait);
    pthread_mutex_lock(&read->lock);
    CHECK_EQ(bale_fill_end(extent, 1, BALE_OK), BALE_OK);
    pthread_mutex_unlock(&read->lock);
    parked_check_woken(volume, &wait, sizeof data);
    free_all();
    volume_file_close(read);
    volume_file_close(file);
}

/* What could be evicted belongs to a file that is locked. The write goes on when it no longer is;
 * the thread that asked for the write does not wait for that: here it has the lock. */
static void locked(void)
{
    struct bale_file *file = parked_open(volume), *busy = parked_open(volume);
    struct bale_wait wait = BALE_WAIT;

    volume_file_write(busy, 0, data, sizeof data);
    volume_file_flush(busy, false);
    pthread_mutex_lock(&busy->lock);
    take_all();
    bale_file_write(file, 0, data, sizeof data, bale_wait_done, &wait);
    while (atomic_load(&busy->refs) == 1 && bale_volume_waiting_writes(volume) == 0)
        sched_yield();
    CHECK_EQ_U(bale_volume_waiting_writes(volume), 0);
    pthread_mutex_unlock(&busy->lock);
    parked_check_woken(volume, &wait, sizeof data);
    free_all();
    volume_file_close(busy);
    volume_file_close(file);
}

/* A clean extent that is to grow is not what makes room for that. */
static void grown(void)
{
    struct bale_file *file = parked_open(volume);
    void *block;

    volume_file_write(file, 0, data, sizeof data);
    volume_file_flush(file, false);
    while ((block = bale_memory_allocate(volume->memory, PAGE)))
        held[held_count++] = block;
    pthread_mutex_lock(&file->lock);
    struct bale_extent *extent = bale_extent_find(&file->table, 0);
    CHECK(extent && !bale_extent_get(file, 0, sizeof data + 1));
    CHECK(bale_extent_find(&file->table, 0) == extent);
    free_one();
    free_one();
    CHECK(bale_extent_get(file, 0, sizeof data + 1) == extent);
    CHECK(bale_cache_evict(volume, file));
    CHECK(!bale_extent_find(&file->table, 0));
    pthread_mutex_unlock(&file->lock);
    free_all();
    volume_file_close(file);
}

/* Too much was dirty, and some of that need not be stored any more. */
static void discarded(void)
{
    struct bale_file *file = parked_open(volume), *gone = parked_open(volume);
    uint64_t limit = atomic_load(&volume->dirty_limit);
    struct bale_wait wait;

    volume_file_write(gone, 0, data, sizeof data);
    atomic_store(&volume->dirty_limit, PAGE);
    write_parked(file, &wait);
    bale_file_discard(gone);
    volume_file_close(gone);
    parked_check_woken(volume, &wait, sizeof data);
    atomic_store(&volume->dirty_limit, limit);
    volume_file_close(file);
}

/* Of those that wait, the first of each user looks, and then the user's next. Others are left
 * alone. */
static void first_of_each_user(void)
{
    static const struct {
        enum bale_lack lack;
        uint32_t user;
    } waiting[] = {{BALE_LACKS_FLUSH, 1},  {BALE_LACKS_MEMORY, 1}, {BALE_LACKS_MEMORY, 1},
                   {BALE_LACKS_MEMORY, 1}, {BALE_LACKS_MEMORY, 2}, {BALE_LACKS_FLUSH, 3}};
    enum { COUNT = sizeof waiting / sizeof waiting[0] };
    struct parked parked[COUNT];

    for (int i = 0; i < COUNT; i++) {
        parked_look(&parked[i], volume);
        parked[i].write.lack = waiting[i].lack;
        parked[i].write.job.turn.user = waiting[i].user;
        bale_volume_park(volume, &parked[i].write);
    }
    bale_memory_lack(volume->memory);
    bale_memory_tell_room(volume->memory);
    CHECK_EQ_U(bale_volume_waiting_writes(volume), COUNT - 2);
    bale_wait_for(&parked[1].wait);
    bale_wait_for(&parked[4].wait);
    bale_volume_wake_next(volume, 2);
    CHECK_EQ_U(bale_volume_waiting_writes(volume), COUNT - 2);
    bale_volume_wake_next(volume, 1);
    CHECK_EQ_U(bale_volume_waiting_writes(volume), COUNT - 3);
    bale_wait_for(&parked[2].wait);
    bale_volume_wake(volume);
    bale_wait_for(&parked[0].wait);
    bale_wait_for(&parked[3].wait);
    bale_wait_for(&parked[5].wait);
}

/* All go on, one after the other, although the memory tells only once that it has room. */
static void one_after_the_other(void)
{
    enum { WRITES = 8 };
    struct bale_file *files[WRITES];
    struct bale_wait waits[WRITES];

    take_all();
    for (int i = 0; i < WRITES; i++) {
        files[i] = parked_open(volume);
        waits[i] = (struct bale_wait)BALE_WAIT;
        bale_file_write(files[i], 0, data, sizeof data, bale_wait_done, &waits[i]);
    }
    CHECK_EQ_U(bale_volume_waiting_writes(volume), WRITES);
    bale_memory_on_room(volume->memory, NULL, NULL);
    free_all();
    bale_volume_wake_for_memory(volume);
    for (int ms = 0; ms < PATIENCE_MS && bale_volume_waiting_writes(volume) > 0; ms++)
        usleep(1000);
    CHECK_EQ_U(bale_volume_waiting_writes(volume), 0);
    bale_volume_wake(volume);
    for (int i = 0; i < WRITES; i++) {
        CHECK_EQ(bale_wait_for(&waits[i]), sizeof data);
        volume_file_close(files[i]);
    }
}

int main(void)
{
    struct bale_volume_options options = volume_options(CAP, 1);

    options.age_ms = VOLUME_NEVER_MS;
    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);
    parked_stop_flusher(volume);
    check_woken_by(free_one);
    counted();
    quarantined();
    filled();
    locked();
    grown();
    discarded();
    first_of_each_user();
    one_after_the_other();
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    return check_result();
}
