/* CPU limits of cgroups, read from made-up trees. */
#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/engine/cpus.h"
#include "kernels/engine/engine.h"
#include "tests/check.h"

static char root[] = "/tmp/bale-cpus-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = strchr(path + sizeof root, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        REQUIRE(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    f = fopen(path, "w");
    REQUIRE(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    return ftw->level > 0 ? remove(path) : 0;
}

static void clear(void)
{
    REQUIRE(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static const char v2_mount[] =
    "25 1 0:22 / /proc rw - proc proc rw\n"
    "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

static void test_none(void)
{
    clear();
    CHECK_EQ_U(bale_cpus_cgroup(root), 0);
    put("proc/self/cgroup", "garbage\n0\n::\n");
    put("proc/self/mountinfo", "x\n - \n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 0);
    put("proc/self/cgroup", "0::relative\n");
    put("proc/self/mountinfo", "30 25 0:26 / relative rw - cgroup2 cgroup2 rw\n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 0);
}

static void test_v2(void)
{
    clear();
    put("proc/self/cgroup", "0::/a/b/c\n");
    put("proc/self/mountinfo", v2_mount);
    CHECK_EQ_U(bale_cpus_cgroup(root), 0);
    put("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 0);
    put("sys/fs/cgroup/a/b/c/cpu.max", "250000 100000\n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 3);
    put("sys/fs/cgroup/a/b/c/cpu.max", "5000 100000\n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 1);
    put("sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/a/cpu.max", "200000 100000\n"); /* an ancestor's is the least */
    CHECK_EQ_U(bale_cpus_cgroup(root), 2);
    put("sys/fs/cgroup/a/cpu.max", "0 0\n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 8);
    put("sys/fs/cgroup/a/b/c/cpu.max", "99999999999999999999999 1\n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 0);
}

/* In a cgroup namespace our group is the mount's top. */
static void test_v2_namespace(void)
{
    clear();
    put("proc/self/cgroup", "0::/\n");
    put("proc/self/mountinfo", v2_mount);
    put("sys/fs/cgroup/cpu.max", "400000 100000\n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 4);
}

/* A container without one sees its full path, but has only its own group mounted. */
static void test_v2_container(void)
{
    clear();
    put("proc/self/cgroup", "0::/pod/one/inner\n");
    put("proc/self/mountinfo", "30 25 0:26 /pod/one /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    put("sys/fs/cgroup/cpu.max", "600000 100000\n");
    put("sys/fs/cgroup/inner/cpu.max", "500000 100000\n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 5);
}

static void test_v1(void)
{
    clear();
    put("proc/self/cgroup", "12:cpuset:/\n5:cpu,cpuacct:/job/step\n0::/elsewhere\n");
    put("proc/self/mountinfo",
        "31 25 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "32 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_period_us", "100000\n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 0);
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "650000\n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 0);
    put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    CHECK_EQ_U(bale_cpus_cgroup(root), 7);
}

static void test_here(void)
{
    unsigned before = bale_cpus();
    cpu_set_t all;
    cpu_set_t one;

    CHECK(before >= 1);
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    CHECK(before <= (unsigned)CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK_EQ_U(bale_cpus(), 1);
    REQUIRE(sched_setaffinity(0, sizeof all, &all) == 0);
    CHECK_EQ_U(bale_cpus(), before);
}

int main(void)
{
    REQUIRE(mkdtemp(root));
    test_none();
    test_v2();
    test_v2_namespace();
    test_v2_container();
    test_v1();
    test_here();
    clear();
    rmdir(root);
    return check_result();
}
