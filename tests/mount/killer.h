/* Writers for kill.sh, and the check of what they were promised. Each job has a thread, names of
 * its own in the mount, and a log outside it, appended to before and after what it says. */
#ifndef BALE_TESTS_MOUNT_KILLER_H
#define BALE_TESTS_MOUNT_KILLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_kind {
    RECORD_BEGIN = 1, /* number, value: about to be done */
    RECORD_DONE,      /* number, value: promised to survive a kill */
    RECORD_WRITTEN,   /* number, value: promised once it is as old as the age limit */
    RECORD_GONE_BEGIN,
    RECORD_GONE,
    RECORD_BASE, /* number, value: found at the last check */
    RECORD_ERROR /* number: errno */
};

struct record {
    uint64_t kind;
    uint64_t number;
    uint64_t value;
    uint64_t time; /* CLOCK_MONOTONIC, nanoseconds */
};

struct job {
    const struct job_kind *kind;
    unsigned instance;
    int dir; /* of the mount */
    int log;
    uint64_t random;
    uint8_t *buffer; /* JOB_BUFFER bytes */
    /* For the check. */
    uint64_t killed; /* time; 0: never */
    struct record *records;
    size_t count;
    unsigned faults;
};

#define JOB_BUFFER ((size_t)1 << 20)
#define JOB_AGE_LIMIT ((uint64_t)5 * 1000000000)

struct job_kind {
    const char *name;
    unsigned instances;
    /* Until an error, which is logged. */
    void (*work)(struct job *job);
    /* Compares the mount with the log; removes what was left half done, and starts a new log with
     * the rest. */
    void (*check)(struct job *job);
};

extern const struct job_kind job_small, job_append, job_replace, job_overwrite;
extern atomic_bool job_stop;

uint64_t job_now(void);
uint64_t job_random(struct job *job, uint64_t below);
void job_log(struct job *job, enum record_kind kind, uint64_t number, uint64_t value);
/* True: go on. Logs errno otherwise. */
bool job_good(struct job *job, bool good);
bool job_write(struct job *job, int fd, const uint8_t *data, size_t length);
void job_fault(struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Starts a new log. */
void job_relog(struct job *job);

/* A whole file: the number and the length in its first 16 bytes, then content. */
size_t job_make_file(struct job *job, uint64_t number, size_t length);
/* How a file is found. Whole: number and length say what it is. Part: a beginning of file
 * `number` of that length. */
enum found { FOUND_NONE, FOUND_EMPTY, FOUND_PART, FOUND_WHOLE, FOUND_BAD };
enum found job_find_file(struct job *job, const char *name, uint64_t *number, size_t *length);

#endif
