/* Jobs that make whole files: small ones that come and go, and ones that are renamed or linked
 * over. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/killer.h"

enum { LIVE = 150, SMALL_MAX = 40000 };

/* ---- small: made, closed, later removed ------------------------------------------------------ */

static void small_name(const struct job *job, uint64_t number, char name[static 64])
{
    snprintf(name, 64, "small-%u-%ju", job->instance, (uintmax_t)number);
}

/* The numbers of files that are there, of those in the log; next: a number not used yet. */
static size_t small_live(const struct job *job, uint64_t *live, uint64_t *next)
{
    size_t count = 0;

    *next = 1;
    for (size_t i = 0; i < job->count; i++) {
        const struct record *record = &job->records[i];
        if (record->kind != RECORD_ERROR && record->number >= *next)
            *next = record->number + 1;
        if (record->kind == RECORD_BASE && record->value > 0 && count < LIVE)
            live[count++] = record->number;
    }
    return count;
}

/* Every other file gets a time and then its mode, as from tar, before it is closed. */
static bool has_time(uint64_t number)
{
    return number % 2 == 0;
}

static bool set_time(int fd, uint64_t number)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)number}};

    return futimens(fd, times) == 0 && fchmod(fd, 0640) == 0;
}

static bool small_make(struct job *job, uint64_t number)
{
    char name[64];
    size_t length = (size_t)(1 + job_random(job, job_random(job, 4) ? 3000 : SMALL_MAX));

    small_name(job, number, name);
    job_log(job, RECORD_BEGIN, number, length);
    int fd = openat(job->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (!job_good(job, fd >= 0))
        return false;
    size_t all = job_make_file(job, number, length);
    size_t first = (size_t)job_random(job, all) & ~(size_t)15;
    bool good = job_write(job, fd, job->buffer, first) &&
                job_write(job, fd, job->buffer + first, all - first) &&
                (job_random(job, 10) || job_good(job, fsync(fd) == 0)) &&
                (!has_time(number) || job_good(job, set_time(fd, number)));
    if (!good) {
        close(fd);
        return false;
    }
    if (!job_good(job, close(fd) == 0))
        return false;
    job_log(job, RECORD_DONE, number, length);
    return true;
}

static bool small_remove(struct job *job, uint64_t number)
{
    char name[64];

    small_name(job, number, name);
    job_log(job, RECORD_GONE_BEGIN, number, 0);
    if (!job_good(job, unlinkat(job->dir, name, 0) == 0))
        return false;
    job_log(job, RECORD_GONE, number, 0);
    return true;
}

static void small_work(struct job *job)
{
    uint64_t live[LIVE], next;
    size_t count = small_live(job, live, &next);

    while (!atomic_load(&job_stop)) {
        if (count == LIVE || (count > 0 && job_random(job, 4) == 0)) {
            size_t i = (size_t)job_random(job, count);
            if (!small_remove(job, live[i]))
                return;
            live[i] = live[--count];
        } else {
            if (!small_make(job, next))
                return;
            live[count++] = next++;
        }
    }
}

/* One file, whose records are [first, ...) of those with its number. True: it is there and
 * stays. */
static bool small_check_one(struct job *job, uint64_t number, const bool *seen)
{
    char name[64];
    uint64_t found_number = number;
    size_t length;
    struct stat st;
    bool kept = (seen[RECORD_DONE] || seen[RECORD_BASE]) && !seen[RECORD_GONE_BEGIN];
    bool timed = kept && seen[RECORD_DONE] && has_time(number);

    small_name(job, number, name);
    enum found found = job_find_file(job, name, &found_number, &length);
    if (found == FOUND_BAD || found_number != number)
        job_fault(job, "%s: contents are wrong", name);
    else if (kept && found != FOUND_WHOLE)
        job_fault(job, "%s: was closed, and is %s", name,
                  found == FOUND_NONE    ? "missing"
                  : found == FOUND_EMPTY ? "empty"
                                         : "cut short");
    else if (seen[RECORD_GONE] && found != FOUND_NONE)
        job_fault(job, "%s: was removed, and is there", name);
    else if (timed && (fstatat(job->dir, name, &st, 0) != 0 || st.st_mtim.tv_sec != (time_t)number))
        job_fault(job, "%s: the time that was set before it was closed is not there", name);
    if (found != FOUND_NONE && found != FOUND_WHOLE)
        (void)unlinkat(job->dir, name, 0);
    return found == FOUND_WHOLE;
}

static int by_number(const void *a, const void *b)
{
    const struct record *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

static void small_check(struct job *job)
{
    uint64_t next = 0;

    qsort(job->records, job->count, sizeof *job->records, by_number);
    job_relog(job);
    for (size_t i = 0; i < job->count;) {
        bool seen[RECORD_ERROR + 1] = {false};
        uint64_t number = job->records[i].number;
        for (; i < job->count && job->records[i].number == number; i++) {
            const struct record *record = &job->records[i];
            if (record->kind != RECORD_BASE || record->value > 0)
                seen[record->kind] = true;
        }
        if (!seen[RECORD_BASE] && !seen[RECORD_BEGIN])
            continue; /* an error, or the number to go on from */
        next = number > next ? number : next;
        if (small_check_one(job, number, seen))
            job_log(job, RECORD_BASE, number, 1);
    }
    job_log(job, RECORD_BASE, next, 0);
}

const struct job_kind job_small = {"small", 2, small_work, small_check};

/* ---- replace: a new file, then renamed over the old; or linked before it is closed ----------- */

enum { RENAME_OPEN = 1, LINK = 2 }; /* instances */

static void replace_name(const struct job *job, uint64_t number, char name[static 64])
{
    if (job->instance == LINK)
        snprintf(name, 64, "link-%ju", (uintmax_t)number);
    else
        snprintf(name, 64, "replace-%u", job->instance);
}

static bool replace_once(struct job *job, uint64_t number)
{
    char name[64], fresh[64];
    size_t length = (size_t)(1 + job_random(job, job_random(job, 3) ? 5000 : 300000));

    replace_name(job, number, name);
    snprintf(fresh, sizeof fresh, "fresh-%u", job->instance);
    job_log(job, RECORD_BEGIN, number, length);
    int fd = openat(job->dir, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (!job_good(job, fd >= 0))
        return false;
    bool good = job_write(job, fd, job->buffer, job_make_file(job, number, length));
    if (good && job->instance == 0) {
        good = job_good(job, close(fd) == 0);
        fd = -1;
    }
    good = good &&
           job_good(job, job->instance == LINK ? linkat(job->dir, fresh, job->dir, name, 0) == 0
                                               : renameat(job->dir, fresh, job->dir, name) == 0);
    if (good)
        job_log(job, RECORD_DONE, number, length);
    if (fd >= 0)
        good = job_good(job, close(fd) == 0) && good;
    if (good && job->instance == LINK) {
        good = job_good(job, unlinkat(job->dir, fresh, 0) == 0);
        replace_name(job, number - 1, name);
        good = good && job_good(job, unlinkat(job->dir, name, 0) == 0 || errno == ENOENT);
    }
    return good;
}

static void replace_work(struct job *job)
{
    uint64_t number = 1;

    if (job->instance == LINK)
        (void)unlinkat(job->dir, "fresh-2", 0);
    for (size_t i = 0; i < job->count; i++)
        if (job->records[i].kind != RECORD_ERROR && job->records[i].number >= number)
            number = job->records[i].number + 1;
    while (!atomic_load(&job_stop) && replace_once(job, number))
        number++;
}

static void replace_check(struct job *job)
{
    uint64_t done = 0, begun = 0, base = 0, number = 0;
    bool there = false;
    char name[64];
    size_t length;

    for (size_t i = 0; i < job->count; i++) {
        const struct record *record = &job->records[i];
        if (record->kind == RECORD_BEGIN)
            begun = record->number;
        else if (record->kind == RECORD_DONE)
            done = record->number;
        else if (record->kind == RECORD_BASE && record->value)
            base = record->number;
    }
    if (done == 0)
        done = base;
    uint64_t last = begun > done ? begun : done;
    for (uint64_t i = last; i > 0 && i >= done && !there; i--) {
        replace_name(job, i, name);
        enum found found = job_find_file(job, name, &number, &length);
        if (found == FOUND_NONE)
            continue;
        there = true;
        if (found != FOUND_WHOLE)
            job_fault(job, "%s: is %s; %ju was done, %ju begun", name,
                      found == FOUND_EMPTY  ? "empty"
                      : found == FOUND_PART ? "cut short"
                                            : "wrong",
                      (uintmax_t)done, (uintmax_t)begun);
        else if (number < done || number > last)
            job_fault(job, "%s: is number %ju; %ju was done, %ju begun", name, (uintmax_t)number,
                      (uintmax_t)done, (uintmax_t)begun);
    }
    if (!there && done > 0)
        job_fault(job, "%s: is missing; %ju was done", name, (uintmax_t)done);
    job_relog(job);
    if (there)
        job_log(job, RECORD_BASE, number, 1);
    if (last > 0)
        job_log(job, RECORD_BASE, last, 0);
}

const struct job_kind job_replace = {"replace", 3, replace_work, replace_check};
