/* How much memory there is for a mount: of the machine, and of the control groups. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/base/memory.h"

#define DEFAULT_LEAST ((uint64_t)64 << 20)

enum { PATH_ROOM = 4500 };

/* Where a control group says what, in v1 and in v2. */
struct words {
    const char *limit, *used, *inactive, *active; /* the latter in memory.stat */
};

static const struct words v1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                "total_inactive_file", "total_active_file"};
static const struct words v2 = {"memory.max", "memory.current", "inactive_file", "active_file"};

/* The number behind the word that a line of a file begins with; "": the file has a number alone.
 * False: there is none. */
static bool read_number(const char *directory, const char *name, const char *word, uint64_t *number)
{
    char path[PATH_ROOM], line[256];
    size_t length = strlen(word);
    unsigned long long value = 0;
    bool found = false;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, word, length) == 0 && sscanf(line + length, " %llu", &value) == 1;
    if (file)
        fclose(file);
    *number = value;
    return found;
}

/* UINT64_MAX: it has no limit. */
static uint64_t group_limit(const char *directory, const struct words *words)
{
    uint64_t limit;

    return read_number(directory, words->limit, "", &limit) ? limit : UINT64_MAX;
}

/* What the group may still take. Pages of files are given up for it. */
static uint64_t group_left(const char *directory, const struct words *words)
{
    uint64_t limit = group_limit(directory, words), used, inactive, active;

    if (!read_number(directory, words->used, "", &used))
        return UINT64_MAX;
    (void)read_number(directory, "memory.stat", words->inactive, &inactive);
    (void)read_number(directory, "memory.stat", words->active, &active);
    used = used > inactive + active ? used - inactive - active : 0;
    return limit > used ? limit - used : 0;
}

/* The least that a function says of our group and all groups above it. */
static uint64_t least_of_groups(const char *root,
                                uint64_t (*of)(const char *directory, const struct words *words))
{
    uint64_t least = UINT64_MAX;
    char path[PATH_ROOM], line[4096];

    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *self = fopen(path, "re");
    while (self && fgets(line, sizeof line, self)) {
        line[strcspn(line, "\n")] = '\0';
        bool new = strncmp(line, "0::", 3) == 0;
        char *group = new ? line + 3 : strstr(line, ":memory:");
        if (!group)
            continue;
        group += new ? 0 : strlen(":memory:");
        for (;;) {
            snprintf(path, sizeof path, "%s/sys/fs/cgroup%s%s", root, new ? "" : "/memory", group);
            uint64_t value = of(path, new ? &v2 : &v1);
            least = value < least ? value : least;
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

uint64_t bale_memory_limit_at(const char *root)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = least_of_groups(root, group_limit);

    return limit < machine ? limit : machine;
}

uint64_t bale_memory_available_at(const char *root)
{
    uint64_t left = least_of_groups(root, group_left), kib;
    char directory[PATH_ROOM];

    snprintf(directory, sizeof directory, "%s/proc", root);
    if (read_number(directory, "meminfo", "MemAvailable:", &kib) && kib << 10 < left)
        left = kib << 10;
    return left;
}

uint64_t bale_memory_limit(void)
{
    return bale_memory_limit_at("");
}

bool bale_memory_is_scarce(void)
{
    return bale_memory_available_at("") < bale_memory_limit() / 16;
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
