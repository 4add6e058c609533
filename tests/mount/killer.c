/* See killer.h and kill.sh.
 *
 * usage: killer work MNT LOGS       writes until the daemon dies
 *        killer kill PID LOGS       kills it, and notes when
 *        killer check MNT LOGS      everything promised is there
 */
#include "tests/mount/killer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/mount/content.h"

static const struct job_kind *const kinds[] = {&job_small, &job_append, &job_replace,
                                               &job_overwrite};
#define KINDS (sizeof kinds / sizeof *kinds)

atomic_bool job_stop;

uint64_t job_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t job_random(struct job *job, uint64_t below)
{
    return content_mix(job->random++) % below;
}

void job_log(struct job *job, enum record_kind kind, uint64_t number, uint64_t value)
{
    struct record record = {kind, number, value, job_now()};

    if (write(job->log, &record, sizeof record) != (ssize_t)sizeof record) {
        perror("killer: log");
        abort();
    }
}

bool job_good(struct job *job, bool good)
{
    if (!good)
        job_log(job, RECORD_ERROR, (uint64_t)errno, 0);
    return good;
}

bool job_write(struct job *job, int fd, const uint8_t *data, size_t length)
{
    while (length > 0) {
        ssize_t got = write(fd, data, length);
        if (!job_good(job, got > 0))
            return false;
        data += got;
        length -= (size_t)got;
    }
    return true;
}

void job_fault(struct job *job, const char *format, ...)
{
    va_list arguments;

    job->faults++;
    fprintf(stderr, "killer: %s %u: ", job->kind->name, job->instance);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void job_relog(struct job *job)
{
    if (ftruncate(job->log, 0) != 0)
        abort();
}

size_t job_make_file(struct job *job, uint64_t number, size_t length)
{
    uint64_t head[2] = {number, length};

    memcpy(job->buffer, head, sizeof head);
    content_fill(number % 2 ? CONTENT_RANDOM : CONTENT_TEXT, number, 0, job->buffer + sizeof head,
                 length);
    return length + sizeof head;
}

enum found job_find_file(struct job *job, const char *name, uint64_t *number, size_t *length)
{
    uint64_t head[2];
    int fd = openat(job->dir, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        if (errno == ENOENT)
            return FOUND_NONE;
        job_fault(job, "%s: open: %s", name, strerror(errno));
        return FOUND_BAD;
    }
    ssize_t got = read(fd, job->buffer, JOB_BUFFER);
    if (got < 0)
        job_fault(job, "%s: read: %s", name, strerror(errno));
    close(fd);
    if (got <= 0)
        return got < 0 ? FOUND_BAD : FOUND_EMPTY;
    if (got < (ssize_t)sizeof head)
        return FOUND_BAD;
    memcpy(head, job->buffer, sizeof head);
    size_t held = (size_t)got - sizeof head;
    *number = head[0];
    *length = (size_t)head[1];
    if (held > *length || content_check(*number % 2 ? CONTENT_RANDOM : CONTENT_TEXT, *number, 0,
                                        job->buffer + sizeof head, held) != held)
        return FOUND_BAD;
    return held == *length ? FOUND_WHOLE : FOUND_PART;
}

static void *job_thread(void *arg)
{
    struct job *job = arg;

    job->kind->work(job);
    return NULL;
}

static void stop_jobs(int signal_number)
{
    (void)signal_number;
    atomic_store(&job_stop, true);
}

static void read_log(struct job *job)
{
    struct stat st;

    if (fstat(job->log, &st) != 0)
        abort();
    job->count = (size_t)st.st_size / sizeof(struct record);
    job->records = calloc(job->count + 1, sizeof(struct record));
    if (!job->records || pread(job->log, job->records, job->count * sizeof(struct record), 0) !=
                             (ssize_t)(job->count * sizeof(struct record)))
        abort();
}

/* Errors count from the moment of the kill on. */
static void check_errors(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        const struct record *record = &job->records[i];
        if (record->kind == RECORD_ERROR && (job->killed == 0 || record->time < job->killed))
            job_fault(job, "an error before the kill: %s", strerror((int)record->number));
    }
}

static uint64_t read_killed(const char *logs)
{
    char path[4096];
    uint64_t killed = 0;

    snprintf(path, sizeof path, "%s/killed", logs);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%ju", (uintmax_t *)&killed) != 1)
            killed = 0;
        fclose(file);
    }
    return killed;
}

static int kill_daemon(const char *pid, const char *logs)
{
    char path[4096];
    uint64_t now = job_now();

    if (kill((pid_t)strtol(pid, NULL, 10), SIGKILL) != 0) {
        perror("killer: kill");
        return EXIT_FAILURE;
    }
    snprintf(path, sizeof path, "%s/killed", logs);
    FILE *file = fopen(path, "w");
    if (!file)
        return EXIT_FAILURE;
    fprintf(file, "%ju\n", (uintmax_t)now);
    return fclose(file) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Every job, at work or checked. */
static int all_jobs(const char *mnt, const char *logs, bool check)
{
    pthread_t threads[64];
    struct job *jobs[64];
    unsigned count = 0, faults = 0;
    int dir = open(mnt, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0) {
        bool killed_before = !check && (errno == ENOTCONN || errno == ECONNABORTED);
        perror(mnt);
        return killed_before ? EXIT_SUCCESS : 2;
    }
    for (size_t i = 0; i < KINDS; i++) {
        for (unsigned instance = 0; instance < kinds[i]->instances; instance++) {
            char path[4096];
            struct job *job = calloc(1, sizeof *job);
            snprintf(path, sizeof path, "%s/%s-%u", logs, kinds[i]->name, instance);
            if (!job)
                abort();
            *job = (struct job){.kind = kinds[i], .instance = instance, .dir = dir};
            job->log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
            job->buffer = malloc(JOB_BUFFER);
            job->random = job_now() + count * 1000003;
            job->killed = read_killed(logs);
            if (job->log < 0 || !job->buffer)
                abort();
            read_log(job);
            if (check) {
                check_errors(job);
                job->kind->check(job);
            } else if (pthread_create(&threads[count], NULL, job_thread, job) != 0) {
                abort();
            }
            jobs[count++] = job;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        if (!check)
            pthread_join(threads[i], NULL);
        faults += jobs[i]->faults;
        free(jobs[i]->records);
        free(jobs[i]->buffer);
        close(jobs[i]->log);
        free(jobs[i]);
    }
    close(dir);
    return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    signal(SIGTERM, stop_jobs);
    if (argc == 4 && strcmp(argv[1], "kill") == 0)
        return kill_daemon(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "work") == 0)
        return all_jobs(argv[2], argv[3], false);
    if (argc == 4 && strcmp(argv[1], "check") == 0)
        return all_jobs(argv[2], argv[3], true);
    fputs("usage: killer work MNT LOGS | kill PID LOGS | check MNT LOGS\n", stderr);
    return 2;
}
