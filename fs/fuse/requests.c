#include "fs/fuse/requests.h"

#include <time.h>

#define BUCKETS BALE_REQUEST_BUCKETS

static void add(struct bale_request **first, struct bale_request *request)
{
    request->all = (struct bale_request_link){*first, first};
    if (*first)
        (*first)->all.at = &request->all.next;
    *first = request;
}

void bale_requests_remove(struct bale_request *request)
{
    *request->all.at = request->all.next;
    if (request->all.next)
        request->all.next->all.at = request->all.at;
}

void bale_requests_add_thread(struct bale_requests *requests, struct bale_request *request)
{
    add(&requests->of_threads, request);
}

static struct bale_request **bucket_of(struct bale_requests *requests, uint64_t unique)
{
    return &requests->detached[unique / 2 % BUCKETS];
}

void bale_requests_add_detached(struct bale_requests *requests, struct bale_request *request)
{
    add(bucket_of(requests, atomic_load(&request->unique)), request);
}

static struct bale_request *find_in(struct bale_request *list, uint64_t unique)
{
    while (list && atomic_load(&list->unique) != unique)
        list = list->all.next;
    return list;
}

struct bale_request *bale_requests_find(struct bale_requests *requests, uint64_t unique)
{
    struct bale_request *request = find_in(*bucket_of(requests, unique), unique);

    return request ? request : find_in(requests->of_threads, unique);
}

/* ---- Those that were given up ---- */

/* Counts its locks, or with -1 no longer. */
static void count_locks(struct bale_requests *requests, const struct bale_request *request,
                        int change)
{
    for (int i = 0; i < 2; i++)
        if (request->locks[i])
            requests->locked[request->locks[i] % BUCKETS] += (unsigned)change;
}

void bale_requests_lock(struct bale_requests *requests, struct bale_request *request)
{
    struct bale_request **first = &requests->abandoned;

    request->abandoned = (struct bale_request_link){*first, first};
    if (*first)
        (*first)->abandoned.at = &request->abandoned.next;
    *first = request;
    count_locks(requests, request, 1);
}

void bale_requests_unlock(struct bale_requests *requests, struct bale_request *request)
{
    *request->abandoned.at = request->abandoned.next;
    if (request->abandoned.next)
        request->abandoned.next->abandoned.at = request->abandoned.at;
    count_locks(requests, request, -1);
}

bool bale_requests_locks(const struct bale_requests *requests, uint64_t node)
{
    const struct bale_request *at = requests->abandoned;

    if (node == 0 || requests->locked[node % BUCKETS] == 0)
        return false;
    while (at && at->locks[0] != node && at->locks[1] != node)
        at = at->abandoned.next;
    return at;
}

/* ---- What stalls ---- */

uint64_t bale_requests_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Adds those of a list that have been in flight for ms or longer. */
static void add_stalled(const struct bale_request *list, uint64_t ms, uint64_t *count,
                        uint64_t *longest_ms)
{
    uint64_t now = bale_requests_now_ms();

    for (const struct bale_request *at = list; at; at = at->all.next) {
        uint64_t since = atomic_load(&at->since), age = now > since ? now - since : 0;
        if (atomic_load(&at->unique) == 0 || age < ms)
            continue;
        ++*count;
        *longest_ms = age > *longest_ms ? age : *longest_ms;
    }
}

uint64_t bale_requests_stalled(const struct bale_requests *requests, uint64_t ms,
                               uint64_t *longest_ms)
{
    uint64_t count = 0;

    *longest_ms = 0;
    add_stalled(requests->of_threads, ms, &count, longest_ms);
    for (unsigned i = 0; i < BUCKETS; i++)
        add_stalled(requests->detached[i], ms, &count, longest_ms);
    return count;
}

uint64_t bale_requests_sum(const struct bale_requests *requests)
{
    uint64_t sum = 0;

    for (const struct bale_request *at = requests->of_threads; at; at = at->all.next)
        sum = sum * 31 + atomic_load(&at->unique);
    return sum;
}
