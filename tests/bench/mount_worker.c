/* Does the I/O of tests/bench/mount: several processes that begin together.
 *
 * usage: mount_worker OPERATION KEY=VALUE...
 *   OPERATION: write, read, randread, randwrite; writes end with fsync
 *   dir=DIR source=FILE size=BYTES    of each file; the source's length is a multiple of 4096
 *   [jobs=1] [record=1048576] [shared=0] [warm=0] [count=0] [rewritten=0] [seed=1]
 *   [within=0]    how much an element of binary32 may differ; records are whole elements then
 *
 * Prints "ready", waits for a line, works, prints {"seconds": S, "bytes": N}, compares what was
 * read with what was written, and prints "same". Exit status: 0, 1, 2 for wrong usage. */
#include "tests/bench/mount_worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAILED UINT64_MAX /* sent in place of the bytes that were read or written */

enum { BLOCK = 4096, JOBS_MAX = 1024 };

struct pipes {
    int prepared[2], go[2], done[2], compare[2];
};

static int fail(const char *what)
{
    fprintf(stderr, "mount_worker: %s\n", what);
    return 1;
}

static bool map_source(struct worker_plan *plan, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < BLOCK || st.st_size % BLOCK != 0)
        return false;
    size_t size = plan->source_size = (size_t)st.st_size;
    unsigned char *at = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool good = at != MAP_FAILED &&
                mmap(at, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == at &&
                mmap(at + size, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == at + size;
    close(fd);
    plan->source = at;
    return good;
}

static bool parse(struct worker_plan *plan, int argc, char **argv)
{
    static const char *const operations[] = {"write", "read", "randread", "randwrite"};
    const char *source = NULL;
    bool known = false;

    *plan = (struct worker_plan){.record = 1 << 20, .jobs = 1, .seed = 1};
    for (int i = 0; argc > 1 && i < 4; i++)
        if (strcmp(argv[1], operations[i]) == 0) {
            plan->operation = (enum worker_operation)i;
            known = true;
        }
    for (int i = 2; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        size_t length = value ? (size_t)(value++ - argv[i]) : 0;
        unsigned long long number = value ? strtoull(value, NULL, 10) : 0;
#define IS(name) (length == sizeof(name) - 1 && memcmp(argv[i], name, length) == 0)
        if (IS("dir"))
            plan->dir = value;
        else if (IS("source"))
            source = value;
        else if (IS("size"))
            plan->file_size = number;
        else if (IS("jobs"))
            plan->jobs = (unsigned)number;
        else if (IS("record"))
            plan->record = number;
        else if (IS("shared"))
            plan->shared = number != 0;
        else if (IS("warm"))
            plan->warm = number != 0;
        else if (IS("count"))
            plan->count = number;
        else if (IS("rewritten"))
            plan->rewritten = number;
        else if (IS("seed"))
            plan->seed = number;
        else if (IS("within"))
            plan->within = strtod(value, NULL);
        else
            return false;
#undef IS
    }
    uint64_t blocks = plan->file_size / BLOCK;
    plan->count = plan->count < blocks ? plan->count : blocks;
    plan->rewritten = plan->rewritten < blocks ? plan->rewritten : blocks;
    return known && plan->dir && source && blocks > 0 && plan->record > 0 && plan->jobs > 0 &&
           plan->jobs <= JOBS_MAX && map_source(plan, source);
}

/* In a process of its own. Ends when the pipes tell, or the parent is gone. */
static int run_job(const struct worker_plan *plan, unsigned number, const struct pipes *pipes)
{
    struct worker_job job;
    char byte = !worker_job_prepare(&job, plan, number);

    close(pipes->go[1]);
    close(pipes->compare[1]);
    if (write(pipes->prepared[1], &byte, 1) != 1 || byte || read(pipes->go[0], &byte, 1) != 0)
        return 1;
    uint64_t bytes = worker_job_run(&job) ? job.bytes : FAILED;
    if (write(pipes->done[1], &bytes, sizeof bytes) != sizeof bytes || bytes == FAILED ||
        read(pipes->compare[0], &byte, 1) != 0)
        return 1;
    return worker_job_compare(&job) ? 0 : 1;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool direct(const struct worker_plan *plan, struct pipes *pipes)
{
    char line[16];
    uint64_t bytes = 0, more;

    for (unsigned i = 0; i < plan->jobs; i++)
        if (read(pipes->prepared[0], line, 1) != 1 || line[0])
            return false;
    puts("ready");
    fflush(stdout);
    if (read(STDIN_FILENO, line, sizeof line) <= 0)
        return false;
    double begun = seconds();
    close(pipes->go[1]);
    for (unsigned i = 0; i < plan->jobs; i++) {
        if (read(pipes->done[0], &more, sizeof more) != sizeof more || more == FAILED)
            return false;
        bytes += more;
    }
    printf("{\"seconds\": %.6f, \"bytes\": %llu}\n", seconds() - begun, (unsigned long long)bytes);
    fflush(stdout);
    close(pipes->compare[1]);
    return true;
}

int main(int argc, char **argv)
{
    struct worker_plan plan;
    struct pipes pipes;
    int status;

    if (!parse(&plan, argc, argv)) {
        fputs("usage: mount_worker OPERATION KEY=VALUE...\n", stderr);
        return 2;
    }
    if (pipe(pipes.prepared) != 0 || pipe(pipes.go) != 0 || pipe(pipes.done) != 0 ||
        pipe(pipes.compare) != 0)
        return fail("no pipes");
    for (unsigned i = 0; i < plan.jobs; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return fail("no processes");
        if (pid == 0)
            _exit(run_job(&plan, i, &pipes));
    }
    close(pipes.prepared[1]);
    close(pipes.done[1]);
    bool good = direct(&plan, &pipes);
    close(pipes.go[1]); /* again, where it failed: those that wait must end */
    close(pipes.compare[1]);
    while (wait(&status) > 0) {
        good &= status == 0;
        if (WIFSIGNALED(status))
            fprintf(stderr, "mount_worker: a job was ended by signal %d\n", WTERMSIG(status));
    }
    if (good)
        puts("same");
    return good ? 0 : 1;
}
