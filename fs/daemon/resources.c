#include "fs/daemon/resources.h"

#include <sys/resource.h>

#include "kernels/engine/engine.h"

#define DESCRIPTORS_MOST 1048576u
#define CACHED_DESCRIPTORS_MOST 65536u
#define THREADS_LEAST 4u
#define THREADS_MOST 16u
#define BUFFERS_SHARE 8u /* the threads' buffers take at most one eighth of the memory cap */

unsigned bale_descriptors_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 256;
    rlim_t most = limit.rlim_max < DESCRIPTORS_MOST ? limit.rlim_max : DESCRIPTORS_MOST;
    if (limit.rlim_cur < most) {
        struct rlimit raised = {.rlim_cur = most, .rlim_max = limit.rlim_max};
        limit.rlim_cur = setrlimit(RLIMIT_NOFILE, &raised) == 0 ? most : limit.rlim_cur;
    }
    rlim_t half = limit.rlim_cur / 2;
    return (unsigned)(half < CACHED_DESCRIPTORS_MOST ? half : CACHED_DESCRIPTORS_MOST);
}

unsigned bale_request_threads(uint64_t cap)
{
    uint64_t share = cap / BUFFERS_SHARE >> 20;
    unsigned threads = 2 * bale_cpus();

    threads = threads < THREADS_LEAST  ? THREADS_LEAST
              : threads > THREADS_MOST ? THREADS_MOST
                                       : threads;
    return threads < share || share < 2 ? threads : (unsigned)share;
}

uint64_t bale_process_cpu_us(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}
