/* The free map against an array that says for every 8 bytes whether they are free. */
#include "fs/base/free_map.h"

#include "format/err.h"
#include "tests/check.h"

enum { UNIT = 8, UNITS = 3000, BASE = 224 };

static bool is_free[UNITS];
static unsigned end_unit; /* nothing from here on is used */
static uint64_t state = 88172645463325252u;

static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 16) % below);
}

static uint64_t position_of(unsigned unit)
{
    return BASE + (uint64_t)unit * UNIT;
}

static bool all(unsigned first, unsigned count, bool value)
{
    for (unsigned i = first; i < first + count; i++)
        if (i >= end_unit || is_free[i] != value)
            return false;
    return true;
}

static void set(unsigned first, unsigned count, bool value)
{
    for (unsigned i = first; i < first + count; i++)
        is_free[i] = value;
}

static unsigned first_fit(unsigned count)
{
    for (unsigned i = 0; i + count <= end_unit; i++)
        if (all(i, count, true))
            return i;
    return end_unit;
}

struct seen {
    uint64_t bytes;
    uint64_t last; /* end of the range before */
    size_t count;
};

static int see(void *arg, uint64_t position, uint64_t length)
{
    struct seen *seen = arg;
    unsigned unit = (unsigned)((position - BASE) / UNIT);

    CHECK(seen->count == 0 || position > seen->last);
    CHECK(all(unit, (unsigned)(length / UNIT), true));
    seen->bytes += length;
    seen->last = position + length;
    seen->count++;
    return 0;
}

static void compare(const struct bale_free_map *map)
{
    struct seen seen = {0};
    uint64_t bytes = 0;

    for (unsigned i = 0; i < end_unit; i++)
        bytes += is_free[i] ? UNIT : 0;
    CHECK_EQ(bale_free_map_each(map, see, &seen), 0);
    CHECK_EQ_U(seen.bytes, bytes);
    CHECK_EQ_U(map->bytes, bytes);
    CHECK_EQ_U(map->count, seen.count);
    CHECK_EQ_U(map->end, position_of(end_unit));
}

static void allocate(struct bale_free_map *map)
{
    unsigned count = 1 + draw(draw(8) == 0 ? 60 : 6);
    unsigned expected = first_fit(count);
    uint64_t position;

    if (expected + count > UNITS)
        return;
    /* Any length that needs that many units. */
    CHECK_EQ(bale_free_map_allocate(map, (uint64_t)count * UNIT - draw(UNIT), &position), BALE_OK);
    CHECK_EQ_U(position, position_of(expected));
    if (expected + count > end_unit)
        end_unit = expected + count;
    set(expected, count, false);
}

static void release(struct bale_free_map *map)
{
    unsigned first = draw(end_unit + 1), count = 1 + draw(12);
    int err = bale_free_map_release(map, position_of(first), (uint64_t)count * UNIT);

    if (!all(first, count, false)) {
        CHECK_EQ(err, BALE_E_INVALID);
        return;
    }
    CHECK_EQ(err, BALE_OK);
    set(first, count, true);
    while (end_unit > 0 && is_free[end_unit - 1])
        is_free[--end_unit] = false;
}

static void take(struct bale_free_map *map)
{
    unsigned first = draw(end_unit + 1), count = 1 + draw(5);
    int err = bale_free_map_allocate_at(map, position_of(first), (uint64_t)count * UNIT);

    if (!all(first, count, true)) {
        CHECK_EQ(err, BALE_E_NOENT);
        return;
    }
    CHECK_EQ(err, BALE_OK);
    set(first, count, false);
}

static void test_random(void)
{
    struct bale_free_map map;

    bale_free_map_init(&map, BASE, UNIT);
    for (int i = 0; i < 60000; i++) {
        switch (draw(4)) {
        case 0:
            allocate(&map);
            break;
        case 1:
            take(&map);
            break;
        default:
            release(&map);
        }
        if (end_unit < 40 || draw(20) == 0)
            for (int n = 0; n < 10; n++)
                allocate(&map);
        if (i % 50 == 0)
            compare(&map);
    }
    compare(&map);
    bale_free_map_clear(&map);
    CHECK_EQ_U(bale_free_map_memory(&map), 0);
}

static void test_limits(void)
{
    struct bale_free_map map;
    uint64_t position;

    bale_free_map_init(&map, BASE, 8);
    CHECK_EQ(bale_free_map_allocate(&map, INT64_MAX, &position), BALE_E_TOOBIG);
    CHECK_EQ(bale_free_map_allocate(&map, INT64_MAX - BASE - 7, &position), BALE_OK);
    CHECK_EQ(bale_free_map_allocate(&map, 16, &position), BALE_E_TOOBIG);
    CHECK_EQ(bale_free_map_release(&map, BASE, 8), BALE_OK);
    CHECK_EQ(bale_free_map_allocate(&map, 5, &position), BALE_OK);
    CHECK_EQ_U(position, BASE);
    bale_free_map_clear(&map);

    /* A map of single bytes keeps odd lengths. */
    bale_free_map_init(&map, 1000, 1);
    CHECK_EQ(bale_free_map_release(&map, 501, 3), BALE_OK);
    CHECK_EQ(bale_free_map_allocate(&map, 4, &position), BALE_OK);
    CHECK_EQ_U(position, 1000);
    CHECK_EQ(bale_free_map_allocate(&map, 3, &position), BALE_OK);
    CHECK_EQ_U(position, 501);
    CHECK_EQ_U(map.bytes, 0);
    bale_free_map_clear(&map);
}

int main(void)
{
    test_random();
    test_limits();
    return check_result();
}
