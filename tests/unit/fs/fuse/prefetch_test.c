/* Containers that a listing opens ahead: which are, in which order they are taken, how many of all
 * users' are, and that none stays open. */
#include "fs/fuse/prefetch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "tests/check.h"

#define FILES BALE_AHEAD
#define DESCRIPTORS (2 * BALE_AHEAD)

enum user { OWNER, FIRST, SECOND };

/* An entry as getdents64 returns it. */
union entry {
    struct bale_dirent dirent;
    char bytes[64];
};

static struct bale_shares *shares;
static int directory;
static union entry files[FILES];

static unsigned open_descriptors(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void set_entry(union entry *entry, const char *name, unsigned char type)
{
    *entry = (union entry){.dirent = {.length = sizeof *entry, .type = type}};
    strcpy(entry->bytes + offsetof(struct bale_dirent, name), name);
}

static void make_files(void)
{
    char name[16];

    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%u", i);
        int fd = openat(directory, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
        /* Some are empty: they do not tell whether the disk must be read. */
        REQUIRE(fd >= 0 && (i % 3 == 0 || write(fd, &i, sizeof i) == sizeof i) && close(fd) == 0);
        set_entry(&files[i], name, DT_REG);
    }
}

/* Whether fd is open on file i, for reading alone. */
static bool is_open_on(int fd, unsigned i)
{
    struct stat st, named;

    return fd >= 0 && (fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH)) == O_RDONLY &&
           fstat(fd, &st) == 0 && fstatat(directory, files[i].dirent.name, &named, 0) == 0 &&
           st.st_ino == named.st_ino;
}

/* Opens the first count files ahead. */
static void open_files(struct bale_ahead *ahead, unsigned count)
{
    const struct bale_dirent *entries[BALE_AHEAD];

    for (unsigned i = 0; i < count; i++)
        entries[i] = &files[i].dirent;
    bale_ahead_open(ahead, directory, entries, count);
}

static void check_taken(struct bale_ahead *ahead, unsigned i)
{
    int fd = bale_ahead_take(ahead, &files[i].dirent);

    CHECK(is_open_on(fd, i));
    CHECK_EQ(close(fd), 0);
}

/* In the directory's order, whatever that of the inodes is. */
static void test_taken_in_order(void)
{
    struct bale_ahead ahead = {.shares = shares};
    unsigned before = open_descriptors();

    for (unsigned i = 0; i < FILES; i++)
        files[i].dirent.ino = i * 7919 % FILES;
    open_files(&ahead, FILES);
    for (unsigned i = 0; i < FILES; i++) {
        CHECK_EQ_U(open_descriptors() - before, FILES - i);
        check_taken(&ahead, i);
    }
    CHECK_EQ(bale_ahead_take(&ahead, &files[0].dirent), -1);
    bale_ahead_end(&ahead);
    CHECK_EQ_U(open_descriptors(), before);
}

/* What is listed between them was not opened; what is not taken is closed, also by opening others. */
static void test_others_are_passed_over(void)
{
    struct bale_ahead ahead = {.shares = shares};
    union entry below;
    unsigned before = open_descriptors();

    set_entry(&below, "below", DT_DIR);
    open_files(&ahead, 3);
    CHECK_EQ(bale_ahead_take(&ahead, &below.dirent), -1);
    check_taken(&ahead, 0);
    CHECK_EQ(bale_ahead_take(&ahead, &below.dirent), -1);
    check_taken(&ahead, 1);
    open_files(&ahead, 2);
    CHECK_EQ_U(open_descriptors() - before, 2);
    check_taken(&ahead, 0);
    bale_ahead_end(&ahead);
    CHECK_EQ_U(open_descriptors(), before);
}

/* A name may lead to something else by now, or to nothing: the others are opened all the same. */
static void test_refused(void)
{
    struct bale_ahead ahead = {.shares = shares};
    union entry gone, link;
    unsigned before = open_descriptors();

    set_entry(&gone, "gone", DT_REG);
    set_entry(&link, "link", DT_REG);
    const struct bale_dirent *entries[] = {&link.dirent, &files[0].dirent, &gone.dirent,
                                           &files[1].dirent};
    bale_ahead_open(&ahead, directory, entries, 4);
    CHECK_EQ_U(open_descriptors() - before, 2);
    CHECK_EQ(bale_ahead_take(&ahead, &link.dirent), -1);
    check_taken(&ahead, 0);
    CHECK_EQ(bale_ahead_take(&ahead, &gone.dirent), -1);
    check_taken(&ahead, 1);
    bale_ahead_end(&ahead);
    CHECK_EQ_U(open_descriptors(), before);
}

/* A lack of descriptors ends it for the rest of the request. */
static void test_lack(void)
{
    struct bale_ahead ahead = {.shares = shares};
    struct rlimit limit;
    unsigned before = open_descriptors();

    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    open_files(&ahead, 2);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK_EQ(bale_ahead_take(&ahead, &files[0].dirent), -1);
    open_files(&ahead, 2);
    CHECK_EQ_U(open_descriptors(), before);
    CHECK_EQ(bale_ahead_take(&ahead, &files[0].dirent), -1);
    bale_ahead_end(&ahead);
}

/* One user's listings leave descriptors for those of others, and none is lost. */
static void test_share(void)
{
    enum { MANY = 4 };
    struct bale_ahead first[MANY], second = {.shares = shares, .user = SECOND};
    struct bale_ahead again = {.shares = shares, .user = FIRST};
    unsigned before = open_descriptors();

    for (int i = 0; i < MANY; i++) {
        first[i] = (struct bale_ahead){.shares = shares, .user = FIRST};
        open_files(&first[i], FILES);
    }
    CHECK_EQ_U(open_descriptors() - before, DESCRIPTORS / 2);
    open_files(&second, FILES);
    CHECK_EQ_U(open_descriptors() - before, DESCRIPTORS / 2 + DESCRIPTORS / 4);
    bale_ahead_end(&second);
    check_taken(&first[0], 0);
    for (int i = 0; i < MANY; i++)
        bale_ahead_end(&first[i]);
    CHECK_EQ_U(open_descriptors(), before);
    open_files(&again, FILES);
    CHECK_EQ_U(open_descriptors() - before, FILES);
    bale_ahead_end(&again);
}

int main(void)
{
    char top[] = "/tmp/bale-prefetch-test.XXXXXX";

    REQUIRE(mkdtemp(top) != NULL);
    directory = open(top, O_RDONLY | O_DIRECTORY);
    REQUIRE(directory >= 0 && mkdirat(directory, "below", 0700) == 0 &&
            symlinkat("f0", directory, "link") == 0);
    REQUIRE(bale_shares_create(DESCRIPTORS, 0, OWNER, &shares) == BALE_OK);
    make_files();
    test_taken_in_order();
    test_others_are_passed_over();
    test_refused();
    test_lack();
    test_share();
    bale_shares_destroy(shares);
    for (unsigned i = 0; i < FILES; i++)
        CHECK_EQ(unlinkat(directory, files[i].dirent.name, 0), 0);
    CHECK_EQ(unlinkat(directory, "link", 0), 0);
    CHECK_EQ(unlinkat(directory, "below", AT_REMOVEDIR), 0);
    close(directory);
    CHECK_EQ(rmdir(top), 0);
    return check_result();
}
