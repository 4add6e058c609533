/* The contents of regular files. */
#include "tests/fuse/where.h"

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#define MIB (1u << 20)

static void test_append(void)
{
    int a = open("append", O_CREAT | O_WRONLY | O_APPEND, 0644);
    int b = open("append", O_WRONLY | O_APPEND);

    CHECK_EQ(write(a, "one", 3), 3);
    CHECK_EQ(write(b, "two", 3), 3);
    CHECK_EQ(pwrite(a, "three", 5, 0), 5); /* Linux appends here too */
    CHECK(file_is("append", "onetwothree", 11));
    close(a);
    close(b);
    int fd = open("append", O_WRONLY | O_TRUNC);
    CHECK(file_is("append", "", 0));
    CHECK_EQ(write(fd, "x", 1), 1);
    close(fd);
    CHECK(file_is("append", "x", 1));
}

static void append_records(void *arg)
{
    char record[100];

    memset(record, *(char *)arg, sizeof record);
    for (int i = 0; i < 200; i++) {
        int fd = open("records", O_WRONLY | O_APPEND);
        CHECK_EQ(write(fd, record, sizeof record), (ssize_t)sizeof record);
        CHECK_EQ(close(fd), 0);
    }
}

static void test_append_together(void)
{
    make_file("records", "", 0);
    pid_t pids[4];
    for (int i = 0; i < 4; i++) {
        fflush(NULL);
        pids[i] = fork();
        if (pids[i] == 0) {
            append_records(&(char){(char)('a' + i)});
            _exit(atomic_load(&check_failures) > 0);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status;
        CHECK_EQ(waitpid(pids[i], &status, 0), pids[i]);
        CHECK_EQ(status, 0);
    }
    char data[100];
    int fd = open("records", O_RDONLY);
    int count = 0;
    while (read(fd, data, sizeof data) == (ssize_t)sizeof data) {
        CHECK(data[0] >= 'a' && data[0] <= 'd' && memcmp(data, data + 1, sizeof data - 1) == 0);
        count++;
    }
    CHECK_EQ(count, 800);
    close(fd);
}

static void test_random(void)
{
    const size_t size = 3 * MIB + 12345;
    uint8_t *want = calloc(1, size), *got = malloc(size), *piece = malloc(MIB);
    int fd = open("random", O_CREAT | O_RDWR, 0644);
    unsigned seed = 1;
    size_t end = 0;

    for (int i = 0; i < 300; i++) {
        seed = seed * 1103515245 + 12345;
        size_t length = (seed >> 8) % (i % 10 == 0 ? 700000 : 5000) + 1;
        seed = seed * 1103515245 + 12345;
        size_t at = (seed >> 4) % (size - length);
        fill(piece, length, seed);
        memcpy(want + at, piece, length);
        end = at + length > end ? at + length : end;
        REQUIRE(pwrite(fd, piece, length, (off_t)at) == (ssize_t)length);
        if (i % 100 == 50)
            CHECK_EQ(fsync(fd), 0);
    }
    CHECK_EQ(pread(fd, got, size, 0), (ssize_t)end);
    CHECK_EQ_MEM(got, want, end);
    close(fd);
    CHECK(file_is("random", want, end));
    free(want);
    free(got);
    free(piece);
}

static void test_truncate(void)
{
    uint8_t data[300000], zeros[300000] = {0}, got[600000];

    fill(data, sizeof data, 3);
    make_file("t", data, sizeof data);
    CHECK_EQ(truncate("t", 100001), 0);
    CHECK_EQ(truncate("t", 400001), 0);
    int fd = open("t", O_RDWR);
    CHECK_EQ(pread(fd, got, sizeof got, 0), 400001);
    CHECK_EQ_MEM(got, data, 100001);
    CHECK_EQ_MEM(got + 100001, zeros, sizeof zeros);
    CHECK_EQ(ftruncate(fd, 0), 0);
    CHECK_EQ(pread(fd, got, sizeof got, 0), 0);
    FAILS(ftruncate(fd, -1), EINVAL);
    CHECK_EQ(pwrite(fd, "end", 3, 5000000000), 3);
    struct stat st;
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_size, 5000000003);
    CHECK(st.st_blocks > 0 && st.st_blocks < 10000);
    close(fd);
    CHECK_EQ(stat("t", &st), 0);
    CHECK_EQ(st.st_size, 5000000003);
}

