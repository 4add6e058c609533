/* Attributes: modes, times, owners, extended attributes. */
#include "tests/fuse/where.h"

#include <linux/capability.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

/* Files of every mode can be made, written by their maker, shown, changed and removed. */
static void test_modes(void)
{
    char name[32];

    umask(0);
    for (unsigned mode = 0; mode <= 0777; mode++) {
        snprintf(name, sizeof name, "m%03o", mode);
        int fd = open(name, O_CREAT | O_EXCL | O_RDWR, mode);
        if (!CHECK(fd >= 0))
            continue;
        CHECK_EQ(write(fd, name, 4), 4);
        CHECK_EQ_U(mode_of(name), mode);
        close(fd);
        CHECK_EQ_U(mode_of(name), mode);
        if (geteuid() != 0) {
            bool reads = access(name, R_OK) == 0, writes = access(name, W_OK) == 0;
            CHECK_EQ(reads, (mode & 0400) != 0);
            CHECK_EQ(writes, (mode & 0200) != 0);
            fd = open(name, O_WRONLY);
            CHECK_EQ(fd >= 0, writes);
            if (fd >= 0)
                close(fd);
        }
        if (mode & 0400)
            CHECK(file_is(name, name, 4));
        CHECK_EQ(chmod(name, mode ^ 0777), 0);
        CHECK_EQ_U(mode_of(name), mode ^ 0777);
    }
    for (unsigned mode = 0; mode <= 07777; mode += 0111) {
        CHECK_EQ(chmod("m000", mode), 0);
        CHECK_EQ_U(mode_of("m000"), mode);
        CHECK_EQ(mkdir("dir", 0700), 0);
        CHECK_EQ(chmod("dir", mode), 0);
        CHECK_EQ_U(mode_of("dir"), mode);
        CHECK_EQ(rmdir("dir"), 0);
    }
    umask(027);
    int fd = open("masked", O_CREAT | O_WRONLY, 0666);
    CHECK_EQ_U(mode_of("masked"), 0640);
    close(fd);
    CHECK_EQ(mkdir("maskeddir", 0777), 0);
    CHECK_EQ_U(mode_of("maskeddir"), 0750);
    CHECK_EQ(mkfifo("maskedfifo", 0777), 0);
    CHECK_EQ_U(mode_of("maskedfifo"), 0750);
    umask(022);
}

static bool same_time(struct timespec a, time_t seconds, long ns)
{
    return a.tv_sec == seconds && a.tv_nsec == ns;
}

/* Opens the file, reads it if asked to, and returns whether that has changed its access time. */
static bool is_accessed(const char *name, bool reads)
{
    const struct timespec old[2] = {{100, 0}, {200, 0}};
    struct stat st;
    char byte;

    CHECK_EQ(utimensat(AT_FDCWD, name, old, 0), 0);
    int fd = open(name, O_RDONLY);
    CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    if (reads)
        CHECK_EQ(read(fd, &byte, 1), 1);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(close(fd), 0);
    return !same_time(st.st_atim, 100, 0);
}

/* As is_accessed, after a while if need be: the daemon serves a file that it has not closed since it
 * was written from memory, and that is no access. */
static bool is_accessed_in_time(const char *name)
{
    bool accessed = false;

    for (int tries = 0; tries < 100 && !accessed; tries++) {
        accessed = is_accessed(name, true);
        if (!accessed)
            usleep(10000);
    }
    return accessed;
}

/* A file whose container is read before its first read is accessed by that read, as another is. */
static void test_access(void)
{
    make_file("opened", "data", 4);
    make_file("read", "data", 4);
    make_file("ahead", "data", 4);
    CHECK(!is_accessed("opened", false)); /* so the next one is not expected to be read */
    bool usual = is_accessed_in_time("read");
    CHECK_EQ(is_accessed_in_time("ahead"), usual); /* false: without access times */
    CHECK(!is_accessed("opened", false));
}

