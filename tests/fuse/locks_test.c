/* Locks between processes, of all three kinds. */
#include "tests/fuse/where.h"

#include <sys/file.h>

static struct flock range(short type, off_t start, off_t length)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
}

static int try_lock(int fd, int command, short type, off_t start, off_t length)
{
    struct flock lock = range(type, start, length);

    return fcntl(fd, command, &lock);
}

static void other_posix(void *arg)
{
    (void)arg;
    int fd = open("f", O_RDWR);
    FAILS(try_lock(fd, F_SETLK, F_WRLCK, 0, 10), EAGAIN);
    CHECK_EQ(try_lock(fd, F_SETLK, F_WRLCK, 10, 10), 0);
    struct flock lock = range(F_WRLCK, 0, 5);
    CHECK_EQ(fcntl(fd, F_GETLK, &lock), 0);
    CHECK_EQ(lock.l_type, F_WRLCK);
    CHECK_EQ(lock.l_pid, getppid());
    close(fd);
}

static void other_flock(void *arg)
{
    int fd = open("f", O_RDWR);

    FAILS(flock(fd, LOCK_EX | LOCK_NB), EWOULDBLOCK);
    if (arg)
        CHECK_EQ(flock(fd, LOCK_SH | LOCK_NB), 0);
    close(fd);
}

static void other_free(void *arg)
{
    (void)arg;
    int fd = open("f", O_RDWR);
    CHECK_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
    CHECK_EQ(try_lock(fd, F_SETLK, F_WRLCK, 0, 0), 0);
    close(fd);
}

/* Waits for a byte from the pipe, then for the lock, which the parent releases. */
static void waiter(void *arg)
{
    int *ready = arg;
    int fd = open("f", O_RDWR);

    CHECK_EQ(write(ready[1], "r", 1), 1);
    CHECK_EQ(try_lock(fd, F_SETLKW, F_WRLCK, 0, 10), 0);
    close(fd);
}

int main(int argc, char **argv)
{
    where_begin(argc, argv);
    make_file("f", "0123456789", 10);
    int fd = open("f", O_RDWR);
    CHECK_EQ(try_lock(fd, F_SETLK, F_WRLCK, 0, 10), 0);
    in_child(other_posix, NULL);

    int ready[2];
    char c;
    REQUIRE(pipe(ready) == 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        waiter(ready);
        _exit(atomic_load(&check_failures) > 0);
    }
    CHECK_EQ(read(ready[0], &c, 1), 1);
    CHECK_EQ(try_lock(fd, F_SETLK, F_UNLCK, 0, 10), 0);
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);

    CHECK_EQ(flock(fd, LOCK_EX), 0);
    in_child(other_flock, NULL);
    CHECK_EQ(flock(fd, LOCK_SH), 0);
    in_child(other_flock, fd ? &status : NULL);
    CHECK_EQ(flock(fd, LOCK_UN), 0);
    int second = open("f", O_RDWR);
    CHECK_EQ(try_lock(fd, F_OFD_SETLK, F_WRLCK, 0, 5), 0);
    FAILS(try_lock(second, F_OFD_SETLK, F_WRLCK, 0, 5), EAGAIN);
    CHECK_EQ(try_lock(second, F_OFD_SETLK, F_WRLCK, 5, 5), 0);
    close(second);
    close(fd);
    in_child(other_free, NULL);
    where_end();
    return check_result();
}
