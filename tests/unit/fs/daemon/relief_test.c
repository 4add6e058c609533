/* The relief: requests that wait for long go through the lanes if several users made them, and not if
 * one user did. */
#include "fs/daemon/relief.h"

#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "tests/check.h"

enum { USER = 1001, OTHER = 1002, LOOKS = 20 };

static struct bale_relief *relief;
static sem_t looked;

/* The relief stands in for the session threads, which it does only after looks. They read again. */
static bool stands_in(void *arg)
{
    (void)arg;
    bale_relief_read_begin(relief);
    sem_post(&looked);
    return true;
}

static void answers(void *arg, uint64_t unique, int e)
{
    (void)arg;
    (void)unique;
    (void)e;
}

static const struct bale_relief_ops ops = {.receive = stands_in, .answer = answers};

static bool is_crowded(uint32_t user)
{
    const struct fuse_in_header in = {.len = sizeof in, .pid = 1, .uid = user};

    return bale_relief_is_crowded(relief, &in);
}

/* The session threads are busy until the relief has looked and stood in. */
static void be_busy(void)
{
    bale_relief_read_end(relief);
    while (sem_wait(&looked) != 0)
        continue;
}

/* A mount whose requests always wait: fd can be read. */
static void test_crowd(int fd)
{
    static struct bale_mount mount;
    struct bale_memory *memory;
    struct bale_lanes *lanes;
    struct bale_in_flight *in_flight;

    REQUIRE(bale_memory_create(32 << 20, &memory) == BALE_OK);
    REQUIRE(bale_lanes_create(memory, &(struct bale_lanes_ops){0}, NULL, &lanes) == BALE_OK);
    REQUIRE(bale_in_flight_create(&mount, &in_flight) == BALE_OK);
    REQUIRE(bale_relief_create(fd, lanes, in_flight, &ops, NULL, &relief) == BALE_OK);
    bale_relief_read_begin(relief);
    REQUIRE(bale_relief_start(relief) == BALE_OK);
    for (unsigned i = 0; i < LOOKS; i++) {
        CHECK(!is_crowded(USER));
        be_busy();
    }
    CHECK(!is_crowded(USER));
    while (!is_crowded(OTHER))
        be_busy();
    CHECK(is_crowded(USER));
    bale_relief_stop(relief, SIGUSR2);
    bale_relief_destroy(relief);
    bale_in_flight_stop(in_flight);
    bale_in_flight_destroy(in_flight);
    bale_lanes_stop(lanes);
    bale_lanes_destroy(lanes);
    bale_memory_destroy(memory);
}

static void wake(int signal)
{
    (void)signal;
}

int main(void)
{
    int ends[2];

    REQUIRE(sigaction(SIGUSR2, &(struct sigaction){.sa_handler = wake}, NULL) == 0);
    REQUIRE(sem_init(&looked, 0, 0) == 0 && pipe(ends) == 0 && write(ends[1], "", 1) == 1);
    test_crowd(ends[0]);
    close(ends[0]);
    close(ends[1]);
    sem_destroy(&looked);
    return check_result();
}