static void test_times(void)
{
    const char *const names[] = {"file", "dir", "fifo"};
    struct stat st, then;

    make_file("file", "data", 4);
    CHECK_EQ(mkdir("dir", 0755), 0);
    CHECK_EQ(mkfifo("fifo", 0644), 0);
    for (int i = 0; i < 3; i++) {
        const struct timespec times[2] = {{1234567890, 987654321}, {-5, 1}};
        CHECK_EQ(utimensat(AT_FDCWD, names[i], times, 0), 0);
        CHECK_EQ(stat(names[i], &st), 0);
        CHECK(same_time(st.st_atim, 1234567890, 987654321));
        CHECK(same_time(st.st_mtim, -5, 1));
        const struct timespec omit[2] = {{0, UTIME_OMIT}, {2000000000, 5}};
        CHECK_EQ(utimensat(AT_FDCWD, names[i], omit, 0), 0);
        CHECK_EQ(stat(names[i], &st), 0);
        CHECK(same_time(st.st_atim, 1234567890, 987654321));
        CHECK(same_time(st.st_mtim, 2000000000, 5));
        const struct timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
        CHECK_EQ(utimensat(AT_FDCWD, names[i], now, 0), 0);
        CHECK_EQ(stat(names[i], &st), 0);
        CHECK(st.st_atim.tv_sec > 1234567890);
        CHECK(same_time(st.st_mtim, 2000000000, 5));
        then = st;
        CHECK_EQ(utimensat(AT_FDCWD, names[i], NULL, 0), 0);
        CHECK_EQ(stat(names[i], &st), 0);
        CHECK(st.st_mtim.tv_sec != 2000000000 && st.st_ctim.tv_sec >= then.st_ctim.tv_sec);
    }
    /* An empty file has times too, and the first write changes them. */
    const struct timespec old[2] = {{100, 1}, {200, 2}};
    int fd = open("empty", O_CREAT | O_RDWR, 0644);
    CHECK_EQ(futimens(fd, old), 0);
    CHECK_EQ(close(fd), 0);
    CHECK_EQ(stat("empty", &st), 0);
    CHECK(same_time(st.st_mtim, 200, 2));
    fd = open("empty", O_WRONLY);
    CHECK_EQ(write(fd, "x", 1), 1);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK(st.st_mtim.tv_sec > 200);
    close(fd);
    /* So does a truncation to 0, and the new times stay. */
    CHECK_EQ(utimensat(AT_FDCWD, "empty", old, 0), 0);
    CHECK_EQ(truncate("empty", 0), 0);
    CHECK_EQ(stat("empty", &st), 0);
    CHECK(st.st_mtim.tv_sec > 200);
}

/* A ctime never goes back, whichever process changes the file, and whether it is open or not. */
static void test_ctime_forward(void)
{
    struct stat last, st;

    make_file("file", "data", 4);
    CHECK_EQ(stat("file", &last), 0);
    for (int i = 0; i < 600; i++) {
        const struct timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
        switch (i % 4) {
        case 0:
            CHECK_EQ(utimensat(AT_FDCWD, "file", now, 0), 0);
            break;
        case 1:
            CHECK_EQ(utimensat(AT_FDCWD, "file", NULL, 0), 0);
            break;
        case 2:
            CHECK_EQ(chmod("file", 0600), 0);
            break;
        default:
            make_file("file", "other", 5);
        }
        CHECK_EQ(stat("file", &st), 0);
        CHECK(st.st_ctim.tv_sec > last.st_ctim.tv_sec ||
              (st.st_ctim.tv_sec == last.st_ctim.tv_sec &&
               st.st_ctim.tv_nsec >= last.st_ctim.tv_nsec));
        last = st;
    }
}

/* What changes a directory's entries changes its mtime. */
static void test_directory_times(void)
{
    const struct timespec old[2] = {{100, 1}, {200, 2}};
    struct stat st;

    CHECK_EQ(mkdir("d", 0755), 0);
    CHECK_EQ(utimensat(AT_FDCWD, "d", old, 0), 0);
    make_file("d/f", "", 0);
    CHECK_EQ(stat("d", &st), 0);
    CHECK(st.st_mtim.tv_sec > 200);
    CHECK_EQ(utimensat(AT_FDCWD, "d", old, 0), 0);
    CHECK_EQ(unlink("d/f"), 0);
    CHECK_EQ(stat("d", &st), 0);
    CHECK(st.st_mtim.tv_sec > 200);
    CHECK_EQ(st.st_nlink <= 2, true);
    CHECK_EQ(mkdir("d/sub", 0755), 0);
    CHECK_EQ(stat("d", &st), 0);
    CHECK(st.st_nlink == 3 || st.st_nlink == 1);
}

