/* How much memory there is for a mount. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/base/memory.h"

#define DEFAULT_LEAST ((uint64_t)64 << 20)

/* The least memory.max (v2) or memory.limit_in_bytes (v1) from our cgroup up to the root. */
static uint64_t cgroup_limit(void)
{
    uint64_t least = UINT64_MAX;
    char line[4096];
    FILE *self = fopen("/proc/self/cgroup", "re");

    while (self && fgets(line, sizeof line, self)) {
        line[strcspn(line, "\n")] = '\0';
        bool v2 = strncmp(line, "0::", 3) == 0;
        char *group = v2 ? line + 3 : strstr(line, ":memory:");
        if (!group)
            continue;
        group += v2 ? 0 : strlen(":memory:");
        for (;;) {
            char path[4400];
            snprintf(path, sizeof path,
                     v2 ? "/sys/fs/cgroup%s/memory.max"
                        : "/sys/fs/cgroup/memory%s/memory.limit_in_bytes",
                     group);
            FILE *file = fopen(path, "re");
            unsigned long long value;
            if (file && fscanf(file, "%llu", &value) == 1 && value < least)
                least = value;
            if (file)
                fclose(file);
            char *slash = strrchr(group, '/');
            if (!slash || group[0] == '\0')
                break;
            *slash = '\0';
        }
    }
    if (self)
        fclose(self);
    return least;
}

uint64_t bale_memory_limit(void)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = cgroup_limit();

    return limit < machine ? limit : machine;
}

static uint64_t share_of_limit(uint64_t most)
{
    uint64_t share = bale_memory_limit() / 16;

    share = share > most ? most : share;
    return share < DEFAULT_LEAST ? DEFAULT_LEAST : share;
}

uint64_t bale_memory_default_cap(void)
{
    return share_of_limit((uint64_t)1 << 30);
}

uint64_t bale_memory_gpu_cap(void)
{
    return share_of_limit((uint64_t)4 << 30);
}
