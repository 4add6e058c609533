/* What one job of the mount benchmark's worker does. */
#ifndef BALE_TESTS_BENCH_MOUNT_WORKER_H
#define BALE_TESTS_BENCH_MOUNT_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum worker_operation { WORKER_WRITE, WORKER_READ, WORKER_RANDOM_READ, WORKER_RANDOM_WRITE };

struct worker_plan {
    enum worker_operation operation;
    const char *dir;
    const unsigned char *source; /* mapped twice, one copy behind the other */
    size_t source_size;
    uint64_t file_size; /* of each file */
    size_t record;      /* bytes in a call; 4096 where the operation is a random one */
    unsigned jobs;
    bool shared;        /* one file, of whose records each job has every jobs-th */
    bool warm;          /* the file is read once before the clock starts, and stays open */
    uint64_t count;     /* random operations of each job, no block twice */
    uint64_t rewritten; /* blocks of each file that a random write has replaced */
    uint64_t seed;
    double within; /* how much an element of binary32 may differ from what was written */
};

struct worker_job {
    const struct worker_plan *plan;
    unsigned number;
    uint32_t *order; /* blocks of the file, shuffled; NULL without random operations */
    unsigned char
        *buffer; /* of a record; of random operations everything, so that comparing is not timed */
    uint64_t bytes; /* read or written so far */
};

/* Before the clock starts, while it runs, and after. False: said on stderr. */
bool worker_job_prepare(struct worker_job *job, const struct worker_plan *plan, unsigned number);
bool worker_job_run(struct worker_job *job);
bool worker_job_compare(struct worker_job *job);

#endif