static void test_statfs(void)
{
    struct statvfs vfs;

    CHECK_EQ(statvfs(".", &vfs), 0);
    CHECK(vfs.f_blocks > 0 && vfs.f_bavail > 0 && vfs.f_bavail <= vfs.f_blocks);
    CHECK_EQ(vfs.f_namemax, 255);
}

static void test_xattrs(void)
{
    char value[8192], got[8192], big[4000];

    make_file("f", "data", 4);
    CHECK_EQ(mkdir("d", 0755), 0);
    if (setxattr("f", "user.test", "value", 5, 0) != 0 && errno == EOPNOTSUPP) {
        printf("no user attributes here\n");
        return;
    }
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "d" : "f";
        CHECK_EQ(setxattr(name, "user.test", "value", 5, 0), 0);
        CHECK_EQ(getxattr(name, "user.test", NULL, 0), 5);
        CHECK_EQ(getxattr(name, "user.test", got, sizeof got), 5);
        CHECK_EQ_MEM(got, "value", 5);
        FAILS(getxattr(name, "user.test", got, 4), ERANGE);
        FAILS(getxattr(name, "user.none", got, 4), ENODATA);
        FAILS(setxattr(name, "user.test", "x", 1, XATTR_CREATE), EEXIST);
        FAILS(setxattr(name, "user.none", "x", 1, XATTR_REPLACE), ENODATA);
        CHECK_EQ(setxattr(name, "user.empty", "", 0, 0), 0);
        CHECK_EQ(getxattr(name, "user.empty", got, sizeof got), 0);
        ssize_t length = listxattr(name, value, sizeof value);
        bool found = false;
        for (ssize_t at = 0; at < length; at += (ssize_t)strlen(value + at) + 1)
            found = found || strcmp(value + at, "user.test") == 0;
        CHECK(found);
        CHECK_EQ(listxattr(name, NULL, 0), length);
        CHECK_EQ(removexattr(name, "user.empty"), 0);
        FAILS(removexattr(name, "user.empty"), ENODATA);
        FAILS(setxattr(name, "nonsense.test", "x", 1, 0), EOPNOTSUPP);
    }
    memset(big, 'b', sizeof big);
    if (setxattr("d", "user.big", big, sizeof big, 0) == 0) {
        CHECK_EQ(getxattr("d", "user.big", got, sizeof got), (ssize_t)sizeof big);
        CHECK_EQ_MEM(got, big, sizeof big);
    }
    CHECK_EQ(symlink("f", "s"), 0);
    FAILS(lsetxattr("s", "user.test", "x", 1, 0), EPERM);
    CHECK_EQ(lgetxattr("s", "user.test", got, sizeof got), -1);
    if (geteuid() == 0) {
        CHECK_EQ(lsetxattr("s", "trusted.test", "link", 4, 0), 0);
        CHECK_EQ(lgetxattr("s", "trusted.test", got, sizeof got), 4);
        FAILS(getxattr("f", "trusted.test", got, sizeof got), ENODATA);
        CHECK_EQ(lremovexattr("s", "trusted.test"), 0);
    }
    /* Extended attributes belong to the file and not to its contents. */
    make_file("f", "other", 5);
    CHECK_EQ(getxattr("f", "user.test", got, sizeof got), 5);
}

static void test_capability(void)
{
    struct vfs_cap_data cap = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                               .data = {{.permitted = 1 << CAP_NET_RAW}, {0}}};
    char got[64];
    uint8_t data[70000];

    if (geteuid() != 0)
        return;
    fill(data, sizeof data, 1);
    int fd = open("cap", O_CREAT | O_RDWR, 0755);
    CHECK_EQ(write(fd, data, sizeof data), (ssize_t)sizeof data);
    CHECK_EQ(fsetxattr(fd, "security.capability", &cap, sizeof cap, 0), 0);
    CHECK_EQ(fsync(fd), 0);
    CHECK_EQ(close(fd), 0);
    CHECK_EQ(getxattr("cap", "security.capability", got, sizeof got), (ssize_t)sizeof cap);
    CHECK(file_is("cap", data, sizeof data));
    CHECK_EQ(getxattr("cap", "security.capability", got, sizeof got), (ssize_t)sizeof cap);
    fd = open("cap", O_WRONLY);
    CHECK_EQ(write(fd, "changed", 7), 7);
    CHECK_EQ(close(fd), 0);
    FAILS(getxattr("cap", "security.capability", got, sizeof got), ENODATA);
    CHECK_EQ(setxattr("cap", "security.capability", &cap, sizeof cap, 0), 0);
    CHECK_EQ(chown("cap", 0, 1), 0);
    FAILS(getxattr("cap", "security.capability", got, sizeof got), ENODATA);
}

