#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bench/mount_worker.h"

enum { BLOCK = 4096, APART = 37 * 257 * BLOCK, REPLACED_APART = 1001 * BLOCK };

static bool complain(const struct worker_job *job, const char *what)
{
    fprintf(stderr, "mount_worker: job %u: %s: %s\n", job->number, what, strerror(errno));
    return false;
}

static bool is_random(const struct worker_plan *plan)
{
    return plan->operation == WORKER_RANDOM_READ || plan->operation == WORKER_RANDOM_WRITE;
}

static bool is_write(const struct worker_plan *plan)
{
    return plan->operation == WORKER_WRITE || plan->operation == WORKER_RANDOM_WRITE;
}

/* What belongs at an offset of a job's file: as written first, or as replaced. */
static const unsigned char *content(const struct worker_job *job, uint64_t offset, bool replaced)
{
    const struct worker_plan *plan = job->plan;
    uint64_t start = plan->shared ? 0 : (uint64_t)job->number * APART;

    return plan->source + (offset + start + (replaced ? REPLACED_APART : 0)) % plan->source_size;
}

static uint64_t record_count(const struct worker_plan *plan)
{
    return (plan->file_size + plan->record - 1) / plan->record;
}

/* The offset and length of a job's n-th call; 0: there is none. */
static size_t call(const struct worker_job *job, uint64_t n, uint64_t *offset)
{
    const struct worker_plan *plan = job->plan;

    if (is_random(plan)) {
        *offset = n < plan->count ? (uint64_t)job->order[n] * BLOCK : 0;
        return n < plan->count ? BLOCK : 0;
    }
    n = plan->shared ? n * plan->jobs + job->number : n;
    if (n >= record_count(plan))
        return 0;
    *offset = n * plan->record;
    uint64_t rest = plan->file_size - *offset;
    return rest < plan->record ? (size_t)rest : plan->record;
}

static bool shuffle(struct worker_job *job)
{
    uint64_t blocks = job->plan->file_size / BLOCK, state = job->plan->seed + job->number + 1;

    if (!(job->order = malloc(blocks * sizeof *job->order)))
        return complain(job, "memory");
    for (uint64_t i = 0; i < blocks; i++)
        job->order[i] = (uint32_t)i;
    for (uint64_t i = blocks - 1; i > 0; i--) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        uint64_t other = (state >> 33) % (i + 1);
        uint32_t kept = job->order[i];
        job->order[i] = job->order[other];
        job->order[other] = kept;
    }
    return true;
}

static int open_file(const struct worker_job *job)
{
    const struct worker_plan *plan = job->plan;
    int flags = is_write(plan) ? O_WRONLY : O_RDONLY;
    char path[4096];

    snprintf(path, sizeof path, "%s/%s%u", plan->dir, plan->shared ? "shared" : "file",
             plan->shared ? 0 : job->number);
    return open(path, flags | O_CLOEXEC | (plan->operation == WORKER_WRITE ? O_CREAT : 0), 0644);
}

/* Leaves the file open until the process ends, for what is cached only while it is. */
static bool read_once(const struct worker_job *job)
{
    size_t size = 1 << 20;
    int fd = open_file(job);
    char *buffer = malloc(size);
    ssize_t n = fd >= 0 && buffer ? 1 : -1;

    while (n > 0)
        n = read(fd, buffer, size);
    bool good = n == 0 || complain(job, "reading ahead of the measurement");
    free(buffer);
    return good;
}

/* Has what the job writes in its page table, as a program's own memory is: else the clock would
 * count a fault for each page of the source, whose pages the kernel maps one by one once its caches
 * were dropped. Kernels before 5.14 leave it so. */
static void touch_source(const struct worker_job *job, bool replaced)
{
    const struct worker_plan *plan = job->plan;
    size_t size = plan->file_size < plan->source_size ? plan->file_size : plan->source_size;
    unsigned char *begin = (unsigned char *)content(job, 0, replaced);
    size_t first = (size_t)(plan->source + plan->source_size - begin);

    first = first < size ? first : size;
    (void)madvise(begin, first, MADV_POPULATE_READ);
    (void)madvise((unsigned char *)plan->source, size - first, MADV_POPULATE_READ);
}

