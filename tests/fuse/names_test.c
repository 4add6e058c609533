/* Names: making, finding, listing and removing them. */
#include "tests/fuse/where.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

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
    CHECK_EQ(lstat("s2", &st), 0);
    CHECK_EQ_U(st.st_nlink, 2);
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
        test_directories, test_long_names,      test_deep, test_symlinks, test_special,
        test_readdir,     test_fsync_directory,
    };

    return where_run(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
