/* Jobs that work inside a file: appending, and overwriting blocks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/mount/content.h"
#include "tests/mount/killer.h"

/* Written so long before the kill that the age limit promises it. */
static bool is_old(const struct job *job, const struct record *record)
{
    return job->killed && record->time + JOB_AGE_LIMIT < job->killed;
}

static void pause_us(uint64_t us)
{
    struct timespec time = {.tv_nsec = (long)us * 1000};

    nanosleep(&time, NULL);
}

/* ---- append: crumbs, each closed; crumbs in a file held open; a stream with fsyncs ----------- */

enum { CLOSED = 0, HELD = 1, STREAM = 2 }; /* instances */
static const uint64_t append_most[] = {1 << 20, 4 << 20, 8 << 20};
static const uint64_t append_piece[] = {400, 3000, 300000};

static void append_name(const struct job *job, uint64_t number, char name[static 64])
{
    snprintf(name, 64, "append-%u-%ju", job->instance, (uintmax_t)number);
}

static enum content append_content(const struct job *job)
{
    return job->instance == HELD ? CONTENT_RANDOM : CONTENT_TEXT;
}

static bool append_once(struct job *job, int fd, uint64_t number, uint64_t *size, unsigned step)
{
    size_t length = (size_t)(1 + job_random(job, append_piece[job->instance]));

    content_fill(append_content(job), number, *size, job->buffer, length);
    if (!job_write(job, fd, job->buffer, length))
        return false;
    *size += length;
    job_log(job, RECORD_WRITTEN, number, *size);
    if (job->instance == STREAM && step % 16 == 15) {
        if (!job_good(job, fsync(fd) == 0))
            return false;
        job_log(job, RECORD_DONE, number, *size);
    }
    if (job->instance == HELD)
        pause_us(job_random(job, 3000));
    return true;
}

static void append_work(struct job *job)
{
    uint64_t number = 1, size = 0;
    char name[64];
    int fd = -1;

    for (size_t i = 0; i < job->count; i++) {
        if (job->records[i].kind == RECORD_BASE) {
            number = job->records[i].number;
            size = job->records[i].value;
        }
    }
    for (unsigned step = 0; !atomic_load(&job_stop); step++) {
        append_name(job, number, name);
        if (fd < 0) {
            job_log(job, RECORD_BEGIN, number, size);
            fd = openat(job->dir, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        }
        if (!job_good(job, fd >= 0) || !append_once(job, fd, number, &size, step))
            break;
        bool full = size > append_most[job->instance];
        if (job->instance == CLOSED || full) {
            int closing = fd;
            fd = -1;
            if (!job_good(job, close(closing) == 0))
                break;
            job_log(job, RECORD_DONE, number, size);
        }
        if (full) {
            job_log(job, RECORD_BEGIN, number + 1, 0);
            if (!job_good(job, unlinkat(job->dir, name, 0) == 0))
                break;
            number++;
            size = 0;
        }
    }
    if (fd >= 0)
        close(fd);
}

static void append_check(struct job *job)
{
    uint64_t number = 1, promised = 0, size = 0;
    char name[64];

    for (size_t i = 0; i < job->count; i++) {
        const struct record *record = &job->records[i];
        if (record->kind == RECORD_ERROR)
            continue;
        if (record->number > number) {
            number = record->number;
            promised = 0;
        }
        if (record->number == number && record->value > promised &&
            (record->kind == RECORD_DONE || record->kind == RECORD_BASE ||
             (record->kind == RECORD_WRITTEN && is_old(job, record))))
            promised = record->value;
    }
    append_name(job, number, name);
    int fd = openat(job->dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno != ENOENT || promised > 0))
        job_fault(job, "%s: %s; %ju bytes were promised", name, strerror(errno),
                  (uintmax_t)promised);
    ssize_t got = 0;
    while (fd >= 0 && (got = pread(fd, job->buffer, JOB_BUFFER, (off_t)size)) > 0) {
        size_t good = content_check(append_content(job), number, size, job->buffer, (size_t)got);
        if (good != (size_t)got) {
            job_fault(job, "%s: wrong at %ju; %ju bytes were promised", name,
                      (uintmax_t)(size + good), (uintmax_t)promised);
            break;
        }
        size += good;
    }
    if (got < 0)
        job_fault(job, "%s: read at %ju: %s", name, (uintmax_t)size, strerror(errno));
    else if (size < promised && got == 0)
        job_fault(job, "%s: %ju bytes; %ju were promised", name, (uintmax_t)size,
                  (uintmax_t)promised);
    if (fd >= 0)
        close(fd);
    job_relog(job);
    job_log(job, RECORD_BASE, number, size);
}

const struct job_kind job_append = {"append", 3, append_work, append_check};

/* ---- overwrite: blocks of a file in any order ------------------------------------------------ */

enum { BLOCKS = 300, BLOCK = 4096, SYNCED = 0 }; /* instance 1 relies on the age limit alone */

