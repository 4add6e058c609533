/* Owners of files, and what other users may do with them. If run by root, it becomes other
 * users. */
#include "tests/fuse/where.h"

#include <grp.h>

#define USER 54321u
#define GROUP 54321u
#define OTHER_GROUP 54322u
#define STRANGER 54399u

static struct stat stat_of(const char *name)
{
    struct stat st;

    memset(&st, 0, sizeof st);
    CHECK_EQ(lstat(name, &st), 0);
    return st;
}

static void become(uid_t uid, gid_t gid)
{
    const gid_t groups[] = {OTHER_GROUP};

    REQUIRE(setgroups(uid == USER, groups) == 0);
    REQUIRE(setgid(gid) == 0);
    REQUIRE(setuid(uid) == 0);
}

static void make_as_user(void *arg)
{
    (void)arg;
    become(USER, GROUP);
    umask(022);
    make_file("file", "mine", 4);
    CHECK_EQ(mkdir("dir", 0777), 0);
    CHECK_EQ(symlink("file", "link"), 0);
    CHECK_EQ(mkfifo("fifo", 0666), 0);
    CHECK_EQ(mknod("node", S_IFREG | 0666, 0), 0);
    /* A new file belongs to its maker, even if its mode lets nobody write. */
    int fd = open("readonly", O_CREAT | O_WRONLY, 0444);
    CHECK_EQ(write(fd, "once", 4), 4);
    close(fd);
    FAILS(open("readonly", O_WRONLY), EACCES);
    CHECK(file_is("readonly", "once", 4));
    FAILS(chown("file", 0, (gid_t)-1), EPERM);
    CHECK_EQ(chown("file", (uid_t)-1, OTHER_GROUP), 0);
    /* In directories of others: opened by a supplementary group, and closed. */
    make_file("groupdir/f", "", 0);
    make_file("setgid/f", "", 0);
    CHECK_EQ(mkdir("setgid/sub", 0755), 0);
    fd = open("setgid/program", O_CREAT | O_WRONLY, 02775);
    close(fd);
    fd = open("setgid2/program", O_CREAT | O_WRONLY, 02775);
    close(fd);
    FAILS(open("closed/f", O_CREAT | O_WRONLY, 0600), EACCES);
    FAILS(open("secret", O_RDONLY), EACCES);
    FAILS(unlink("sticky/roots"), EPERM);
    fd = open(".", O_TMPFILE | O_RDWR, 0600);
    struct stat st;
    if (fd >= 0 && CHECK_EQ(fstat(fd, &st), 0))
        CHECK_EQ_U(st.st_uid, USER);
}

static void test_owners(void)
{
    const char *const names[] = {"dir", "link", "fifo", "node", "readonly"};

    umask(0);
    CHECK_EQ(mkdir("groupdir", 0770), 0);
    CHECK_EQ(chown("groupdir", 0, OTHER_GROUP), 0);
    CHECK_EQ(mkdir("setgid", 0777), 0);
    CHECK_EQ(chown("setgid", 0, OTHER_GROUP), 0);
    CHECK_EQ(chmod("setgid", 02777), 0);
    CHECK_EQ(mkdir("setgid2", 0777), 0);
    CHECK_EQ(chown("setgid2", 0, STRANGER), 0);
    CHECK_EQ(chmod("setgid2", 02777), 0);
    CHECK_EQ(mkdir("closed", 0755), 0);
    CHECK_EQ(mkdir("sticky", 01777), 0);
    CHECK_EQ(chmod("sticky", 01777), 0);
    make_file("sticky/roots", "", 0);
    make_file("secret", "secret", 6);
    CHECK_EQ(chmod("secret", 0600), 0);
    in_child(make_as_user, NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct stat st = stat_of(names[i]);
        CHECK_EQ_U(st.st_uid, USER);
        CHECK_EQ_U(st.st_gid, GROUP);
    }
    CHECK_EQ_U(stat_of("file").st_gid, OTHER_GROUP);
    CHECK_EQ_U(stat_of("dir").st_mode & 07777, 0755);
    CHECK_EQ_U(stat_of("groupdir/f").st_gid, GROUP);
    CHECK_EQ_U(stat_of("setgid/f").st_gid, OTHER_GROUP);
    CHECK_EQ_U(stat_of("setgid/f").st_uid, USER);
    CHECK_EQ_U(stat_of("setgid/sub").st_mode & 07777, 02755);
    CHECK_EQ_U(stat_of("setgid/program").st_mode & 07777, 02755);
    CHECK_EQ_U(stat_of("setgid2/program").st_mode & 07777, 0755);
    make_file("roots", "", 0);
    CHECK_EQ_U(stat_of("roots").st_uid, 0);
}

