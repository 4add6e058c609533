/* The arena and devices: what is pinned when, and what stays because a device may still use it. */
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/memory_state.h"
#include "tests/check.h"

#define STEP ((size_t)32 << 20)

struct pins {
    sem_t done;
    void *starts[8];
    size_t sizes[8];
    atomic_int count;
    int most;
};

static int pin(void *arg, void *start, size_t size)
{
    struct pins *pins = arg;
    int i = atomic_load(&pins->count);

    if (i == pins->most) {
        sem_post(&pins->done);
        return BALE_E_NOMEM;
    }
    pins->starts[i] = start;
    pins->sizes[i] = size;
    atomic_store(&pins->count, i + 1);
    sem_post(&pins->done);
    return BALE_OK;
}

static bool is_mapped(void *start)
{
    unsigned char pages[STEP / 4096];

    return mincore(start, STEP, pages) == 0;
}

/* A quarter of the cap is pinned before it is used, and later a quarter more than was used; trim
 * leaves it alone, and destroy as well. */
static void test_pinning(void)
{
    struct bale_memory *memory;
    struct pins pins = {.most = 8};

    sem_init(&pins.done, 0, 0);
    CHECK_EQ(bale_memory_create(4 * STEP, &memory), 0);
    bale_memory_pin_begin(memory, false, pin, &pins);
    sem_wait(&pins.done);
    CHECK_EQ(atomic_load(&pins.count), 1);
    uint8_t *first = bale_memory_allocate(memory, STEP / 2);
    uint8_t *second = bale_memory_allocate(memory, STEP / 4 * 5);
    sem_wait(&pins.done);
    sem_wait(&pins.done);
    CHECK_EQ(atomic_load(&pins.count), 3);
    CHECK_EQ_U(bale_memory_pinned(memory), 3 * STEP);
    for (int i = 0; i < 3; i++)
        CHECK(pins.starts[i] == first + (size_t)i * STEP && pins.sizes[i] == STEP);
    first[0] = 1;
    second[STEP - 1] = 2;
    bale_memory_free(memory, first, STEP / 2);
    bale_memory_free(memory, second, STEP / 4 * 5);
    bale_memory_trim(memory);
    CHECK_EQ(first[0], 1);
    CHECK_EQ(second[STEP - 1], 2);

    /* Memory counted elsewhere reduces what the arena hands out. */
    bale_memory_count(memory, (int64_t)STEP);
    first = bale_memory_allocate(memory, 5 * STEP / 2);
    first[5 * STEP / 2 - 1] = 3;
    bale_memory_free(memory, first, 5 * STEP / 2);
    CHECK_EQ(atomic_load(&pins.count), 3);
    bale_memory_pin_end(memory);
    bale_memory_pin_begin(memory, false, pin, &pins);
    bale_memory_trim(memory);
    CHECK_EQ(first[5 * STEP / 2 - 1], 3);
    bale_memory_count(memory, -(int64_t)STEP);
    first = bale_memory_allocate(memory, 4 * STEP);
    first[4 * STEP - 1] = 4;
    bale_memory_free(memory, first, 4 * STEP);
    bale_memory_trim(memory);
    CHECK_EQ(first[4 * STEP - 1], 0);
    CHECK_EQ(atomic_load(&pins.count), 3);
    bale_memory_destroy(memory);
    for (int i = 0; i < 3; i++)
        CHECK(is_mapped(pins.starts[i]));
    sem_destroy(&pins.done);
}

/* A cap that grows has its memory behind what there was; pages that were pinned are given back when
 * they are not any more. */
