#include "tools/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <lz4.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "fs/base/memory.h"
#include "fs/daemon/daemon.h"
#include "kernels/engine/engine.h"
#include "tools/common/program.h"
#include "tools/common/size.h"
#include "tools/mount/daemon_log.h"

#define KERNEL_LEAST_MAJOR 5
#define KERNEL_LEAST_MINOR 10
#define FILES_LEAST 1024u         /* with fewer, files must be reopened often */
#define MEMORY_LEAST (256u << 20) /* with less, the memory cap is more than a quarter of it */

static bool read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    bool read = file && fgets(line, size, file);

    if (file)
        fclose(file);
    line[read ? strcspn(line, "\n") : 0] = '\0';
    return read;
}

static void report_versions(struct bale_doctor *doctor)
{
    bale_doctor_report(doctor, "balefs", BALE_FINDING_FINE, NULL,
                       "%s, libfuse %s, zstd %s, lz4 %s, xxHash %u, jansson %s", BALEFS_VERSION,
                       bale_daemon_libfuse(), ZSTD_versionString(), LZ4_versionString(),
                       XXH_versionNumber(), jansson_version_str());
}

static void report_kernel(struct bale_doctor *doctor)
{
    struct utsname name;
    int major = 0, minor = 0;

    if (uname(&name) != 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2)
        return;
    bool old =
        major < KERNEL_LEAST_MAJOR || (major == KERNEL_LEAST_MAJOR && minor < KERNEL_LEAST_MINOR);
    bale_doctor_report(doctor, "kernel", old ? BALE_FINDING_BAD : BALE_FINDING_FINE,
                       old ? "Linux 5.10 or later is needed" : NULL, "%s %s, %s, %u processors",
                       name.sysname, name.release, name.machine, bale_cpus());
}

static void fuse_device(struct bale_doctor *doctor)
{
    struct stat st;

    if (stat("/dev/fuse", &st) != 0) {
        bale_doctor_report(doctor, "/dev/fuse", BALE_FINDING_BAD,
                           "as root: modprobe fuse; in a container: give it the device /dev/fuse",
                           "%s", strerror(errno));
        return;
    }
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    int e = errno;
    if (fd >= 0)
        close(fd);
    bale_doctor_report(doctor, "/dev/fuse", fd >= 0 ? BALE_FINDING_FINE : BALE_FINDING_BAD,
                       fd >= 0       ? NULL
                       : e == EACCES ? "as root: chmod 666 /dev/fuse"
                                     : "as root: modprobe fuse; in a container: allow the device",
                       "mode %04o, owner %u:%u, %s", (unsigned)st.st_mode & 07777, st.st_uid,
                       st.st_gid, fd >= 0 ? "can be opened" : strerror(e));
}

/* "fusermount3 version: 3.14.0"; "" if it does not print a version. */
static void helper_version(const struct bale_fusermount_program *helper, char *line, size_t size)
{
    char *words[] = {(char *)(uintptr_t)helper->path, (char[]){"--version"}, NULL};

    (void)bale_program_run(words, STDOUT_FILENO, line, size);
    line[strcspn(line, "\n")] = '\0';
}

/* Tries it in a child. 0 or an errno. */
static int try_namespace(void)
{
    int state = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 ? 0 : errno);
    if (child < 0 || waitpid(child, &state, 0) != child || !WIFEXITED(state))
        return EIO;
    return WEXITSTATUS(state);
}