/* On balefs without SELinux there are no labels, but those that somebody has set. */
static void test_label(void)
{
    char got[64];

    make_file("label", "data", 4);
    CHECK_EQ(getxattr("label", "security.selinux", got, sizeof got), -1);
    CHECK(errno == ENODATA || errno == EOPNOTSUPP);
    if (geteuid() != 0 || setxattr("label", "security.selinux", "a:b:c:d", 8, 0) != 0)
        return;
    CHECK_EQ(getxattr("label", "security.selinux", got, sizeof got), 8);
    CHECK_EQ(removexattr("label", "security.selinux"), 0);
}

/* Only in the mount. */
static void test_hidden(void)
{
    char got[8192];
    struct stat st;

    if (!where_is_fuse())
        return;
    make_file("f", "data data data data", 19);
    ssize_t length = getxattr("f", "user.balefs.codec", got, sizeof got);
    CHECK(length > 0);
    CHECK(getxattr("f", "user.balefs.extent", got, sizeof got) > 0);
    CHECK_EQ(listxattr("f", got, sizeof got), 0);
    CHECK_EQ(setxattr("f", "user.balefs.codec", "zstd:3", 6, 0), 0);
    CHECK_EQ(getxattr("f", "user.balefs.codec", got, sizeof got), 6);
    CHECK_EQ_MEM(got, "zstd:3", 6);
    CHECK_EQ(listxattr("f", got, sizeof got), (ssize_t)sizeof "user.balefs.codec");
    FAILS(setxattr("f", "user.balefs.codec", "nonsense", 8, 0), EINVAL);
    FAILS(setxattr("f", "user.balefs.extent", "65536", 5, 0), EINVAL);
    FAILS(setxattr("f", "user.balefs.other", "x", 1, 0), EINVAL);
    length = getxattr("f", "user.balefs.stat", got, sizeof got - 1);
    CHECK(length > 0 && got[0] == '{' && memmem(got, (size_t)length, "\"logical\":19", 12));
    CHECK_EQ(removexattr("f", "user.balefs.codec"), 0);
    CHECK_EQ(listxattr("f", got, sizeof got), 0);
    CHECK_EQ(mkdir("d", 0755), 0);
    CHECK_EQ(setxattr("d", "user.balefs.extent", "64K", 3, 0), 0);
    CHECK_EQ(setxattr("d", "user.balefs.match", "*.log lz4", 9, 0), 0);
    FAILS(setxattr("d", "user.balefs.codec", "bad:1", 5, 0), EINVAL);
    CHECK_EQ(setxattr("d", "user.balefs.codec", "auto:for=speed", 14, 0), 0);
    make_file("d/fast", "", 0);
    CHECK_EQ(getxattr("d/fast", "user.balefs.codec", got, sizeof got), 14);
    CHECK_EQ_MEM(got, "auto:for=speed", 14);
    make_file("d/a.log", "", 0);
    CHECK_EQ(mkdir("d/e", 0755), 0);
    make_file("d/e/b.log", "", 0);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "d/e/b.log" : "d/a.log";
        CHECK_EQ(getxattr(name, "user.balefs.codec", got, sizeof got), 3);
        CHECK_EQ_MEM(got, "lz4", 3);
        CHECK_EQ(getxattr(name, "user.balefs.extent", got, sizeof got), 5);
        CHECK_EQ_MEM(got, "65536", 5);
        CHECK_EQ(stat(name, &st), 0);
        CHECK_EQ(st.st_size, 0);
    }
}

int main(int argc, char **argv)
{
    static void (*const tests[])(void) = {
        test_modes,  test_access, test_times,      test_ctime_forward, test_directory_times,
        test_statfs, test_xattrs, test_capability, test_label,         test_hidden,
    };

    return where_run(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
