/* The lists of requests that wait and of those in flight. */
#include "fs/fuse/requests.h"

#include <linux/fuse.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/fuse/queued.h"
#include "tests/check.h"

#define MANY 5000u

static void test_queued(void)
{
    struct bale_memory *memory;
    struct bale_queued_list list = {0};
    struct bale_queued_table *table = calloc(1, sizeof *table);
    struct bale_queued **all = calloc(MANY, sizeof(struct bale_queued *));
    uint32_t pid;

    REQUIRE(bale_memory_create(32 << 20, &memory) == BALE_OK);
    uint64_t used = bale_memory_used(memory);
    for (unsigned i = 0; i < MANY; i++) {
        const struct fuse_in_header in = {.unique = 2 * (i + 1), .pid = i};
        all[i] = bale_queued_create(memory, &in, sizeof in);
        REQUIRE(all[i]);
        bale_queued_append(&list, all[i]);
        bale_queued_enter(table, all[i]);
    }
    CHECK(bale_memory_used(memory) > used);
    /* Two of three go, from the middle. */
    for (unsigned i = 0; i < MANY; i++) {
        CHECK(bale_queued_find(table, 2 * (i + 1), &pid) == all[i]);
        CHECK_EQ_U(pid, i);
        if (i % 3 == 0)
            continue;
        bale_queued_take_off(&list, all[i]);
        bale_queued_leave(table, all[i]);
        CHECK(!bale_queued_find(table, 2 * (i + 1), &pid));
        bale_queued_destroy(memory, all[i]);
    }
    unsigned i = 0;
    for (; list.first; i += 3) {
        struct bale_queued *first = list.first;
        CHECK(first == all[i]);
        bale_queued_take_off(&list, first);
        bale_queued_leave(table, first);
        bale_queued_destroy(memory, first);
    }
    CHECK(i >= MANY && !list.last);
    CHECK_EQ_U(bale_memory_used(memory), used);
    bale_memory_destroy(memory);
    free(all);
    free(table);
}

static void test_flight(void)
{
    struct bale_requests *requests = calloc(1, sizeof *requests);
    struct bale_request *all = calloc(MANY, sizeof *all);
    uint64_t longest;

    for (unsigned i = 0; i < MANY; i++) {
        all[i].unique = 2 * (i + 1);
        all[i].locks[0] = i % 7 ? 0 : 100 + i;
        if (i < 10)
            bale_requests_add_thread(requests, &all[i]);
        else
            bale_requests_add_detached(requests, &all[i]);
    }
    for (unsigned i = 0; i < MANY; i++)
        CHECK(bale_requests_find(requests, 2 * (i + 1)) == &all[i]);
    CHECK(!bale_requests_find(requests, 2 * (MANY + 1)));
    CHECK_EQ_U(bale_requests_stalled(requests, 0, &longest), MANY);
    uint64_t sum = bale_requests_sum(requests);
    for (unsigned i = 0; i < MANY; i += 2) {
        all[i].unique |= BALE_GIVEN_UP;
        bale_requests_lock(requests, &all[i]);
    }
    CHECK(bale_requests_sum(requests) != sum);
    CHECK(!bale_requests_locks(requests, 0));
    for (unsigned i = 0; i < MANY; i++) {
        CHECK_EQ(bale_requests_locks(requests, 100 + i), i % 14 == 0);
        CHECK_EQ(bale_requests_find(requests, 2 * (i + 1)) != NULL, i % 2 == 1);
    }
    for (unsigned i = 0; i < MANY; i++) {
        bale_requests_remove(&all[i]);
        if (i % 2)
            continue;
        bale_requests_unlock(requests, &all[i]);
        CHECK(!bale_requests_locks(requests, 100 + i));
    }
    CHECK(!requests->of_threads && !requests->abandoned);
    CHECK_EQ_U(bale_requests_stalled(requests, 0, &longest), 0);
    free(all);
    free(requests);
}

int main(void)
{
    test_queued();
    test_flight();
    return check_result();
}
