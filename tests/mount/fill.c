/* Writers of many files, with a list of what was acknowledged, and the check of that list.
 *
 * usage: fill write [OPTIONS] LIST DIR
 *          --writers N     threads [4]
 *          --files N       of each [until the store is full]
 *          --size BYTES    of each file [random, up to 3 MiB]
 *          --text          compressible contents
 *          --sync          every other writer calls fsync
 *          --first N       number of the first file [0]
 *        fill check LIST DIR
 *        fill read [--readers N] LIST DIR     the same by several threads, in order
 *
 * Prints how many errors came from which call. Exit status of write: 0, also when the store became
 * full; 1 after any other error. A line of LIST is NAME NUMBER LENGTH KIND. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mount/content.h"

enum { WRITERS_MAX = 32, REFUSALS = 30 };
#define PIECE ((size_t)1 << 18)
#define NAME_MAX_HERE 64

static unsigned writers = 4;
static uint64_t files = UINT64_MAX, first_file;
static uint64_t fixed_size;
static enum content kind = CONTENT_RANDOM;
static bool sync_some;
static int dir;
static FILE *list;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_ulong full_open, full_write, full_fsync, full_close, others, acknowledged;

/* True: an error, counted. */
static bool failed(bool good, atomic_ulong *full, const char *what, const char *name)
{
    if (good)
        return false;
    if (errno == ENOSPC || errno == EDQUOT) {
        atomic_fetch_add(full, 1);
    } else {
        atomic_fetch_add(&others, 1);
        fprintf(stderr, "fill: %s: %s: %s\n", name, what, strerror(errno));
    }
    return true;
}

static void acknowledge(const char *name, uint64_t number, uint64_t length)
{
    atomic_fetch_add(&acknowledged, 1);
    pthread_mutex_lock(&list_lock);
    fprintf(list, "%s %ju %ju %d\n", name, (uintmax_t)number, (uintmax_t)length, (int)kind);
    pthread_mutex_unlock(&list_lock);
}

/* False: the store took less than it was given. */
static bool write_file(uint8_t *buffer, const char *name, uint64_t number, uint64_t size, bool sync)
{
    uint64_t done = 0;
    bool whole = true;
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (failed(fd >= 0, &full_open, "open", name))
        return false;
    while (done < size && whole) {
        size_t step = size - done < PIECE ? (size_t)(size - done) : PIECE;
        content_fill(kind, number, done, buffer, step);
        ssize_t got = write(fd, buffer, step);
        whole = !failed(got > 0, &full_write, "write", name);
        done += got > 0 ? (uint64_t)got : 0;
    }
    bool good = !sync || !failed(fsync(fd) == 0, &full_fsync, "fsync", name);
    good = !failed(close(fd) == 0, &full_close, "close", name) && good;
    if (good)
        acknowledge(name, number, done);
    return whole && good;
}

static void *write_files(void *arg)
{
    uint64_t writer = (uint64_t)(uintptr_t)arg;
    uint8_t *buffer = malloc(PIECE);
    unsigned refused = 0;

    if (!buffer)
        abort();
    for (uint64_t i = first_file; i - first_file < files && refused < REFUSALS; i++) {
        char name[NAME_MAX_HERE];
        uint64_t number = writer << 32 | i;
        uint64_t random = content_mix(number ^ 0x51ce);
        uint64_t size = fixed_size        ? fixed_size
                        : random % 4 == 0 ? random / 4 % 3000000
                                          : random / 4 % 100000;
        snprintf(name, sizeof name, "w%ju-%ju", (uintmax_t)writer, (uintmax_t)i);
        if (!write_file(buffer, name, number, size, sync_some && writer % 2))
            refused++;
        else if (files != UINT64_MAX)
            refused = 0;
    }
    free(buffer);
    return NULL;
}

