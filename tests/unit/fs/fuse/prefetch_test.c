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

#define FILES (2 * BALE_AHEAD)
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

static void test_taken_in_order(void)
{
    struct bale_ahead ahead = {.shares = shares};
    unsigned before = open_descriptors(), next = 0;

    for (unsigned i = 0; i < FILES; i++) {
        while (next < FILES && bale_ahead_has_room(&ahead))
            bale_ahead_open(&ahead, directory, &files[next++].dirent);
        CHECK_EQ_U(open_descriptors() - before, FILES - i < BALE_AHEAD ? FILES - i : BALE_AHEAD);
        int fd = bale_ahead_take(&ahead, &files[i].dirent);
        CHECK(is_open_on(fd, i));
        CHECK_EQ(close(fd), 0);
    }
    CHECK_EQ(bale_ahead_take(&ahead, &files[0].dirent), -1);
    bale_ahead_end(&ahead);
    CHECK_EQ_U(open_descriptors(), before);
}

static void test_others_are_passed_over(void)
{
    struct bale_ahead ahead = {.shares = shares};
    union entry below, link;
    unsigned before = open_descriptors();

    set_entry(&below, "below", DT_DIR);
    set_entry(&link, "link", DT_LNK);

    bale_ahead_open(&ahead, directory, &below.dirent);
    bale_ahead_open(&ahead, directory, &files[0].dirent);
    bale_ahead_open(&ahead, directory, &link.dirent);
    bale_ahead_open(&ahead, directory, &files[1].dirent);
    CHECK_EQ(bale_ahead_take(&ahead, &below.dirent), -1);
    int fd = bale_ahead_take(&ahead, &files[0].dirent);
    CHECK(is_open_on(fd, 0));
    CHECK_EQ(close(fd), 0);
    CHECK_EQ(bale_ahead_take(&ahead, &link.dirent), -1);
    /* The second file is not taken. */
    bale_ahead_end(&ahead);
    CHECK_EQ_U(open_descriptors(), before);
}

/* A name may lead to something else by now, or to nothing: the others are opened all the same. A
 * lack of descriptors ends it. */
static void test_refused(void)
{
    struct bale_ahead ahead = {.shares = shares};
    struct rlimit limit;
    union entry gone, link;
    unsigned before = open_descriptors();

    set_entry(&gone, "gone", DT_REG);
    set_entry(&link, "link", DT_REG);

    bale_ahead_open(&ahead, directory, &files[0].dirent);
    bale_ahead_open(&ahead, directory, &link.dirent);
    bale_ahead_open(&ahead, directory, &gone.dirent);
    CHECK(bale_ahead_has_room(&ahead));
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    bale_ahead_open(&ahead, directory, &files[1].dirent);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(!bale_ahead_has_room(&ahead));
    int fd = bale_ahead_take(&ahead, &files[0].dirent);
    CHECK(is_open_on(fd, 0));
    CHECK_EQ(close(fd), 0);
    CHECK_EQ(bale_ahead_take(&ahead, &link.dirent), -1);
    CHECK(!bale_ahead_has_room(&ahead));
    bale_ahead_end(&ahead);
    CHECK_EQ_U(open_descriptors(), before);
}

/* What is read is closed again, whatever becomes of it; those entries are then not read once more. */
static void test_read(void)
{
    struct bale_ahead ahead = {.shares = shares, .disk = BALE_DISK_COLD};
    unsigned before = open_descriptors();
    const struct bale_dirent *entries[FILES];
    union entry gone;

    set_entry(&gone, "gone", DT_REG);
    for (unsigned i = 0; i < FILES; i++)
        entries[i] = &files[i].dirent;
    entries[1] = &gone.dirent;
    CHECK(bale_ahead_wants_more(&ahead));
    bale_ahead_read(&ahead, directory, entries, FILES);
    CHECK_EQ_U(open_descriptors(), before);
    for (unsigned i = 0; i < FILES; i++) {
        CHECK(!bale_ahead_wants_more(&ahead));
        bale_ahead_open(&ahead, directory, i == 1 ? &gone.dirent : &files[i].dirent);
        if (i != 1)
            CHECK_EQ(close(bale_ahead_take(&ahead, &files[i].dirent)), 0);
    }
    CHECK(bale_ahead_wants_more(&ahead));
    bale_ahead_end(&ahead);
    CHECK_EQ_U(open_descriptors(), before);
}

/* Opens as much as a listing of the user's may. */
static void open_all(struct bale_ahead *ahead, enum user user)
{
    *ahead = (struct bale_ahead){.shares = shares, .user = user};
    for (unsigned i = 0; bale_ahead_has_room(ahead); i++)
        bale_ahead_open(ahead, directory, &files[i].dirent);
}

/* One user's listings leave descriptors for those of others, and none is lost. */
static void test_share(void)
{
    enum { MANY = 4 };
    struct bale_ahead first[MANY], second, again;
    unsigned before = open_descriptors();

    for (int i = 0; i < MANY; i++)
        open_all(&first[i], FIRST);
    CHECK_EQ_U(open_descriptors() - before, DESCRIPTORS / 2);
    open_all(&second, SECOND);
    CHECK_EQ_U(open_descriptors() - before, DESCRIPTORS / 2 + DESCRIPTORS / 4);
    bale_ahead_end(&second);
    for (int i = 0; i < MANY; i++) {
        int fd = bale_ahead_take(&first[i], &files[0].dirent);
        CHECK_EQ(fd >= 0, i == 0); /* it had all */
        if (fd >= 0)
            close(fd);
        bale_ahead_end(&first[i]);
    }
    CHECK_EQ_U(open_descriptors(), before);
    open_all(&again, FIRST);
    CHECK_EQ_U(open_descriptors() - before, BALE_AHEAD);
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
    test_read();
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
