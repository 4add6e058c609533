/* Tests of a file system through system calls: each program is given a directory, works in a new
 * one below it, and removes that at the end. They hold for any Linux file system with the
 * features of ext4; where one may lack something, they say so. */
#ifndef BALE_TESTS_FUSE_WHERE_H
#define BALE_TESTS_FUSE_WHERE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

static char where_path[4096];

static inline int where_remove_one(const char *path, const struct stat *st, int kind,
                                   struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static inline void where_end(void)
{
    if (chdir("/") == 0)
        CHECK_EQ(nftw(where_path, where_remove_one, 32, FTW_DEPTH | FTW_PHYS), 0);
}

/* Goes to a new directory, which every user may use. */
static inline void where_begin(int argc, char **argv)
{
    REQUIRE(argc == 2);
    snprintf(where_path, sizeof where_path, "%s/ops.XXXXXX", argv[1]);
    REQUIRE(mkdtemp(where_path) != NULL);
    REQUIRE(chmod(where_path, 0777) == 0);
    REQUIRE(chdir(where_path) == 0);
    umask(022);
}

static inline bool where_is_fuse(void)
{
    struct statfs fs;

    return statfs(".", &fs) == 0 && fs.f_type == 0x65735546;
}

/* Removes what is in the directory, for the next group of checks. */
static inline void where_clear(void)
{
    CHECK_EQ(chdir(".."), 0);
    CHECK_EQ(nftw(where_path, where_remove_one, 32, FTW_DEPTH | FTW_PHYS), 0);
    REQUIRE(mkdir(where_path, 0777) == 0);
    REQUIRE(chmod(where_path, 0777) == 0);
    REQUIRE(chdir(where_path) == 0);
}

/* Runs groups of checks, each in an empty directory. What main() returns. */
static inline int where_run(int argc, char **argv, void (*const tests[])(void), size_t count)
{
    where_begin(argc, argv);
    for (size_t i = 0; i < count; i++) {
        where_clear();
        tests[i]();
    }
    where_end();
    return check_result();
}

static inline void make_file(const char *name, const void *data, size_t length)
{
    int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0644);

    REQUIRE(fd >= 0);
    REQUIRE(write(fd, data, length) == (ssize_t)length);
    REQUIRE(close(fd) == 0);
}

static inline bool file_is(const char *name, const void *data, size_t length)
{
    char *got = malloc(length + 1);
    int fd = open(name, O_RDONLY);
    bool same = got && fd >= 0 && read(fd, got, length + 1) == (ssize_t)length &&
                memcmp(got, data, length) == 0;

    if (fd >= 0)
        close(fd);
    free(got);
    return same;
}

static inline mode_t mode_of(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 ? st.st_mode & 07777 : 0xffff;
}

/* Bytes that compress, but not to nothing, and differ by seed. */
static inline void fill(uint8_t *data, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        data[i] = (uint8_t)(i % 97 + (i >> 9) * 31 + seed * 17);
}

/* Runs a check in another process; its failures are ours. */
static inline void in_child(void (*run)(void *arg), void *arg)
{
    fflush(NULL);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        atomic_store(&check_failures, 0);
        run(arg);
        fflush(NULL);
        _exit(atomic_load(&check_failures) > 0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

#define FAILS(call, error)                                                                         \
    do {                                                                                           \
        errno = 0;                                                                                 \
        CHECK_EQ((call), -1);                                                                      \
        CHECK_EQ(errno, error);                                                                    \
    } while (0)

#endif
