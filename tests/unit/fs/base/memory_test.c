/* The arena: random takes and gives never overlap, never exceed the cap, and all comes back. */
#include "fs/base/memory.h"

#include "tests/check.h"

#define CAP ((uint64_t)64 << 20)
#define BLOCKS 300

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

#define STEP ((size_t)32 << 20)
#define PAGE_BYTES 4096

/* Quarantined memory is not handed out while a device may still write to it. */
static void test_aside(void)
{
    struct bale_memory *memory;

    CHECK_EQ(bale_memory_create(2 * STEP, &memory), 0);
    uint8_t *first = bale_memory_allocate(memory, STEP / 2);
    uint8_t *second = bale_memory_allocate(memory, STEP / 2);
    uint8_t *third = bale_memory_allocate(memory, STEP);
    CHECK(first && second && third);
    bale_memory_set_quarantine(memory, true);
    bale_memory_quarantine(memory, second, STEP / 2);
    bale_memory_quarantine(memory, first, STEP / 2 - 1);
    CHECK_EQ_U(bale_memory_used(memory), 2 * STEP);
    CHECK(!bale_memory_allocate(memory, 1));
    bale_memory_free(memory, third, STEP);
    CHECK_EQ_U(bale_memory_used(memory), STEP);
    CHECK(bale_memory_allocate(memory, STEP) == third);
    bale_memory_trim(memory);
    bale_memory_quarantine(memory, third, STEP);
    bale_memory_set_quarantine(memory, false);
    CHECK_EQ_U(bale_memory_used(memory), 0);

    /* From then on it is as if it were given back. */
    first = bale_memory_allocate(memory, 2 * STEP);
    CHECK(first);
    bale_memory_quarantine(memory, first, 2 * STEP);
    CHECK_EQ_U(bale_memory_used(memory), 0);
    bale_memory_set_quarantine(memory, false);
    bale_memory_destroy(memory);
}

/* The block freed last is allocated first, and trim returns its pages as well. */
static void test_kept(void)
{
    struct bale_memory *memory;

    CHECK_EQ(bale_memory_create(STEP, &memory), 0);
    uint8_t *first = bale_memory_allocate(memory, 5000);
    uint8_t *second = bale_memory_allocate(memory, 8000);
    uint8_t *large = bale_memory_allocate(memory, (size_t)1 << 20);
    second[0] = 1;
    bale_memory_free(memory, first, 5000);
    bale_memory_free(memory, second, 8000);
    CHECK(bale_memory_allocate(memory, 8192) == second);
    CHECK(bale_memory_allocate(memory, 4097) == first);
    bale_memory_free(memory, second, 8000);
    bale_memory_trim(memory);
    CHECK_EQ(second[0], 0);
    bale_memory_free(memory, first, 5000);
    bale_memory_free(memory, large, (size_t)1 << 20);
    CHECK_EQ_U(bale_memory_used(memory), 0);
    bale_memory_destroy(memory);
}

static void count_room(void *arg)
{
    ++*(int *)arg;
}

/* Whoever lacks memory is told of room once, whatever makes it; others are not. */
static void test_room(void)
{
    struct bale_memory *memory;
    int told = 0;

    CHECK_EQ(bale_memory_create_growing(STEP, 2 * STEP, &memory), 0);
    bale_memory_on_room(memory, count_room, &told);
    uint8_t *block = bale_memory_allocate(memory, STEP);
    bale_memory_free(memory, block + STEP / 2, STEP / 2);
    bale_memory_tell_room(memory);
    CHECK_EQ(told, 0);
    bale_memory_lack(memory);
    CHECK(bale_memory_allocate(memory, STEP / 2) != NULL);
    bale_memory_count(memory, PAGE_BYTES);
    CHECK_EQ(told, 0);
    bale_memory_free(memory, block + STEP / 2, PAGE_BYTES);
    bale_memory_free(memory, block + STEP / 2 + PAGE_BYTES, PAGE_BYTES);
    CHECK_EQ(told, 1);
    bale_memory_lack(memory);
    bale_memory_count(memory, -PAGE_BYTES);
    CHECK_EQ(told, 2);
    bale_memory_lack(memory);
    bale_memory_grow(memory, 2 * STEP);
    CHECK_EQ(told, 3);
    bale_memory_lack(memory);
    bale_memory_set_quarantine(memory, true);
    bale_memory_quarantine(memory, block, STEP / 2);
    CHECK_EQ(told, 3);
    bale_memory_set_quarantine(memory, false);
    CHECK_EQ(told, 4);
    bale_memory_lack(memory);
    bale_memory_tell_room(memory);
    CHECK_EQ(told, 5);
    bale_memory_lack(memory);
    bale_memory_on_room(memory, NULL, NULL);
    bale_memory_tell_room(memory);
    CHECK_EQ(told, 5);
    bale_memory_destroy(memory);
}

int main(void)
{
    test_room();
    test_kept();
    test_aside();
    struct bale_memory *memory;
    CHECK(bale_memory_create((uint64_t)1 << 20, &memory) != 0);
    CHECK_EQ(bale_memory_create(CAP, &memory), 0);
    struct {
        uint8_t *data;
        size_t size;
        uint8_t mark;
    } blocks[BLOCKS] = {0};
    uint64_t taken = 0;
    for (int round = 0; round < 100000; round++) {
        size_t i = draw(BLOCKS);
        if (blocks[i].data) {
            CHECK(blocks[i].data[0] == blocks[i].mark);
            CHECK(blocks[i].data[blocks[i].size - 1] == blocks[i].mark);
            bale_memory_free(memory, blocks[i].data, blocks[i].size);
            taken -= (blocks[i].size + 4095) / 4096 * 4096;
            blocks[i].data = NULL;
        } else {
            size_t size = 1 + draw((uint64_t)1 << (1 + draw(21)));
            uint8_t *data = bale_memory_allocate(memory, size);
            if (data) {
                blocks[i].data = data;
                blocks[i].size = size;
                blocks[i].mark = (uint8_t)draw(256);
                data[0] = data[size - 1] = blocks[i].mark;
                taken += (size + 4095) / 4096 * 4096;
            }
        }
        CHECK_EQ(bale_memory_used(memory), taken);
        CHECK(taken <= CAP);
        if (round % 1000 == 0)
            bale_memory_trim(memory);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        bale_memory_free(memory, blocks[i].data, blocks[i].size);
    void *whole = bale_memory_allocate(memory, CAP);
    CHECK(whole != NULL);
    CHECK(bale_memory_allocate(memory, 1) == NULL);
    bale_memory_free(memory, whole, CAP);
    bale_memory_count(memory, (int64_t)CAP / 2);
    CHECK(bale_memory_allocate(memory, CAP / 2 + 4096) == NULL);
    whole = bale_memory_allocate(memory, CAP / 2);
    CHECK(whole != NULL);
    bale_memory_destroy(memory);
    CHECK(bale_memory_default_cap() >= (uint64_t)64 << 20);
    return check_result();
}
