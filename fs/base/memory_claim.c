/* Claims are locks on single bytes of a file of the user's (root's in /run, others' in /dev/shm).
 * Each byte stands for a unit of memory. The kernel ends a process's claims with the process. */
#include "fs/base/memory_claim.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIT ((uint64_t)64 << 20)

/* -1: the file cannot be opened, or belongs to somebody else. */
static int open_claims(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
        return fd;
    close(fd);
    return -1;
}

/* The user's number outside of our user namespace, inside of which anybody may be root. */
static unsigned outer_user(void)
{
    FILE *map = fopen("/proc/self/uid_map", "re");
    unsigned inner, outer, user = geteuid();

    if (map && fscanf(map, "%u %u", &inner, &outer) == 2)
        user = outer + (user - inner);
    if (map)
        fclose(map);
    return user;
}

uint64_t bale_memory_claim(uint64_t want, uint64_t bound, int *fd)
{
    unsigned user = outer_user();
    char path[64] = "/run/balefs-memory"; /* in a directory where only root can make files */

    if (user != 0)
        snprintf(path, sizeof path, "/dev/shm/balefs-memory-%u", user);
    return bale_memory_claim_at(path, want, bound, fd);
}

uint64_t bale_memory_claim_at(const char *path, uint64_t want, uint64_t bound, int *fd)
{
    uint64_t claimed = 0;

    *fd = open_claims(path);
    if (*fd < 0)
        return 0;
    for (uint64_t unit = 0; unit < bound / UNIT && claimed + UNIT <= want; unit++) {
        struct flock lock = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)unit, .l_len = 1};
        if (fcntl(*fd, F_OFD_SETLK, &lock) == 0)
            claimed += UNIT;
    }
    if (claimed > 0)
        return claimed;
    close(*fd);
    *fd = -1;
    return 0;
}
