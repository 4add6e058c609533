#include "fs/daemon/resources.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fs/fuse/ops.h"
#include "kernels/engine/engine.h"

#define DESCRIPTORS_MOST 1048576u
#define DESCRIPTORS_FEW 256u
#define TABLE_MOST 4096u
#define NODES_MOST 65536u
#define OWN_MOST 4096u
#define DIRECTORIES_SHARE 16u /* at most one sixteenth of the memory cap */
#define THREADS_LEAST 4u
#define THREADS_MOST 16u
#define WRITE_MOST (1u << 20)
#define WRITE_LEAST (64u << 10)
#define WRITE_SHARE 512u /* so that the threads' buffers take little of the memory cap */

static unsigned raised_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return DESCRIPTORS_FEW;
    rlim_t most = limit.rlim_max < DESCRIPTORS_MOST ? limit.rlim_max : DESCRIPTORS_MOST;
    if (limit.rlim_cur < most) {
        struct rlimit raised = {.rlim_cur = most, .rlim_max = limit.rlim_max};
        limit.rlim_cur = setrlimit(RLIMIT_NOFILE, &raised) == 0 ? most : limit.rlim_cur;
    }
    return (unsigned)(limit.rlim_cur < DESCRIPTORS_MOST ? limit.rlim_cur : DESCRIPTORS_MOST);
}

/* Has the kernel make the table of descriptors as large as most mounts need it. Where there are
 * several threads, the open that makes it larger waits for all processors (RCU), for some 20 ms. */
static void make_table(unsigned limit)
{
    int fd = open("/", O_PATH | O_CLOEXEC);
    int last =
        fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, (limit < TABLE_MOST ? limit : TABLE_MOST) - 1);

    if (last >= 0)
        close(last);
    if (fd >= 0)
        close(fd);
}

struct bale_descriptors bale_descriptors_raise(void)
{
    unsigned limit = raised_limit();

    make_table(limit);
    unsigned own = limit / 8 < OWN_MOST ? limit / 8 : OWN_MOST;
    struct bale_descriptors descriptors = {
        .nodes = limit / 4 < NODES_MOST ? limit / 4 : NODES_MOST,
        .directories = limit / 16,
        .ahead = own / 2, /* the rest is the daemon's own */
    };

    descriptors.files = limit - own - descriptors.nodes - descriptors.directories;
    return descriptors;
}

unsigned bale_directories_kept(const struct bale_descriptors *descriptors, uint64_t cap)
{
    uint64_t fit = cap / DIRECTORIES_SHARE / BALE_DIRECTORY_BYTES;

    return fit < descriptors->directories ? (unsigned)fit : descriptors->directories;
}

unsigned bale_request_threads(void)
{
    unsigned threads = 2 * bale_cpus();

    return threads < THREADS_LEAST  ? THREADS_LEAST
           : threads > THREADS_MOST ? THREADS_MOST
                                    : threads;
}

unsigned bale_max_write(uint64_t cap)
{
    unsigned most = WRITE_MOST;

    while (most > WRITE_LEAST && most > cap / WRITE_SHARE)
        most /= 2;
    return most;
}

uint64_t bale_process_cpu_us(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}