static void write_as_stranger(void *name)
{
    become(STRANGER, STRANGER);
    int fd = open(name, O_WRONLY);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "x", 1), 1);
    close(fd);
}

static void truncate_as_stranger(void *name)
{
    become(STRANGER, STRANGER);
    CHECK_EQ(truncate(name, 1), 0);
}

static void open_trunc_as_stranger(void *name)
{
    become(STRANGER, STRANGER);
    int fd = open(name, O_WRONLY | O_TRUNC);
    CHECK(fd >= 0);
    close(fd);
}

static void allocate_as_stranger(void *name)
{
    become(STRANGER, STRANGER);
    int fd = open(name, O_WRONLY);
    CHECK_EQ(fallocate(fd, 0, 0, 10000), 0);
    close(fd);
}

/* suid and sgid do not survive a change by somebody else. */
static void test_suid(void)
{
    void (*const changes[])(void *) = {write_as_stranger, truncate_as_stranger,
                                       open_trunc_as_stranger, allocate_as_stranger};

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        make_file("suid", "program", 7);
        CHECK_EQ(chown("suid", USER, GROUP), 0);
        CHECK_EQ(chmod("suid", 06777), 0);
        CHECK_EQ_U(stat_of("suid").st_mode & 07777, 06777);
        in_child(changes[i], "suid");
        CHECK_EQ_U(stat_of("suid").st_mode & 07777, 0777);
    }
    CHECK_EQ(chmod("suid", 06755), 0);
    int fd = open("suid", O_WRONLY);
    CHECK_EQ(write(fd, "root", 4), 4);
    CHECK_EQ(fsync(fd), 0);
    close(fd);
    CHECK_EQ_U(stat_of("suid").st_mode & 07777, 06755);
    CHECK_EQ(chown("suid", USER, OTHER_GROUP), 0);
    CHECK_EQ_U(stat_of("suid").st_mode & 07777, 0755);
}

static void set_times_as_stranger(void *arg)
{
    const struct timespec times[2] = {{1, 0}, {1, 0}};

    (void)arg;
    become(STRANGER, STRANGER);
    FAILS(utimensat(AT_FDCWD, "theirs", times, 0), EPERM);
    CHECK_EQ(utimensat(AT_FDCWD, "theirs", NULL, 0), 0); /* may write */
    FAILS(chmod("theirs", 0777), EPERM);
    FAILS(utimensat(AT_FDCWD, "theirs2", NULL, 0), EACCES);
}

static void test_strangers(void)
{
    umask(0);
    make_file("theirs", "", 0);
    CHECK_EQ(chmod("theirs", 0666), 0);
    make_file("theirs2", "", 0);
    CHECK_EQ(chmod("theirs2", 0644), 0);
    in_child(set_times_as_stranger, NULL);
}

int main(int argc, char **argv)
{
    if (geteuid() != 0)
        check_skip("this test becomes other users: run it as root");
    where_begin(argc, argv);
    test_owners();
    where_clear();
    test_suid();
    where_clear();
    test_strangers();
    where_end();
    return check_result();
}
