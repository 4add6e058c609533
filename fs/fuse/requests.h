/* The requests in flight (in_flight.h), in lists; the owner of the lists locks them. There may be
 * as many requests as the kernel sends. So what is done for each request or interrupt goes through
 * only one list, that of the threads, which are a few hundred at most. */
#ifndef BALE_FS_FUSE_REQUESTS_H
#define BALE_FS_FUSE_REQUESTS_H

#include "fs/fuse/mount.h"

#define BALE_GIVEN_UP 1u /* the kernel's numbers are even */
#define BALE_REQUEST_BUCKETS 1024u

/* What the kernel may let go of once a request is given up. */
struct bale_held {
    struct bale_node *nodes[2];
    struct bale_node *files[2]; /* whose open files are used */
    uint64_t directory;
};

/* The place of a request in a list. */
struct bale_request_link {
    struct bale_request *next, **at;
};

/* A request in flight; a thread has one for the requests that it handles. */
struct bale_request {
    _Atomic uint64_t unique; /* of the request, and GIVEN_UP; 0: there is none */
    /* Valid while unique is not 0. */
    uint32_t pid;
    _Atomic uint64_t since; /* as now_ms */
    bool may_be_given_up;
    uint64_t nodes[2]; /* numbers of the nodes that it uses, or 0 */
    uint64_t locks[2]; /* of those that are locked if it is given up, or 0 */

    bool files[2];
    uint64_t directory; /* as in struct bale_effects */
    /* In the directories locks, or both in the first: within the request, or once it is detached,
     * copies. */
    const char *names[2];

    struct bale_held held; /* once it is given up */
    struct bale_request_link all, abandoned;
};

struct bale_requests {
    struct bale_request *of_threads;
    struct bale_request *detached[BALE_REQUEST_BUCKETS]; /* by number */
    struct bale_request *abandoned;                      /* those that were given up */
    unsigned locked[BALE_REQUEST_BUCKETS]; /* how many of their locks are of nodes of that bucket */
};

void bale_requests_add_thread(struct bale_requests *requests, struct bale_request *request);
void bale_requests_add_detached(struct bale_requests *requests, struct bale_request *request);
void bale_requests_remove(struct bale_request *request);
/* The request of that number that was not given up, or NULL. */
struct bale_request *bale_requests_find(struct bale_requests *requests, uint64_t unique);

/* Around the time from when a request is given up to its end. */
void bale_requests_lock(struct bale_requests *requests, struct bale_request *request);
void bale_requests_unlock(struct bale_requests *requests, struct bale_request *request);
/* Whether one of these has a lock of the node; 0 is none. */
bool bale_requests_locks(const struct bale_requests *requests, uint64_t node);

/* bale_in_flight_stalled, without what is held back, and bale_in_flight_progress. */
uint64_t bale_requests_stalled(const struct bale_requests *requests, uint64_t ms,
                               uint64_t *longest_ms);
uint64_t bale_requests_sum(const struct bale_requests *requests);
/* To some 10 ms, for reports, and cheap: it is called for every request. */
uint64_t bale_requests_now_ms(void);

#endif
