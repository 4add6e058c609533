/* Names: making, finding, moving and removing them. */
#include "tests/fuse/where.h"

#include <dirent.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static nlink_t links_of(const char *name)
{
    struct stat st;

    return lstat(name, &st) == 0 ? st.st_nlink : 0;
}

static void test_directories(void)
{
    struct stat st;

    CHECK_EQ(mkdir("d", 0750), 0);
    FAILS(mkdir("d", 0755), EEXIST);
    CHECK_EQ(stat("d", &st), 0);
    CHECK(S_ISDIR(st.st_mode));
    CHECK_EQ(st.st_mode & 07777, 0750);
    make_file("d/f", "x", 1);
    FAILS(rmdir("d"), ENOTEMPTY);
    FAILS(rmdir("d/f"), ENOTDIR);
    FAILS(unlink("d"), EISDIR);
    FAILS(open("d/f/g", O_RDONLY), ENOTDIR);
    FAILS(open("d", O_WRONLY), EISDIR);
    FAILS(open("nothing", O_RDONLY), ENOENT);
    FAILS(open("nothing/f", O_CREAT | O_WRONLY, 0600), ENOENT);
    FAILS(open("d/f", O_CREAT | O_EXCL | O_WRONLY, 0600), EEXIST);
    CHECK_EQ(unlink("d/f"), 0);
    int fd = open("d", O_RDONLY | O_DIRECTORY);
    CHECK_EQ(rmdir("d"), 0);
    CHECK_EQ(fstat(fd, &st), 0);
    FAILS(openat(fd, "f", O_CREAT | O_WRONLY, 0600), ENOENT);
    CHECK_EQ(close(fd), 0);
    FAILS(rmdir("d"), ENOENT);
}

static void test_long_names(void)
{
    char name[300];

    memset(name, 'n', sizeof name);
    name[255] = '\0';
    make_file(name, "long", 4);
    CHECK(file_is(name, "long", 4));
    CHECK_EQ(unlink(name), 0);
    name[255] = 'n';
    name[256] = '\0';
    FAILS(open(name, O_CREAT | O_WRONLY, 0600), ENAMETOOLONG);
    FAILS(mkdir(name, 0700), ENAMETOOLONG);
    make_file("a, b\\c \"d\" \xc3\xa4\n\xff", "odd", 3);
    CHECK(file_is("a, b\\c \"d\" \xc3\xa4\n\xff", "odd", 3));
}