static void test_growing(void)
{
    struct bale_memory *memory;
    struct pins pins = {.most = 8};

    sem_init(&pins.done, 0, 0);
    CHECK_EQ(bale_memory_create_growing(2 * STEP, 4 * STEP + 1, &memory), 0);
    uint8_t *first = bale_memory_allocate(memory, 2 * STEP);
    CHECK(!bale_memory_allocate(memory, 1));
    bale_memory_grow(memory, 3 * STEP);
    CHECK_EQ_U(bale_memory_cap(memory), 3 * STEP);
    CHECK(bale_memory_allocate(memory, STEP) == first + 2 * STEP);
    CHECK(!bale_memory_allocate(memory, 1));
    bale_memory_grow(memory, 8 * STEP);
    CHECK_EQ_U(bale_memory_cap(memory), 4 * STEP);
    bale_memory_grow(memory, STEP);
    CHECK_EQ_U(bale_memory_cap(memory), 4 * STEP);
    bale_memory_pin_begin(memory, true, pin, &pins);
    for (int i = 0; i < 4; i++)
        sem_wait(&pins.done);
    first[0] = 1;
    first[STEP] = 2;
    bale_memory_free(memory, first, STEP);
    bale_memory_trim(memory);
    CHECK_EQ(first[0], 1);
    bale_memory_trim_unpinned(memory);
    CHECK_EQ(first[0], 0);
    CHECK_EQ(first[STEP], 2);
    bale_memory_free(memory, first + STEP, 2 * STEP);
    bale_memory_destroy(memory);
    sem_destroy(&pins.done);
}

/* All that there is room for, with nothing used. */
static void test_pinning_all(void)
{
    struct bale_memory *memory;
    struct pins pins = {.most = 8};

    sem_init(&pins.done, 0, 0);
    CHECK_EQ(bale_memory_create(4 * STEP, &memory), 0);
    bale_memory_count(memory, (int64_t)STEP);
    bale_memory_pin_begin(memory, true, pin, &pins);
    for (int i = 0; i < 3; i++)
        sem_wait(&pins.done);
    bale_memory_pin_end(memory);
    CHECK_EQ(atomic_load(&pins.count), 3);
    bale_memory_destroy(memory);
    sem_destroy(&pins.done);
}

static int pin_nothing(void *arg, void *start, size_t size)
{
    (void)arg;
    (void)start;
    (void)size;
    return BALE_OK;
}

static void wait_for_pins(const struct bale_memory *memory, uint64_t bytes)
{
    while (bale_memory_pinned(memory) < bytes || bale_memory_is_pinning(memory))
        usleep(1000);
    usleep(100000); /* in which a pinner that went on would */
    CHECK_EQ_U(bale_memory_pinned(memory), bytes);
}

static atomic_bool scarce;
static atomic_int looks; /* whether memory is scarce */

static bool is_scarce(void)
{
    atomic_fetch_add(&looks, 1);
    return atomic_load(&scarce);
}

/* Without any use a quarter of the cap is pinned, but 1 GiB at most; a cap that grows has more of
 * it. */
static void test_pinning_ahead(void)
{
    struct bale_memory *memory;

    CHECK_EQ(bale_memory_create_growing(48 * STEP, 512 * STEP, &memory), 0);
    memory->is_scarce = is_scarce;
    bale_memory_pin_begin(memory, false, pin_nothing, NULL);
    wait_for_pins(memory, 12 * STEP);
    bale_memory_grow(memory, 64 * STEP);
    wait_for_pins(memory, 16 * STEP);
    bale_memory_grow(memory, 512 * STEP);
    wait_for_pins(memory, 32 * STEP);
    CHECK(bale_memory_allocate(memory, 32 * STEP));
    wait_for_pins(memory, 40 * STEP);
    bale_memory_destroy(memory);
}

/* While memory is scarce, what is due is pinned, and no more. The pinner has looked once and waits,
 * until another step is due or the cap grows. */