static int write_all(void)
{
    pthread_t threads[WRITERS_MAX];

    for (unsigned i = 0; i < writers; i++)
        if (pthread_create(&threads[i], NULL, write_files, (void *)(uintptr_t)i) != 0)
            abort();
    for (unsigned i = 0; i < writers; i++)
        pthread_join(threads[i], NULL);
    printf("acknowledged %lu no-space open %lu write %lu fsync %lu close %lu other-errors %lu\n",
           atomic_load(&acknowledged), atomic_load(&full_open), atomic_load(&full_write),
           atomic_load(&full_fsync), atomic_load(&full_close), atomic_load(&others));
    if (fclose(list) != 0)
        abort();
    return atomic_load(&others) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- Checking ---- */

static bool next_line(char name[static NAME_MAX_HERE], uint64_t *number, uint64_t *length,
                      enum content *file_kind)
{
    uintmax_t values[2];
    int how;

    pthread_mutex_lock(&list_lock);
    int got = fscanf(list, "%63s %ju %ju %d", name, &values[0], &values[1], &how);
    pthread_mutex_unlock(&list_lock);
    if (got != 4)
        return false;
    *number = values[0];
    *length = values[1];
    *file_kind = (enum content)how;
    return true;
}

static void check_file(uint8_t *buffer, const char *name, uint64_t number, uint64_t length,
                       enum content file_kind)
{
    uint64_t done = 0;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

    if (failed(fd >= 0, &others, "open", name))
        return;
    for (;;) {
        ssize_t got = read(fd, buffer, PIECE);
        if (got <= 0) {
            if (got < 0)
                (void)failed(false, &others, "read", name);
            break;
        }
        size_t good = content_check(file_kind, number, done, buffer, (size_t)got);
        done += good;
        if (good != (size_t)got) {
            fprintf(stderr, "fill: %s: wrong at %ju\n", name, (uintmax_t)done);
            atomic_fetch_add(&others, 1);
            close(fd);
            return;
        }
    }
    if (done != length) {
        fprintf(stderr, "fill: %s: %ju bytes of %ju\n", name, (uintmax_t)done, (uintmax_t)length);
        atomic_fetch_add(&others, 1);
    }
    close(fd);
}

static void *check_files(void *arg)
{
    char name[NAME_MAX_HERE];
    uint64_t number, length;
    enum content file_kind;
    uint8_t *buffer = malloc(PIECE);

    (void)arg;
    if (!buffer)
        abort();
    while (next_line(name, &number, &length, &file_kind)) {
        check_file(buffer, name, number, length, file_kind);
        atomic_fetch_add(&acknowledged, 1);
    }
    free(buffer);
    return NULL;
}

static int check_all(unsigned readers)
{
    pthread_t threads[WRITERS_MAX];

    for (unsigned i = 0; i < readers; i++)
        if (pthread_create(&threads[i], NULL, check_files, NULL) != 0)
            abort();
    for (unsigned i = 0; i < readers; i++)
        pthread_join(threads[i], NULL);
    printf("checked %lu wrong %lu\n", atomic_load(&acknowledged), atomic_load(&others));
    return atomic_load(&others) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {
        {"writers", required_argument, NULL, 'w'}, {"readers", required_argument, NULL, 'w'},
        {"files", required_argument, NULL, 'f'},   {"size", required_argument, NULL, 's'},
        {"first", required_argument, NULL, '1'},   {"text", no_argument, NULL, 't'},
        {"sync", no_argument, NULL, 'y'},          {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        switch (option) {
        case 'w':
            writers = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'f':
            files = strtoull(optarg, NULL, 10);
            break;
        case 's':
            fixed_size = strtoull(optarg, NULL, 10);
            break;
        case '1':
            first_file = strtoull(optarg, NULL, 10);
            break;
        case 't':
            kind = CONTENT_TEXT;
            break;
        case 'y':
            sync_some = true;
            break;
        default:
            return 2;
        }
    }
    if (argc - optind != 3 || writers < 1 || writers > WRITERS_MAX) {
        fputs("usage: fill write|check|read [OPTIONS] LIST DIR\n", stderr);
        return 2;
    }
    const char *command = argv[optind];
    bool writing = strcmp(command, "write") == 0;
    list = fopen(argv[optind + 1], writing ? "a" : "r");
    dir = open(argv[optind + 2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!list || dir < 0) {
        perror("fill");
        return 2;
    }
    return writing ? write_all() : check_all(strcmp(command, "read") == 0 ? writers : 1);
}