static void test_direct(void)
{
    uint8_t *data, *got;

    REQUIRE(posix_memalign((void **)&data, 4096, MIB) == 0);
    REQUIRE(posix_memalign((void **)&got, 4096, MIB) == 0);
    fill(data, MIB, 9);
    int fd = open("direct", O_CREAT | O_RDWR | O_DIRECT, 0644);
    if (!CHECK(fd >= 0))
        return;
    CHECK_EQ(pwrite(fd, data, MIB, 0), MIB);
    CHECK_EQ(pwrite(fd, data, 8192, 65536), 8192);
    memcpy(data + 65536, data, 8192);
    CHECK_EQ(pread(fd, got, MIB, 0), MIB);
    CHECK_EQ_MEM(got, data, MIB);
    close(fd);
    CHECK(file_is("direct", data, MIB));
    /* After a direct write, no bytes that were cached before it may be read. */
    fd = open("direct", O_RDWR | O_DIRECT);
    fill(data, MIB, 10);
    CHECK_EQ(pwrite(fd, data, MIB, 0), MIB);
    close(fd);
    CHECK(file_is("direct", data, MIB));
    free(data);
    free(got);
}

static void write_second_half(void *arg)
{
    memset((char *)arg + MIB / 2, 'c', MIB / 2);
}

static void test_mmap(void)
{
    static const char map_text[8] = {"by write"};
    char *want = malloc(MIB);
    int fd = open("map", O_CREAT | O_RDWR, 0644);

    CHECK_EQ(ftruncate(fd, MIB), 0);
    char *map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(map != MAP_FAILED);
    memset(map, 'm', MIB / 2);
    in_child(write_second_half, map);
    memset(want, 'm', MIB / 2);
    memset(want + MIB / 2, 'c', MIB / 2);
    CHECK_EQ_MEM(map, want, MIB);
    CHECK_EQ(msync(map, MIB, MS_SYNC), 0);
    CHECK(file_is("map", want, MIB));
    CHECK_EQ(pwrite(fd, map_text, 8, 1000), 8);
    CHECK_EQ_MEM(map + 1000, map_text, 8);
    memset(map + 2000, 'u', 8);
    CHECK_EQ(munmap(map, MIB), 0);
    close(fd);
    memcpy(want + 1000, map_text, 8);
    memset(want + 2000, 'u', 8);
    CHECK(file_is("map", want, MIB));
    free(want);
}

static void test_unlinked(void)
{
    uint8_t data[200000], got[200000];
    struct stat st;

    fill(data, sizeof data, 5);
    make_file("gone", data, sizeof data);
    int fd = open("gone", O_RDWR);
    int dir = open(".", O_RDONLY | O_DIRECTORY);
    CHECK_EQ(unlink("gone"), 0);
    FAILS(open("gone", O_RDONLY), ENOENT);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_nlink, 0);
    CHECK_EQ(st.st_size, (off_t)sizeof data);
    CHECK_EQ(pread(fd, got, sizeof got, 0), (ssize_t)sizeof got);
    CHECK_EQ_MEM(got, data, sizeof data);
    /* A new file with the old name is another file, even if it gets the same inode number. */
    make_file("gone", "new", 3);
    CHECK_EQ(pwrite(fd, "old", 3, 0), 3);
    CHECK_EQ(fsync(fd), 0);
    CHECK(file_is("gone", "new", 3));
    CHECK_EQ(ftruncate(fd, 10), 0);
    CHECK_EQ(fchmod(fd, 0600), 0);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_size, 10);
    CHECK_EQ(st.st_mode & 07777, 0600);
    close(fd);
    close(dir);
    CHECK(file_is("gone", "new", 3));
}