/* Numbers of writes grow; a block holds the number of its last write. */
static void overwrite_fill(struct job *job, uint64_t number, uint64_t block)
{
    uint64_t head[2] = {number, block};

    memcpy(job->buffer, head, sizeof head);
    content_fill(number % 3 ? CONTENT_TEXT : CONTENT_RANDOM, number, 0, job->buffer + sizeof head,
                 BLOCK - sizeof head);
}

static void overwrite_work(struct job *job)
{
    uint64_t number = 0;
    char name[64];

    for (size_t i = 0; i < job->count; i++)
        if (job->records[i].kind != RECORD_ERROR && job->records[i].number > number)
            number = job->records[i].number;
    snprintf(name, sizeof name, "overwrite-%u", job->instance);
    int fd = openat(job->dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (!job_good(job, fd >= 0))
        return;
    while (!atomic_load(&job_stop)) {
        uint64_t block = job_random(job, BLOCKS);
        overwrite_fill(job, ++number, block);
        job_log(job, RECORD_BEGIN, number, block);
        if (!job_good(job, pwrite(fd, job->buffer, BLOCK, (off_t)(block * BLOCK)) == BLOCK))
            break;
        job_log(job, RECORD_WRITTEN, number, block);
        if (job->instance == SYNCED && job_random(job, 40) == 0) {
            if (!job_good(job, fsync(fd) == 0))
                break;
            job_log(job, RECORD_DONE, number, 0);
        }
        pause_us(job_random(job, job->instance == SYNCED ? 1000 : 5000));
    }
    close(fd);
}

/* The numbers that the blocks hold; 0: never written. */
static uint64_t overwrite_read(struct job *job, const char *name, uint64_t *held)
{
    uint64_t last = 0, head[2];
    int fd = openat(job->dir, name, O_RDONLY | O_CLOEXEC);

    memset(held, 0, BLOCKS * sizeof *held);
    if (fd < 0 && errno != ENOENT)
        job_fault(job, "%s: %s", name, strerror(errno));
    for (uint64_t block = 0; fd >= 0 && block < BLOCKS; block++) {
        ssize_t got = pread(fd, job->buffer, BLOCK, (off_t)(block * BLOCK));
        if (got == 0)
            continue;
        memcpy(head, job->buffer, sizeof head);
        if (got == BLOCK && head[0] == 0 && head[1] == 0 && job->buffer[16] == 0 &&
            memcmp(job->buffer, job->buffer + 1, BLOCK - 1) == 0)
            continue;
        if (got != BLOCK || head[1] != block ||
            content_check(head[0] % 3 ? CONTENT_TEXT : CONTENT_RANDOM, head[0], 0,
                          job->buffer + sizeof head, BLOCK - sizeof head) != BLOCK - sizeof head) {
            job_fault(job, "%s: block %ju is wrong (read: %zd)", name, (uintmax_t)block, got);
            continue;
        }
        held[block] = head[0];
        last = head[0] > last ? head[0] : last;
    }
    if (fd >= 0)
        close(fd);
    return last;
}

/* The file must be as it was after one of its writes, none of the promised ones missing. */
static void overwrite_check(struct job *job)
{
    uint64_t held[BLOCKS], expected[BLOCKS] = {0}, promised = 0, begun = 0;
    char name[64];

    snprintf(name, sizeof name, "overwrite-%u", job->instance);
    uint64_t last = overwrite_read(job, name, held);
    for (size_t i = 0; i < job->count; i++) {
        const struct record *record = &job->records[i];
        if (record->kind == RECORD_ERROR)
            continue;
        begun = record->number > begun ? record->number : begun;
        if ((record->kind == RECORD_BASE || record->kind == RECORD_BEGIN) &&
            record->number <= last && record->value < BLOCKS)
            expected[record->value] = record->number;
        if ((record->kind == RECORD_DONE ||
             (record->kind == RECORD_BASE && record->value < BLOCKS) ||
             (record->kind == RECORD_WRITTEN && is_old(job, record))) &&
            record->number > promised)
            promised = record->number;
    }
    if (last < promised)
        job_fault(job, "%s: as after write %ju; %ju was promised", name, (uintmax_t)last,
                  (uintmax_t)promised);
    if (last > begun)
        job_fault(job, "%s: write %ju, and only %ju was begun", name, (uintmax_t)last,
                  (uintmax_t)begun);
    for (uint64_t block = 0; block < BLOCKS; block++)
        if (held[block] != expected[block])
            job_fault(job, "%s: block %ju is of write %ju, not %ju; the last is %ju", name,
                      (uintmax_t)block, (uintmax_t)held[block], (uintmax_t)expected[block],
                      (uintmax_t)last);
    job_relog(job);
    for (uint64_t block = 0; block < BLOCKS; block++)
        if (held[block])
            job_log(job, RECORD_BASE, held[block], block);
    job_log(job, RECORD_BASE, begun, BLOCKS);
}

const struct job_kind job_overwrite = {"overwrite", 2, overwrite_work, overwrite_check};
