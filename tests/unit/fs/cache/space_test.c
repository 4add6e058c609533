/* Writes that lack space of the backing store look again when something in the volume gives blocks
 * back; others cause no look. */
#include "fs/cache/reserve.h"
#include "tests/unit/fs/cache/parked.h"

#define CAP ((uint64_t)32 << 20)
#define SIZE 100000
#define MORE_THAN_THERE_IS ((uint64_t)1 << 60)

static struct bale_volume *volume;
static uint8_t data[SIZE];

/* The backing store is full until the reserve fits again. */
static void become_full(void)
{
    volume->reserve.bytes = MORE_THAN_THERE_IS;
    atomic_store(&volume->full, BALE_E_NOSPACE);
    bale_reserve_note_freed(volume);
}

static void become_free(void)
{
    pthread_mutex_lock(&volume->reserve.lock);
    volume->reserve.bytes = 0;
    pthread_mutex_unlock(&volume->reserve.lock);
}

/* Waits until the write is parked, and has been told of what came before. */
static void write_parked(struct bale_file *file, struct bale_wait *wait)
{
    *wait = (struct bale_wait)BALE_WAIT;
    bale_file_write(file, 0, data, SIZE, bale_wait_done, wait);
    while (bale_volume_waiting_writes(volume) == 0)
        usleep(1000);
    CHECK(atomic_load(&volume->space_came));
    atomic_store(&volume->space_came, false);
}

enum way { TRUNCATE, PUNCH, SYNC, CLOSE, REMOVE, TELL, WAYS };

/* Gives blocks back, or is about to. */
static void give_back(enum way way, struct bale_file *other)
{
    struct bale_wait wait = BALE_WAIT;

    if (way == CLOSE)
        volume_file_close(other);
    else if (way == REMOVE)
        bale_volume_removed(volume, 1);
    else if (way == TELL)
        bale_volume_tell_space(volume);
    else if (way == SYNC)
        volume_file_flush(other, true);
    else if (way == TRUNCATE)
        bale_file_truncate(other, 0, bale_wait_done, &wait);
    else
        bale_file_allocate(other, BALE_ALLOCATE_PUNCH, 0, SIZE, bale_wait_done, &wait);
    if (way == TRUNCATE || way == PUNCH)
        CHECK_EQ(bale_wait_for(&wait), BALE_OK);
}

static void wakes(enum way way)
{
    struct bale_file *file = parked_open(volume), *other = parked_open(volume);
    struct bale_wait wait;

    volume_file_write(other, 0, data, SIZE);
    volume_file_flush(other, false);
    become_full();
    CHECK(!atomic_load(&volume->space_came)); /* nobody lacks any */
    write_parked(file, &wait);
    become_free();
    give_back(way, other);
    CHECK(atomic_load(&volume->space_came));
    bale_flusher_look(volume);
    parked_check_woken(volume, &wait, SIZE);
    CHECK_EQ(atomic_load(&volume->full), BALE_OK);
    CHECK_EQ_U(atomic_load(&volume->lacking_space), 0);
    bale_flusher_look(volume); /* restoring the reserve has told of space, too */
    if (way != CLOSE)
        volume_file_close(other);
    volume_file_close(file);
}

/* The limit of a project: a file takes nothing more until what it has could be stored. */
static void stores_first(void)
{
    struct bale_file *file = parked_open(volume), *other = parked_open(volume);
    struct bale_wait wait;

    volume_file_write(other, 0, data, SIZE);
    volume_file_flush(other, false);
    volume_file_write(file, 0, data, SIZE);
    pthread_mutex_lock(&file->lock);
    file->refused = BALE_E_NOSPACE;
    pthread_mutex_unlock(&file->lock);
    bale_reserve_note_freed(volume);
    write_parked(file, &wait);
    give_back(SYNC, other);
    CHECK(atomic_load(&volume->space_came));
    bale_flusher_look(volume);
    CHECK_EQ(bale_wait_for(&wait), SIZE);
    volume_file_close(other);
    volume_file_close(file);
}

int main(void)
{
    struct bale_volume_options options = volume_options(CAP, 1);
    FILE *reserve = tmpfile();

    REQUIRE(reserve);
    options.age_ms = VOLUME_NEVER_MS;
    options.reserve_fd = fileno(reserve);
    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);
    parked_stop_flusher(volume);
    for (enum way way = 0; way < WAYS; way++)
        wakes(way);
    stores_first();
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    fclose(reserve);
    return check_result();
}