static void test_deep(void)
{
    int top = open(".", O_RDONLY | O_DIRECTORY);

    for (int i = 0; i < 300; i++) {
        CHECK_EQ(mkdir("deeper-and-deeper", 0755), 0);
        REQUIRE(chdir("deeper-and-deeper") == 0);
    }
    make_file("bottom", "deep", 4);
    CHECK(file_is("bottom", "deep", 4));
    CHECK_EQ(unlink("bottom"), 0);
    for (int i = 0; i < 300; i++) {
        REQUIRE(chdir("..") == 0);
        CHECK_EQ(rmdir("deeper-and-deeper"), 0);
    }
    CHECK_EQ(fchdir(top), 0);
    close(top);
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

static void test_symlinks(void)
{
    char target[4100], got[4200];
    struct stat st;

    make_file("file", "target", 6);
    CHECK_EQ(symlink("file", "s"), 0);
    CHECK(file_is("s", "target", 6));
    CHECK_EQ(readlink("s", got, sizeof got), 4);
    CHECK_EQ_MEM(got, "file", 4);
    CHECK_EQ(lstat("s", &st), 0);
    CHECK(S_ISLNK(st.st_mode));
    CHECK_EQ(st.st_size, 4);
    FAILS(open("s", O_RDONLY | O_NOFOLLOW), ELOOP);
    CHECK_EQ(symlink("../../elsewhere/nothing", "dangling"), 0);
    FAILS(open("dangling", O_RDONLY), ENOENT);
    CHECK_EQ(symlink("loop", "loop"), 0);
    FAILS(open("loop", O_RDONLY), ELOOP);
    memset(target, 't', sizeof target);
    target[4000] = '\0';
    CHECK_EQ(symlink(target, "long"), 0);
    CHECK_EQ(readlink("long", got, sizeof got), 4000);
    CHECK_EQ_MEM(got, target, 4000);
    CHECK_EQ(link("s", "s2"), 0);
    CHECK_EQ(links_of("s2"), 2);
    const struct timespec times[2] = {{1, 2}, {3, 4}};
    CHECK_EQ(utimensat(AT_FDCWD, "s", times, AT_SYMLINK_NOFOLLOW), 0);
    CHECK_EQ(lstat("s2", &st), 0);
    CHECK_EQ(st.st_mtim.tv_sec, 3);
    CHECK_EQ(rename("s", "s3"), 0);
    CHECK_EQ(unlink("s2"), 0);
    CHECK(file_is("s3", "target", 6));
}

static void write_fifo(void *arg)
{
    (void)arg;
    int fd = open("fifo", O_WRONLY);
    CHECK_EQ(write(fd, "through", 7), 7);
    close(fd);
}

static void test_special(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    struct stat st;
    char got[16];

    CHECK_EQ(mkfifo("fifo", 0640), 0);
    CHECK_EQ(stat("fifo", &st), 0);
    CHECK(S_ISFIFO(st.st_mode));
    CHECK_EQ(st.st_mode & 07777, 0640);
    int fd = open("fifo", O_RDONLY | O_NONBLOCK);
    in_child(write_fifo, NULL);
    CHECK_EQ(read(fd, got, sizeof got), 7);
    CHECK_EQ_MEM(got, "through", 7);
    close(fd);
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(bind(server, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQ(listen(server, 1), 0);
    CHECK_EQ(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQ(stat("socket", &st), 0);
    CHECK(S_ISSOCK(st.st_mode));
    close(client);
    close(server);
    CHECK_EQ(mknod("regular", S_IFREG | 0604, 0), 0);
    CHECK_EQ(stat("regular", &st), 0);
    CHECK_EQ(st.st_mode, S_IFREG | 0604);
    make_file("regular", "by mknod", 8);
    CHECK(file_is("regular", "by mknod", 8));
    if (geteuid() != 0) {
        FAILS(mknod("null", S_IFCHR | 0666, makedev(1, 3)), EPERM);
        return;
    }
    CHECK_EQ(mknod("null", S_IFCHR | 0666, makedev(1, 3)), 0);
    CHECK_EQ(mknod("block", S_IFBLK | 0600, makedev(7, 250)), 0);
    CHECK_EQ(stat("null", &st), 0);
    CHECK(S_ISCHR(st.st_mode));
    CHECK_EQ_U(st.st_rdev, makedev(1, 3));
    struct statvfs vfs;
    CHECK_EQ(statvfs(".", &vfs), 0);
    if (vfs.f_flag & ST_NODEV) {
        FAILS(open("null", O_RDWR), EACCES);
    } else {
        fd = open("null", O_RDWR);
        CHECK_EQ(write(fd, "away", 4), 4);
        CHECK_EQ(read(fd, got, sizeof got), 0);
        close(fd);
    }
    CHECK_EQ(stat("block", &st), 0);
    CHECK(S_ISBLK(st.st_mode));
    CHECK_EQ(rename("block", "b2"), 0);
    CHECK_EQ(unlink("b2"), 0);
}

#define MANY 4000 /* more than one reply of the kernel's holds */

/* A listing shows every entry that stays once, and none that was removed before it began. */
static void test_readdir(void)
{
    static uint8_t seen[MANY];
    char name[64];

    CHECK_EQ(mkdir("many", 0755), 0);
    REQUIRE(chdir("many") == 0);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "entry-%05d", i);
        int fd = open(name, O_CREAT | O_WRONLY, 0644);
        REQUIRE(fd >= 0);
        close(fd);
    }
    DIR *dir = opendir(".");
    struct dirent *entry;
    int count = 0, dots = 0;
    long middle = 0;
    char at_middle[256] = "";
    while ((entry = readdir(dir))) {
        int number;
        if (entry->d_name[0] == '.') {
            dots++;
            continue;
        }
        REQUIRE(sscanf(entry->d_name, "entry-%d", &number) == 1 && number < MANY);
        seen[number]++;
        CHECK(entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN);
        /* The next entry is removed, whether it has been read already or not. */
        snprintf(name, sizeof name, "entry-%05d", number ^ 1);
        if (number % 20 == 0)
            CHECK_EQ(unlink(name), 0);
        if (count == MANY / 2)
            middle = telldir(dir);
        if (count == MANY / 2 + 1)
            snprintf(at_middle, sizeof at_middle, "%s", entry->d_name);
        count++;
    }
    CHECK_EQ(dots, 2);
    for (int i = 0; i < MANY; i++)
        CHECK(seen[i] == 1 || (i % 20 == 1 && seen[i] == 0));
    seekdir(dir, middle);
    bool found = false;
    while (!found && (entry = readdir(dir)))
        found = strcmp(entry->d_name, at_middle) == 0;
    CHECK(found || access(at_middle, F_OK) != 0);
    rewinddir(dir);
    count = 0;
    while ((entry = readdir(dir))) {
        struct stat st;
        CHECK_EQ(fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
        CHECK_EQ_U(st.st_ino, entry->d_ino == st.st_ino || entry->d_name[0] == '.' ? st.st_ino : 0);
        count++;
    }
    CHECK_EQ(count, MANY - MANY / 20 + 2);
    rewinddir(dir);
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            CHECK_EQ(unlink(entry->d_name), 0);
    closedir(dir);
    REQUIRE(chdir("..") == 0);
    CHECK_EQ(rmdir("many"), 0);
}

static void test_fsync_directory(void)
{
    int fd = open(".", O_RDONLY | O_DIRECTORY);

    make_file("f", "", 0);
    CHECK_EQ(fsync(fd), 0);
    CHECK_EQ(fdatasync(fd), 0);
    CHECK_EQ(syncfs(fd), 0);
    close(fd);
}

int main(int argc, char **argv)
{
    static void (*const tests[])(void) = {
        test_directories,     test_long_names,    test_deep,     test_rename,  test_rename_flags,
        test_links,           test_links_watched, test_symlinks, test_special, test_readdir,
        test_fsync_directory,
    };

    where_begin(argc, argv);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        where_clear();
        tests[i]();
    }
    where_end();
    return check_result();
}