static void test_tmpfile(void)
{
    char proc[64];
    struct stat st;
    int fd = open(".", O_TMPFILE | O_RDWR, 0640);

    if (fd < 0 && errno == EOPNOTSUPP) {
        printf("no O_TMPFILE here\n");
        return;
    }
    if (!CHECK(fd >= 0))
        return;
    CHECK_EQ(write(fd, "tmp", 3), 3);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_nlink, 0);
    snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
    CHECK_EQ(linkat(AT_FDCWD, proc, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW), 0);
    CHECK_EQ(write(fd, "file", 4), 4);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_nlink, 1);
    close(fd);
    CHECK(file_is("linked", "tmpfile", 7));
    CHECK_EQ(stat("linked", &st), 0);
    CHECK_EQ(st.st_mode & 07777, 0640);
    fd = open(".", O_TMPFILE | O_RDWR | O_EXCL, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "lost", 4), 4);
    close(fd);
}

static void test_copy(void)
{
    uint8_t data[500000];

    fill(data, sizeof data, 4);
    make_file("from", data, sizeof data);
    int from = open("from", O_RDONLY);
    int to = open("to", O_CREAT | O_WRONLY, 0644);
    loff_t in = 0, out = 0;
    while (in < (loff_t)sizeof data)
        if (!CHECK(copy_file_range(from, &in, to, &out, sizeof data - (size_t)in, 0) > 0))
            break;
    close(to);
    CHECK(file_is("to", data, sizeof data));
    to = open("to2", O_CREAT | O_WRONLY, 0644);
    off_t at = 0;
    while (at < (off_t)sizeof data)
        if (!CHECK(sendfile(to, from, &at, sizeof data - (size_t)at) > 0))
            break;
    struct iovec pieces[] = {{data, 1000}, {data + 5000, 3}, {data + 9000, 70000}};
    CHECK_EQ(pwritev(to, pieces, 3, 400000), 71003);
    memmove(data + 400000, data, 1000);
    memmove(data + 401000, data + 5000, 3);
    memmove(data + 401003, data + 9000, 70000);
    close(to);
    close(from);
    CHECK(file_is("to2", data, sizeof data));
}

static void execute(void *arg)
{
    (void)arg;
    execl("./program", "program", (char *)NULL);
    CHECK_EQ(errno, 0);
}

static void test_execute(void)
{
    int from = open("/bin/true", O_RDONLY);
    int to = open("program", O_CREAT | O_WRONLY, 0755);

    while (sendfile(to, from, NULL, MIB) > 0) {
    }
    close(from);
    FAILS(execl("./program", "program", (char *)NULL), ETXTBSY);
    close(to);
    in_child(execute, NULL);
}

#define CHECK_TIME(a, b) CHECK((a).tv_sec == (b).tv_sec && (a).tv_nsec == (b).tv_nsec)

/* The container is written after the file was changed: its times must not show that. */
static void test_times_stay(void)
{
    const struct timespec times[2] = {{1000000000, 123456789}, {1100000000, 987654321}};
    struct stat before, after;
    uint8_t data[100000];

    fill(data, sizeof data, 6);
    int fd = open("times", O_CREAT | O_RDWR, 0644);
    CHECK_EQ(write(fd, data, sizeof data), (ssize_t)sizeof data);
    CHECK_EQ(fstat(fd, &before), 0);
    CHECK_EQ(fsync(fd), 0);
    CHECK_EQ(fstat(fd, &after), 0);
    CHECK_TIME(before.st_mtim, after.st_mtim);
    CHECK_TIME(before.st_ctim, after.st_ctim);
    CHECK_EQ(pwrite(fd, "more", 4, 0), 4);
    CHECK_EQ(futimens(fd, times), 0);
    CHECK_EQ(fstat(fd, &before), 0);
    CHECK_TIME(before.st_mtim, times[1]);
    CHECK_EQ(close(fd), 0);
    CHECK_EQ(stat("times", &after), 0);
    CHECK_TIME(after.st_mtim, times[1]);
    CHECK_TIME(after.st_atim, times[0]);
    CHECK_TIME(before.st_ctim, after.st_ctim);
}

int main(int argc, char **argv)
{
    where_begin(argc, argv);
    test_append();
    test_append_together();
    test_random();
    test_truncate();
    test_direct();
    test_mmap();
    test_unlinked();
    test_tmpfile();
    test_copy();
    test_execute();
    test_times_stay();
    where_end();
    return check_result();
}
