/* Which items a device takes first: those whose memory is near. And which memory is pinned. */
#include <pthread.h>

#include "format/err.h"
#include "kernels/cuda/engine.h"
#include "tests/check.h"

enum { DEVICES = 3, ITEMS = 9 };

/* The last two are on one node. */
static const struct bale_driver_device devices[DEVICES] = {
    {.ordinal = 0, .node = 0}, {.ordinal = 1, .node = 1}, {.ordinal = 2, .node = 1}};

static struct cuda_queue queue;
static struct bale_item items[ITEMS];

/* Item i in line i / 3. */
static void fill(void)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        items[i] = (struct bale_item){.frame = {.raw_length = 100000, .chunk_log2 = 16}};
        bale_cuda_queue_put(&queue, i / 3, &items[i]);
    }
}

static void check_order(unsigned device, const unsigned *order)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        struct bale_item_list *line = bale_cuda_queue_line(&queue, devices, DEVICES, device);
        CHECK_EQ_U(queue.chunks, 2 * (ITEMS - i));
        if (!CHECK(line))
            return;
        CHECK(bale_cuda_queue_take(&queue, line) == &items[order[i]]);
    }
    CHECK_EQ_U(queue.chunks, 0);
    CHECK(!bale_cuda_queue_line(&queue, devices, DEVICES, device));
}

/* Memory that was pinned step by step: its pages may be anywhere. */
static void test_ranges(void)
{
    enum { PAGE = 4096 };
    static _Alignas(PAGE) uint8_t memory[4 * PAGE];
    struct cuda_pinned pinned;

    bale_cuda_pinned_init(&pinned);
    for (unsigned i = 0; i < 4; i++) {
        bale_cuda_pinned_bind(memory + i * PAGE, PAGE, i < 2 ? (int)i : i == 2 ? -1 : 100000);
        REQUIRE(bale_cuda_pinned_add(&pinned, memory + i * PAGE, PAGE, i % DEVICES) == BALE_OK);
    }
    CHECK_EQ_U(bale_cuda_pinned_device(&pinned, memory), 0);
    CHECK_EQ_U(bale_cuda_pinned_device(&pinned, memory + PAGE - 1), 0);
    CHECK_EQ_U(bale_cuda_pinned_device(&pinned, memory + PAGE), 1);
    CHECK_EQ_U(bale_cuda_pinned_device(&pinned, memory + 3 * PAGE - 1), 2);
    CHECK_EQ_U(bale_cuda_pinned_device(&pinned, memory + 4 * PAGE), 0);
    CHECK(bale_cuda_pinned_has(&pinned, memory, sizeof memory));
    CHECK_EQ_U(bale_cuda_pinned_part(&pinned, memory + 100, NULL, sizeof memory - 100), PAGE - 100);
    CHECK_EQ_U(bale_cuda_pinned_part(&pinned, NULL, memory + PAGE, 7), 7);
    bale_cuda_pinned_set_usable(&pinned, 2);
    CHECK(bale_cuda_pinned_has(&pinned, memory, 2 * PAGE));
    CHECK(!bale_cuda_pinned_has(&pinned, memory + 2 * PAGE, 1));
    CHECK(!bale_cuda_pinned_has(&pinned, memory + PAGE, PAGE + 1));
    bale_cuda_pinned_set_usable(&pinned, 0);
    CHECK(!bale_cuda_pinned_has(&pinned, memory, 1));
    bale_cuda_pinned_destroy(&pinned);
}

/* Questions are answered for the longest range and for a shorter one beside it. */
static void test_gap(void)
{
    static uint8_t memory[400];
    struct cuda_pinned pinned;

    bale_cuda_pinned_init(&pinned);
    REQUIRE(bale_cuda_pinned_add(&pinned, memory + 300, 100, 0) == BALE_OK);
    REQUIRE(bale_cuda_pinned_add(&pinned, memory, 200, 0) == BALE_OK);
    CHECK(bale_cuda_pinned_has(&pinned, memory + 100, 100));
    CHECK(bale_cuda_pinned_has(&pinned, memory + 300, 100));
    CHECK(!bale_cuda_pinned_has(&pinned, memory + 199, 2));
    CHECK(!bale_cuda_pinned_has(&pinned, memory + 299, 2));
    CHECK(!bale_cuda_pinned_has(&pinned, memory + 399, 2));
    CHECK(!bale_cuda_pinned_has(&pinned, memory, SIZE_MAX));
    bale_cuda_pinned_destroy(&pinned);
}

enum { SHORT = 100, APART = 1000, CHANGES = 100000 };

static uint8_t changing[2 * APART];
static struct cuda_pinned pinned_now;
static bool changed;

/* The longest range is the first, or with the second usable too, that. */
static void *change_longest(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < CHANGES; i++)
        bale_cuda_pinned_set_usable(&pinned_now, 1 + i % 2);
    __atomic_store_n(&changed, true, __ATOMIC_SEQ_CST);
    return NULL;
}

/* While the longest range changes nobody sees the begin of one with the size of the other. */
static void test_change(void)
{
    unsigned wrong = 0;
    pthread_t thread;

    bale_cuda_pinned_init(&pinned_now);
    REQUIRE(bale_cuda_pinned_add(&pinned_now, changing, SHORT, 0) == BALE_OK);
    REQUIRE(bale_cuda_pinned_add(&pinned_now, changing + APART, 2 * SHORT, 0) == BALE_OK);
    REQUIRE(pthread_create(&thread, NULL, change_longest, NULL) == 0);
    while (!__atomic_load_n(&changed, __ATOMIC_SEQ_CST)) {
        wrong += bale_cuda_pinned_has(&pinned_now, changing + SHORT, SHORT);
        wrong += !bale_cuda_pinned_has(&pinned_now, changing, SHORT);
    }
    pthread_join(thread, NULL);
    CHECK_EQ_U(wrong, 0);
    bale_cuda_pinned_destroy(&pinned_now);
}

int main(void)
{
    fill();
    check_order(0, (const unsigned[]){0, 1, 2, 3, 4, 5, 6, 7, 8});
    fill();
    check_order(1, (const unsigned[]){3, 4, 5, 6, 7, 8, 0, 1, 2});
    fill();
    check_order(2, (const unsigned[]){6, 7, 8, 3, 4, 5, 0, 1, 2});
    test_ranges();
    test_gap();
    test_change();
    return check_result();
}
