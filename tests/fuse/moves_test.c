/* Moving files, also over others, and files with several names. */
#include "tests/fuse/where.h"

#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static nlink_t links_of(const char *name)
{
    struct stat st;

    return lstat(name, &st) == 0 ? st.st_nlink : 0;
}

static void test_rename(void)
{
    struct stat st;

    make_file("a", "from", 4);
    make_file("b", "to", 2);
    CHECK_EQ(rename("a", "c"), 0);
    CHECK(file_is("c", "from", 4));
    FAILS(stat("a", &st), ENOENT);
    FAILS(rename("a", "c"), ENOENT);
    /* A rename over an open file, which stays usable. */
    int fd = open("b", O_RDWR);
    CHECK_EQ(rename("c", "b"), 0);
    CHECK(file_is("b", "from", 4));
    char got[8];
    CHECK_EQ(pread(fd, got, sizeof got, 0), 2);
    CHECK_EQ_MEM(got, "to", 2);
    CHECK_EQ(pwrite(fd, "TO", 2, 0), 2);
    CHECK_EQ(fsync(fd), 0);
    CHECK(file_is("b", "from", 4));
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_nlink, 0);
    close(fd);
    /* An open file that is moved. */
    fd = open("b", O_WRONLY | O_APPEND);
    CHECK_EQ(write(fd, " here", 5), 5);
    CHECK_EQ(mkdir("dir", 0755), 0);
    CHECK_EQ(rename("b", "dir/b"), 0);
    CHECK_EQ(write(fd, " there", 6), 6);
    close(fd);
    CHECK(file_is("dir/b", "from here there", 15));
    make_file("x", "", 0);
    FAILS(rename("x", "dir"), EISDIR);
    FAILS(rename("dir", "x"), ENOTDIR);
    FAILS(rename("dir", "dir/sub"), EINVAL);
    CHECK_EQ(mkdir("full", 0755), 0);
    make_file("full/f", "", 0);
    FAILS(rename("dir", "full"), ENOTEMPTY);
    CHECK_EQ(unlink("full/f"), 0);
    CHECK_EQ(rename("dir", "full"), 0);
    CHECK(file_is("full/b", "from here there", 15));
}

static void test_rename_flags(void)
{
    make_file("a", "A", 1);
    make_file("b", "B", 1);
    FAILS(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE), EEXIST);
    CHECK_EQ(renameat2(AT_FDCWD, "a", AT_FDCWD, "c", RENAME_NOREPLACE), 0);
    CHECK(file_is("c", "A", 1));
    CHECK_EQ(mkdir("d", 0755), 0);
    make_file("d/inside", "I", 1);
    CHECK_EQ(renameat2(AT_FDCWD, "b", AT_FDCWD, "d", RENAME_EXCHANGE), 0);
    CHECK(file_is("d", "B", 1));
    CHECK(file_is("b/inside", "I", 1));
    CHECK_EQ(renameat2(AT_FDCWD, "c", AT_FDCWD, "b/inside", RENAME_EXCHANGE), 0);
    CHECK(file_is("c", "I", 1));
    CHECK(file_is("b/inside", "A", 1));
    FAILS(renameat2(AT_FDCWD, "c", AT_FDCWD, "nothing", RENAME_EXCHANGE), ENOENT);
    FAILS(renameat2(AT_FDCWD, "c", AT_FDCWD, "x", 1 << 7), EINVAL);
}

static void test_links(void)
{
    struct stat a, b;

    make_file("a", "linked", 6);
    CHECK_EQ(link("a", "b"), 0);
    CHECK_EQ(mkdir("d", 0755), 0);
    CHECK_EQ(link("b", "d/c"), 0);
    FAILS(link("a", "b"), EEXIST);
    FAILS(link("d", "e"), EPERM);
    CHECK_EQ(links_of("a"), 3);
    CHECK_EQ(stat("a", &a), 0);
    CHECK_EQ(stat("d/c", &b), 0);
    CHECK_EQ_U(a.st_ino, b.st_ino);
    int fd = open("b", O_WRONLY | O_APPEND);
    CHECK_EQ(write(fd, "!", 1), 1);
    CHECK(file_is("a", "linked!", 7));
    CHECK_EQ(unlink("a"), 0);
    CHECK_EQ(links_of("b"), 2);
    CHECK_EQ(write(fd, "!", 1), 1);
    CHECK(file_is("d/c", "linked!!", 8));
    /* A rename between two names of one file removes neither. */
    CHECK_EQ(rename("b", "d/c"), 0);
    CHECK_EQ(links_of("b"), 2);
    CHECK_EQ(links_of("d/c"), 2);
    make_file("over", "over", 4);
    CHECK_EQ(rename("over", "b"), 0);
    CHECK_EQ(links_of("d/c"), 1);
    CHECK(file_is("d/c", "linked!!", 8));
    CHECK_EQ(fchmod(fd, 0611), 0);
    CHECK_EQ(stat("d/c", &b), 0);
    CHECK_EQ(b.st_mode & 07777, 0611);
    close(fd);
}

static atomic_bool watching;

static void *watch(void *name)
{
    struct statx x;

    while (watching)
        if (statx(AT_FDCWD, name, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &x) == 0)
            CHECK(x.stx_nlink > 0);
    return NULL;
}

/* One name of two goes while others ask for the attributes of the file, which keeps the other: by
 * unlink, and by a rename over it. */
static void test_links_watched(void)
{
    pthread_t watcher;

    make_file("a", "kept", 4);
    watching = true;
    REQUIRE(pthread_create(&watcher, NULL, watch, "a") == 0);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(link("a", "b"), 0);
        CHECK_EQ(unlink("b"), 0);
        CHECK_EQ(link("a", "c"), 0);
        make_file("over", "", 0);
        CHECK_EQ(rename("over", "c"), 0);
        CHECK_EQ(unlink("c"), 0);
    }
    watching = false;
    CHECK_EQ(pthread_join(watcher, NULL), 0);
    CHECK_EQ(links_of("a"), 1);
    CHECK(file_is("a", "kept", 4));
}

int main(int argc, char **argv)
{
    static void (*const tests[])(void) = {test_rename, test_rename_flags, test_links,
                                          test_links_watched};

    return where_run(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