static void report_fusermount(struct bale_doctor *doctor, bool namespaces)
{
    const char *without =
        namespaces ? "balefs run does without; for balefs mount install the package fuse3"
                   : "install the package fuse3";
    struct bale_fusermount_program helper;
    char version[128];
    bool root = geteuid() == 0, held = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;

    bale_fusermount_find(&helper);
    enum bale_finding lack = root || namespaces ? BALE_FINDING_NOTE : BALE_FINDING_BAD;
    if (!helper.path[0]) {
        bale_doctor_report(doctor, "fusermount3", lack, root ? NULL : without, "not in PATH%s",
                           root ? "; root needs none" : "");
        return;
    }
    helper_version(&helper, version, sizeof version);
    bool good = helper.setuid && !held;
    bale_doctor_report(doctor, "fusermount3", good ? BALE_FINDING_FINE : lack,
                       good || root     ? NULL
                       : !helper.setuid ? "as root: chown root and chmod u+s it, or use balefs run"
                                        : without,
                       "%s, %s%s, %s", helper.path,
                       helper.setuid ? "set-user-ID" : "not set-user-ID",
                       held ? ", of no use under no_new_privs" : "",
                       version[0] ? version : "does not print its version");
}

static void fuse_conf(struct bale_doctor *doctor)
{
    char line[256];
    bool allowed = false;
    FILE *file = fopen("/etc/fuse.conf", "re");

    while (file && fgets(line, sizeof line, file))
        allowed = allowed || strncmp(line, "user_allow_other", 16) == 0;
    bale_doctor_report(
        doctor, "/etc/fuse.conf", allowed || geteuid() == 0 ? BALE_FINDING_FINE : BALE_FINDING_NOTE,
        allowed || geteuid() == 0 ? NULL
                                  : "for mounts that others may enter, root adds user_allow_other",
        "%s%s", file ? "" : "missing, ",
        allowed ? "user_allow_other is set" : "user_allow_other is not set");
    if (file)
        fclose(file);
}

static void user_namespaces(struct bale_doctor *doctor, int err)
{
    static const char *const files[] = {"/proc/sys/user/max_user_namespaces",
                                        "/proc/sys/kernel/unprivileged_userns_clone",
                                        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"};
    char text[256], value[32];
    size_t used;

    used = (size_t)snprintf(text, sizeof text, "%s", err == 0 ? "can be made" : strerror(err));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (read_line(files[i], value, sizeof value))
            used += (size_t)snprintf(text + used, sizeof text - used, ", %s %s",
                                     strrchr(files[i], '/') + 1, value);
    bale_doctor_report(doctor, "user namespaces", err == 0 ? BALE_FINDING_FINE : BALE_FINDING_NOTE,
                       err == 0 ? NULL : "ordinary users need fusermount3 then", "%s", text);
}

static void report_limits(struct bale_doctor *doctor)
{
    struct rlimit files;
    char limit[BALE_TEXT], cap[BALE_TEXT];
    uint64_t memory = bale_memory_limit();

    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        bale_doctor_report(
            doctor, "open files",
            files.rlim_max < FILES_LEAST ? BALE_FINDING_NOTE : BALE_FINDING_FINE,
            files.rlim_max < FILES_LEAST ? "raise it with ulimit -Hn or in limits.conf" : NULL,
            "at most %llu, now %llu", (unsigned long long)files.rlim_max,
            (unsigned long long)files.rlim_cur);
    bale_doctor_report(
        doctor, "memory", memory < MEMORY_LEAST ? BALE_FINDING_NOTE : BALE_FINDING_FINE,
        memory < MEMORY_LEAST ? "mount with -o memory=32M, or allow the cgroup more" : NULL,
        "%s for this process (machine and cgroup), a mount takes %s by default",
        bale_size_text(memory, limit), bale_size_text(bale_memory_default_cap(), cap));
}

static void system_log(struct bale_doctor *doctor)
{
    bool answers = bale_daemon_log_system_answers();

    bale_doctor_report(doctor, "log", BALE_FINDING_FINE, NULL, "%s",
                       answers
                           ? "the system's, /dev/log"
                           : "no system log: a mount keeps its own in .balefs/log of the store");
}

void bale_doctor_machine(struct bale_doctor *doctor)
{
    int namespaces = try_namespace();

    report_versions(doctor);
    report_kernel(doctor);
    fuse_device(doctor);
    report_fusermount(doctor, namespaces == 0);
    fuse_conf(doctor);
    user_namespaces(doctor, namespaces);
    report_limits(doctor);
    system_log(doctor);
    bale_doctor_gpu(doctor);
}
