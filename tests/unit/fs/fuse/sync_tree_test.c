/* Syncing a tree of which an ordinary user may not read everything. */
#include "fs/fuse/sync_tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

enum { USER = 54321 };

static void put(const char *path, mode_t mode, uid_t owner)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    REQUIRE(fd >= 0 && fchown(fd, owner, owner) == 0 && fchmod(fd, mode) == 0);
    close(fd);
}

static void put_dir(const char *path, mode_t mode, uid_t owner)
{
    REQUIRE(mkdir(path, 0700) == 0 && chown(path, owner, owner) == 0 && chmod(path, mode) == 0);
}

/* 0 or the errno of a user who syncs the tree of the present directory. */
static int sync_as_user(void)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        int root = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

        _exit(root < 0 || setgid(USER) != 0 || setuid(USER) != 0 ? 255 : bale_sync_tree(root));
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void)
{
    char path[] = "/tmp/balefs-sync-tree-XXXXXX";
    struct stat st;

    if (geteuid() != 0) {
        puts("skipped: not root");
        return 77;
    }
    REQUIRE(mkdtemp(path) && chdir(path) == 0 && chown(".", USER, USER) == 0);
    put("own", 0600, USER);
    put("theirs", 0600, 0);
    put_dir("closed", 0700, 0);
    put("closed/file", 0600, 0);
    put_dir("write-only", 0300, USER); /* as the owner set it, and it stays so */
    put("write-only/file", 0600, USER);
    REQUIRE(mkfifo("fifo", 0600) == 0 && symlink("nowhere", "link") == 0);
    CHECK_EQ(sync_as_user(), 0);
    CHECK(stat("write-only", &st) == 0 && (st.st_mode & 07777) == 0300);
    int root = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK_EQ(bale_sync_tree(root), 0);
    close(root);
    CHECK(unlink("own") == 0 && unlink("theirs") == 0 && unlink("closed/file") == 0 &&
          rmdir("closed") == 0 && unlink("write-only/file") == 0 && rmdir("write-only") == 0 &&
          unlink("fifo") == 0 && unlink("link") == 0 && rmdir(path) == 0);
    return check_result();
}
