#include "kernels/engine/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/engine/engine.h"

enum {
    PATH_SIZE = 4096,
    LINE_SIZE = 3 * PATH_SIZE, /* a line of mountinfo holds two paths and options */
};

/* A cgroup hierarchy with CPU limits, as /proc shows it to this process. */
struct hierarchy {
    bool unified;          /* v2 */
    char group[PATH_SIZE]; /* path of our cgroup, from /proc/self/cgroup */
    char mount[PATH_SIZE]; /* where it is mounted */
    char root[PATH_SIZE];  /* the cgroup that is mounted there */
};

static FILE *open_proc(const char *root, const char *name)
{
    char path[PATH_SIZE];

    if (snprintf(path, sizeof path, "%s/proc/self/%s", root, name) >= PATH_SIZE)
        return NULL;
    return fopen(path, "re");
}

/* Whether word is in the comma-separated list. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* Only absolute paths. */
static bool copy_path(char *to, const char *from)
{
    size_t length = strlen(from);

    if (length >= PATH_SIZE || *from != '/')
        return false;
    memcpy(to, from, length + 1);
    return true;
}

/* Lines "ID:CONTROLLERS:PATH"; v2 has ID 0 and no controllers. */
static bool find_group(const char *root, struct hierarchy *h)
{
    char line[LINE_SIZE];
    FILE *f = open_proc(root, "cgroup");
    bool found = false;

    if (!f)
        return false;
    while (!found && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        controllers++;
        path[strcspn(path, "\n")] = '\0';
        if (h->unified ? *controllers == '\0' : has_word(controllers, "cpu"))
            found = copy_path(h->group, path);
    }
    fclose(f);
    return found;
}

/* Lines "ID PARENT DEV ROOT MOUNTPOINT OPTIONS [FIELD...] - TYPE SOURCE SUPEROPTIONS". */
static bool find_mount(const char *root, struct hierarchy *h)
{
    char line[LINE_SIZE];
    char mount_root[PATH_SIZE];
    char mount[PATH_SIZE];
    char type[32];
    char super[PATH_SIZE];
    FILE *f = open_proc(root, "mountinfo");
    bool found = false;

    if (!f)
        return false;
    while (!found && fgets(line, sizeof line, f)) {
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", mount_root, mount) != 2 ||
            sscanf(rest, " - %31s %*s %4095s", type, super) != 2)
            continue;
        if (h->unified ? strcmp(type, "cgroup2") == 0
                       : strcmp(type, "cgroup") == 0 && has_word(super, "cpu"))
            found = copy_path(h->root, mount_root) && copy_path(h->mount, mount);
    }
    fclose(f);
    return found;
}

/* Reads up to two numbers from a file of a cgroup and returns how many; "max" is -1. */
static int read_numbers(const char *directory, const char *name, long long numbers[2])
{
    char path[3 * PATH_SIZE];
    char words[2][24];
    FILE *f;
    int count;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    f = fopen(path, "re");
    if (!f)
        return 0;
    count = fscanf(f, "%23s %23s", words[0], words[1]);
    fclose(f);
    for (int i = 0; i < count; i++)
        numbers[i] = strcmp(words[i], "max") == 0 ? -1 : strtoll(words[i], NULL, 10);
    return count > 0 ? count : 0;
}

/* The limit of one cgroup, 0: none. */
static unsigned read_limit(const struct hierarchy *h, const char *directory)
{
    long long quota[2];
    long long period[2];

    if (h->unified) {
        if (read_numbers(directory, "cpu.max", quota) != 2)
            return 0;
        period[0] = quota[1];
    } else if (read_numbers(directory, "cpu.cfs_quota_us", quota) < 1 ||
               read_numbers(directory, "cpu.cfs_period_us", period) < 1) {
        return 0;
    }
    if (quota[0] <= 0 || period[0] <= 0 || quota[0] / period[0] >= CPU_SETSIZE)
        return 0;
    return (unsigned)((quota[0] + period[0] - 1) / period[0]);
}

/* Our cgroup's path below the mount point. Without a cgroup namespace a container sees its group's
 * full path, but only that group mounted. */
static const char *below_mount(const struct hierarchy *h)
{
    size_t length = strlen(h->root);

    if (length > 1 && strncmp(h->group, h->root, length) == 0 &&
        (h->group[length] == '/' || h->group[length] == '\0'))
        return h->group + length;
    return h->group;
}

static unsigned least(unsigned a, unsigned b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

/* The limit of our cgroup and of all above it, up to the mount point. */
static unsigned hierarchy_limit(const char *root, bool unified)
{
    struct hierarchy h = {.unified = unified};
    char directory[2 * PATH_SIZE];
    size_t top;
    unsigned limit = 0;
    int length;

    if (!find_group(root, &h) || !find_mount(root, &h))
        return 0;
    length = snprintf(directory, sizeof directory, "%s%s%s", root, h.mount, below_mount(&h));
    if (length < 0 || length >= (int)sizeof directory)
        return 0;
    top = strlen(root) + strlen(h.mount);
    while (strlen(directory) > top) {
        limit = least(limit, read_limit(&h, directory));
        *strrchr(directory, '/') = '\0';
    }
    return least(limit, read_limit(&h, directory));
}

unsigned bale_cpus_cgroup(const char *root)
{
    return least(hierarchy_limit(root, true), hierarchy_limit(root, false));
}

/* The mask may be wider than cpu_set_t: then the kernel returns EINVAL. */
static unsigned affinity(void)
{
    for (size_t cpus = CPU_SETSIZE; cpus <= 64 * CPU_SETSIZE; cpus *= 2) {
        size_t size = CPU_ALLOC_SIZE(cpus);
        cpu_set_t *set = CPU_ALLOC(cpus);
        int count = 0;

        if (!set)
            break;
        if (sched_getaffinity(0, size, set) == 0)
            count = CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (count > 0)
            return (unsigned)count;
    }
    return 1;
}

unsigned bale_cpus(void)
{
    return least(affinity(), bale_cpus_cgroup(""));
}
