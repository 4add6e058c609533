/* The arena: random takes and gives never overlap, never exceed the cap, and all comes back. */
#include "fs/memory.h"

#include <stdlib.h>
#include <string.h>

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

int main(void)
{
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
            bale_memory_give(memory, blocks[i].data, blocks[i].size);
            taken -= (blocks[i].size + 4095) / 4096 * 4096;
            blocks[i].data = NULL;
        } else {
            size_t size = 1 + draw((uint64_t)1 << (1 + draw(21)));
            uint8_t *data = bale_memory_take(memory, size);
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
        if (round % 1000 == 0) {
            bale_memory_trim(memory);
        }
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        bale_memory_give(memory, blocks[i].data, blocks[i].size);
    }
    void *whole = bale_memory_take(memory, CAP);
    CHECK(whole != NULL);
    CHECK(bale_memory_take(memory, 1) == NULL);
    bale_memory_give(memory, whole, CAP);
    bale_memory_count(memory, (int64_t)CAP / 2);
    CHECK(bale_memory_take(memory, CAP / 2 + 4096) == NULL);
    whole = bale_memory_take(memory, CAP / 2);
    CHECK(whole != NULL);
    bale_memory_destroy(memory);
    CHECK(bale_memory_default_cap() >= (uint64_t)64 << 20);
    return check_result();
}