bool worker_job_prepare(struct worker_job *job, const struct worker_plan *plan, unsigned number)
{
    *job = (struct worker_job){.plan = plan, .number = number};
    if ((is_random(plan) || plan->rewritten > 0) && !shuffle(job))
        return false;
    if (plan->warm && !read_once(job))
        return false;
    if (is_write(plan)) {
        touch_source(job, is_random(plan));
        return true;
    }
    size_t size = is_random(plan) ? plan->count * BLOCK : plan->record;
    job->buffer =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return job->buffer != MAP_FAILED || complain(job, "memory for what is read");
}

/* The buffer holds all that random operations read; otherwise one record, read again and again, as
 * programs do. */
static bool transfer(struct worker_job *job, int fd, uint64_t offset, size_t size)
{
    unsigned char *to = job->buffer + (is_random(job->plan) ? job->bytes : 0);

    for (size_t done = 0; done < size;) {
        bool replaced = job->plan->operation == WORKER_RANDOM_WRITE;
        ssize_t n = is_write(job->plan) ? pwrite(fd, content(job, offset, replaced) + done,
                                                 size - done, (off_t)(offset + done))
                                        : pread(fd, to + done, size - done, (off_t)(offset + done));
        if (n <= 0)
            return false;
        done += (size_t)n;
        job->bytes += (uint64_t)n;
    }
    return true;
}

bool worker_job_run(struct worker_job *job)
{
    uint64_t offset;
    size_t size;
    int fd = open_file(job);

    if (fd < 0)
        return complain(job, "open");
    bool good = true;
    for (uint64_t n = 0; good && (size = call(job, n, &offset)) > 0; n++)
        good = transfer(job, fd, offset, size) || complain(job, "read or write");
    if (good && is_write(job->plan))
        good = fsync(fd) == 0 || complain(job, "fsync");
    return (close(fd) == 0 || complain(job, "close")) && good;
}

/* The same bytes; or, where elements may differ, none does by more. */
static bool alike(const unsigned char *got, const unsigned char *wanted, size_t size, double within)
{
    float a, b;

    if (memcmp(got, wanted, size) == 0)
        return true;
    if (within <= 0)
        return false;
    for (size_t i = 0; i < size; i += sizeof a) {
        memcpy(&a, got + i, sizeof a);
        memcpy(&b, wanted + i, sizeof b);
        if (memcmp(got + i, wanted + i, sizeof a) != 0 && !(fabs((double)a - (double)b) <= within))
            return false;
    }
    return true;
}

/* A call's bytes with what belongs there. replaced: which of the file's blocks are. */
static bool compare(const struct worker_job *job, const unsigned char *bytes, uint64_t offset,
                    size_t size, const unsigned char *replaced)
{
    for (size_t done = 0; done < size;) {
        uint64_t at = offset + done;
        size_t step = BLOCK - (size_t)(at % BLOCK);
        step = step < size - done ? step : size - done;
        if (!alike(bytes + done, content(job, at, replaced[at / BLOCK]), step, job->plan->within)) {
            fprintf(stderr, "mount_worker: job %u: what was read at %llu is not what was written\n",
                    job->number, (unsigned long long)at);
            return false;
        }
        done += step;
    }
    return true;
}

/* After random operations the buffer still has everything; a file is read again. */
static bool compare_all(struct worker_job *job, int fd, const unsigned char *replaced)
{
    bool again = !is_random(job->plan);
    const unsigned char *bytes = job->buffer;
    uint64_t offset;
    size_t size;

    for (uint64_t n = 0; (size = call(job, n, &offset)) > 0; n++) {
        if (again && !transfer(job, fd, offset, size))
            return complain(job, "read");
        if (!compare(job, bytes, offset, size, replaced))
            return false;
        bytes += again ? 0 : size;
    }
    return true;
}

bool worker_job_compare(struct worker_job *job)
{
    const struct worker_plan *plan = job->plan;

    if (is_write(plan))
        return true;
    unsigned char *replaced = calloc(plan->file_size / BLOCK + 1, 1);
    int fd = replaced ? open_file(job) : -1;
    for (uint64_t i = 0; replaced && i < plan->rewritten; i++)
        replaced[job->order[i]] = 1;
    bool good = fd >= 0 ? compare_all(job, fd, replaced) : complain(job, "comparing");
    if (fd >= 0)
        close(fd);
    free(replaced);
    return good;
}