static void test_scarce(void)
{
    struct bale_memory *memory;

    CHECK_EQ(bale_memory_create_growing(48 * STEP, 64 * STEP, &memory), 0);
    memory->is_scarce = is_scarce;
    atomic_store(&scarce, true);
    atomic_store(&looks, 0);
    bale_memory_pin_begin(memory, false, pin_nothing, NULL);
    while (atomic_load(&looks) == 0)
        usleep(1000);
    wait_for_pins(memory, 8 * STEP);
    CHECK_EQ(atomic_load(&looks), 1);
    CHECK(bale_memory_allocate(memory, STEP)); /* for which enough is pinned */
    wait_for_pins(memory, 8 * STEP);
    CHECK_EQ(atomic_load(&looks), 1);
    CHECK(bale_memory_allocate(memory, 7 * STEP));
    while (atomic_load(&looks) == 1)
        usleep(1000);
    wait_for_pins(memory, 10 * STEP);
    atomic_store(&scarce, false);
    bale_memory_grow(memory, 64 * STEP);
    wait_for_pins(memory, 16 * STEP);
    bale_memory_destroy(memory);
}

/* A step that cannot be pinned is as it was, and is the last that is tried. */
static void test_no_pinning(void)
{
    struct bale_memory *memory;
    struct pins pins = {.most = 1};

    sem_init(&pins.done, 0, 0);
    CHECK_EQ(bale_memory_create(4 * STEP, &memory), 0);
    uint8_t *block = bale_memory_allocate(memory, 3 * STEP);
    block[0] = 1;
    block[STEP] = 2;
    bale_memory_pin_begin(memory, false, pin, &pins);
    sem_wait(&pins.done);
    sem_wait(&pins.done);
    bale_memory_pin_end(memory);
    bale_memory_free(memory, block, 3 * STEP);
    bale_memory_trim(memory);
    CHECK_EQ(block[0], 1);
    CHECK_EQ(block[STEP], 0);
    CHECK_EQ(atomic_load(&pins.count), 1);
    bale_memory_destroy(memory);
    sem_destroy(&pins.done);
}

/* Pinned memory is allocated before other memory, whatever the size of the blocks was. */
static void test_kept_in_reach(void)
{
    struct bale_memory *memory;
    struct pins pins = {.most = 1};

    sem_init(&pins.done, 0, 0);
    CHECK_EQ(bale_memory_create(2 * STEP, &memory), 0);
    bale_memory_pin_begin(memory, true, pin, &pins);
    sem_wait(&pins.done);
    sem_wait(&pins.done);
    bale_memory_pin_end(memory);
    uint8_t *first = bale_memory_allocate(memory, 8192);
    uint8_t *rest = bale_memory_allocate(memory, STEP - 8192);
    uint8_t *beyond = bale_memory_allocate(memory, 8192);
    CHECK(rest == first + 8192 && beyond == first + STEP);
    bale_memory_free(memory, first, 8192);
    CHECK(bale_memory_allocate(memory, 4096) == first);
    bale_memory_free(memory, beyond, 8192);
    bale_memory_free(memory, rest, STEP - 8192);
    CHECK(bale_memory_allocate(memory, 8192) == rest - 4096);
    bale_memory_destroy(memory);
    sem_destroy(&pins.done);
}

/* A device that may write yet finds its memory where it was. */
static void test_aside_for_good(void)
{
    struct bale_memory *memory;

    CHECK_EQ(bale_memory_create(2 * STEP, &memory), 0);
    uint8_t *block = bale_memory_allocate(memory, STEP);
    bale_memory_set_quarantine(memory, true);
    bale_memory_quarantine(memory, block, STEP);
    bale_memory_destroy(memory);
    CHECK(is_mapped(block));
    bale_memory_set_quarantine(memory, false);
    CHECK_EQ_U(bale_memory_used(memory), 0);
    bale_memory_destroy(memory);
}

int main(void)
{
    test_pinning();
    test_growing();
    test_pinning_all();
    test_pinning_ahead();
    test_scarce();
    test_no_pinning();
    test_kept_in_reach();
    test_aside_for_good();
    return check_result();
}
