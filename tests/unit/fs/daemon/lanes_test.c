/* The lanes: a crowd of one user's requests, all of which stall, delays no other user's. */
#include "fs/daemon/lanes.h"

#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "format/err.h"
#include "tests/check.h"

enum { CROWD = 1001, OTHER = 1002, MANY = 1000, LANE_THREADS = 8 };

static struct {
    pthread_mutex_t lock; /* guards running, most and crowd */
    unsigned running, most, crowd;
    sem_t go, other;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lanes_begin(void *arg)
{
    (void)arg;
}

static void lanes_handle(void *arg, void *request, size_t size)
{
    const struct fuse_in_header *in = request;

    (void)arg;
    (void)size;
    if (in->uid == OTHER) {
        sem_post(&seen.other);
        return;
    }
    pthread_mutex_lock(&seen.lock);
    seen.running++;
    if (seen.running > seen.most)
        seen.most = seen.running;
    pthread_mutex_unlock(&seen.lock);
    sem_wait(&seen.go);
    pthread_mutex_lock(&seen.lock);
    seen.running--;
    seen.crowd++;
    pthread_mutex_unlock(&seen.lock);
}

static const struct bale_lanes_ops ops = {
    .begin = lanes_begin, .handle = lanes_handle, .end = lanes_begin};

static void submit(struct bale_lanes *lanes, struct bale_memory *memory, uint32_t user,
                   uint32_t opcode, uint64_t unique)
{
    const struct fuse_in_header in = {
        .len = sizeof in, .opcode = opcode, .uid = user, .unique = unique};
    struct bale_queued *queued = bale_queued_create(memory, &in, sizeof in);

    REQUIRE(queued);
    CHECK(bale_lanes_submit(lanes, queued));
}

static void test_crowd(void)
{
    struct bale_memory *memory;
    struct bale_lanes *lanes;
    uint32_t pid;

    REQUIRE(bale_memory_create(32 << 20, &memory) == BALE_OK);
    REQUIRE(bale_lanes_create(memory, &ops, NULL, &lanes) == BALE_OK);
    sem_init(&seen.go, 0, 0);
    sem_init(&seen.other, 0, 0);
    for (unsigned i = 0; i < MANY; i++)
        submit(lanes, memory, CROWD, FUSE_LOOKUP, 2 * i + 2);
    submit(lanes, memory, OTHER, FUSE_LOOKUP, 2 * MANY + 2);
    submit(lanes, memory, OTHER, FUSE_UNLINK, 2 * MANY + 4);
    sem_wait(&seen.other);
    sem_wait(&seen.other);
    CHECK(bale_lanes_have_waiting(lanes));
    CHECK(bale_lanes_find(lanes, 2 * MANY, &pid)); /* the last one of the crowd */
    CHECK(bale_lanes_drop(lanes, 2 * MANY));
    CHECK(!bale_lanes_find(lanes, 2 * MANY, &pid));
    CHECK(!bale_lanes_drop(lanes, 2 * MANY));
    for (unsigned i = 0; i < MANY; i++)
        sem_post(&seen.go);
    while (bale_lanes_have_waiting(lanes))
        sched_yield();
    bale_lanes_stop(lanes);
    CHECK_EQ_U(seen.crowd, MANY - 1);
    CHECK(seen.most > 0 && seen.most <= LANE_THREADS);
    bale_lanes_destroy(lanes);
    bale_memory_destroy(memory);
    sem_destroy(&seen.other);
    sem_destroy(&seen.go);
}

int main(void)
{
    test_crowd();
    return check_result();
}
