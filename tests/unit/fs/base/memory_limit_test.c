/* What control groups and the machine leave, from files as the kernel has them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/base/memory.h"
#include "tests/check.h"

#define MIB ((uint64_t)1 << 20)

static char root[] = "/tmp/bale-limit-test-XXXXXX";

/* Writes a file below root, and makes the directories above it. */
static void put(const char *name, const char *text)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + sizeof root; *slash; slash++)
        if (*slash == '/') {
            *slash = '\0';
            (void)mkdir(path, 0700);
            *slash = '/';
        }
    FILE *file = fopen(path, "we");
    REQUIRE(file);
    fputs(text, file);
    REQUIRE(fclose(file) == 0);
}

static void put_number(const char *name, uint64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%llu\n", (unsigned long long)number);
    put(name, text);
}

/* The group has no limit, the one above it has; pages of files are left. */
static void version2(void)
{
    put("proc/self/cgroup", "0::/job/step\n");
    put("proc/meminfo", "MemTotal:  9000000 kB\nMemFree:  1 kB\nMemAvailable:  307200 kB\n");
    put("sys/fs/cgroup/job/step/memory.max", "max\n");
    put_number("sys/fs/cgroup/job/step/memory.current", 50 * MIB);
    put_number("sys/fs/cgroup/job/memory.max", 200 * MIB);
    put_number("sys/fs/cgroup/job/memory.current", 150 * MIB);
    put("sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 20971520\nactive_file 10485760\n");
    CHECK_EQ_U(bale_memory_limit_at(root), 200 * MIB);
    CHECK_EQ_U(bale_memory_available_at(root), 80 * MIB);
    put_number("sys/fs/cgroup/job/memory.current", 250 * MIB);
    CHECK_EQ_U(bale_memory_available_at(root), 0);
    put_number("sys/fs/cgroup/job/memory.max", 1000 * MIB);
    CHECK_EQ_U(bale_memory_available_at(root), 300 * MIB); /* the machine's */
}

static void version1(void)
{
    put("proc/self/cgroup", "5:devices:/job\n4:memory:/job\n0::/\n");
    put_number("sys/fs/cgroup/memory/job/memory.limit_in_bytes", 100 * MIB);
    put_number("sys/fs/cgroup/memory/job/memory.usage_in_bytes", 90 * MIB);
    put("sys/fs/cgroup/memory/job/memory.stat",
        "inactive_file 1\ntotal_inactive_file 4194304\ntotal_active_file 1048576\n");
    CHECK_EQ_U(bale_memory_limit_at(root), 100 * MIB);
    CHECK_EQ_U(bale_memory_available_at(root), 15 * MIB);
}

int main(void)
{
    char command[64];

    REQUIRE(mkdtemp(root));
    version2();
    version1();
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK_EQ(system(command), 0);
    CHECK(bale_memory_available_at("") > 0);
    CHECK_EQ_U(bale_memory_limit(), bale_memory_limit_at(""));
    return check_result();
}
