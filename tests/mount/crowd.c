/* Looks names up as a user with many threads, and as another one who has one, beside them.
 *
 *     bale_crowd DIR THREADS
 *
 * Prints how many requests of the crowd are answered while the other user waits for one, in the
 * median. In the order in which they came these are as many as the crowd has threads. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CROWD = 1001, OTHER = 1002, REQUESTS = 200, STACK = 65536 };

/* In memory that the processes share. */
static atomic_ulong *answered;
static atomic_ulong *name;
static const char *dir;

static void look_up(void)
{
    char path[512];
    struct stat st;

    snprintf(path, sizeof path, "%s/%lu", dir, atomic_fetch_add(name, 1));
    (void)lstat(path, &st);
}

static void *crowd_thread(void *arg)
{
    (void)arg;
    for (;;) {
        look_up();
        atomic_fetch_add(answered, 1);
    }
    return NULL;
}

static void be(unsigned user)
{
    if (setgid(user) != 0 || setuid(user) != 0) {
        perror("bale_crowd: setuid");
        exit(1);
    }
}

static void crowd(unsigned threads)
{
    pthread_attr_t attr;
    pthread_t id;

    /* Else a thousand threads leave the daemon too little time to read what waits for it. */
    (void)setpriority(PRIO_PROCESS, 0, 19);
    be(CROWD);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&id, &attr, crowd_thread, NULL) != 0) {
            fprintf(stderr, "bale_crowd: only %u threads\n", i);
            exit(1);
        }
    }
    pause();
}

static int compare(const void *a, const void *b)
{
    unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

    return x < y ? -1 : x > y;
}

static void other(unsigned threads)
{
    unsigned long before[REQUESTS];

    be(OTHER);
    while (atomic_load(answered) < 5ul * threads)
        look_up();
    for (int i = 0; i < REQUESTS; i++) {
        unsigned long start = atomic_load(answered);
        look_up();
        before[i] = atomic_load(answered) - start;
    }
    qsort(before, REQUESTS, sizeof before[0], compare);
    printf("%lu\n", before[REQUESTS / 2]);
    fflush(stdout);
}

/* A process that ends after body. */
static pid_t start(void (*body)(unsigned threads), unsigned threads)
{
    pid_t pid = fork();

    if (pid == 0) {
        body(threads);
        _exit(0);
    }
    return pid;
}

int main(int argc, char **argv)
{
    const unsigned threads = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    int status;

    answered =
        mmap(NULL, 2 * sizeof *answered, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (threads == 0 || answered == MAP_FAILED) {
        fprintf(stderr, "usage: bale_crowd DIR THREADS\n");
        return 2;
    }
    dir = argv[1];
    name = answered + 1;
    pid_t first = start(crowd, threads), second = start(other, threads);
    pid_t ended = first > 0 && second > 0 ? wait(&status) : -1;
    if (first > 0)
        kill(first, SIGKILL);
    if (second > 0 && ended != second)
        kill(second, SIGKILL);
    return ended != second || status != 0;
}
