/* Holes in regular files, and preallocation. */
#include "tests/fuse/where.h"

#include <sys/mman.h>

#define MIB (1u << 20)

static void test_holes(void)
{
    uint8_t data[128 * 1024];

    fill(data, sizeof data, 2);
    int fd = open("holes", O_CREAT | O_RDWR, 0644);
    CHECK_EQ(pwrite(fd, data, sizeof data, MIB), (ssize_t)sizeof data);
    CHECK_EQ(ftruncate(fd, 4 * MIB), 0);
    CHECK_EQ(fsync(fd), 0);
    off_t from = lseek(fd, 0, SEEK_DATA);
    CHECK(from > 0 && from <= MIB);
    off_t to = lseek(fd, MIB, SEEK_HOLE);
    CHECK(to >= MIB + (off_t)sizeof data && to < 4 * MIB);
    CHECK_EQ(lseek(fd, 0, SEEK_HOLE), 0);
    FAILS(lseek(fd, 2 * MIB, SEEK_DATA), ENXIO);
    FAILS(lseek(fd, 4 * MIB, SEEK_DATA), ENXIO);
    struct stat st;
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK(st.st_blocks > 0 && st.st_blocks <= 2 * (off_t)sizeof data / 512);
    close(fd);
}

/* Bytes written through a mapping are data before any sync, for other processes too. */
static void test_holes_mapped(void)
{
    int fd = open("mapped_holes", O_CREAT | O_RDWR, 0644);
    int other = open("mapped_holes", O_RDONLY);

    CHECK_EQ(ftruncate(fd, 4 * MIB), 0);
    CHECK_EQ(fsync(fd), 0);
    char *map = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(map != MAP_FAILED);
    close(fd);
    for (off_t at = MIB + 5; at < 4 * MIB; at += MIB) {
        map[at] = 'x';
        off_t from = lseek(other, at - MIB / 2, SEEK_DATA);
        CHECK(from > at - MIB / 2 && from <= at);
        CHECK(lseek(other, at, SEEK_HOLE) > at);
        CHECK_EQ(map[at], 'x');
    }
    CHECK_EQ(munmap(map, 4 * MIB), 0);
    CHECK(lseek(other, 0, SEEK_DATA) > 0);
    close(other);
}

static void test_fallocate(void)
{
    uint8_t data[300000], got[300000], zeros[300000] = {0};
    struct stat st;

    fill(data, sizeof data, 7);
    int fd = open("alloc", O_CREAT | O_RDWR, 0644);
    CHECK_EQ(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, MIB), 0);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_size, 0);
    CHECK_EQ(fallocate(fd, 0, 0, sizeof data), 0);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_size, (off_t)sizeof data);
    CHECK_EQ(pread(fd, got, sizeof got, 0), (ssize_t)sizeof got);
    CHECK_EQ_MEM(got, zeros, sizeof got);
    CHECK_EQ(pwrite(fd, data, sizeof data, 0), (ssize_t)sizeof data);
    CHECK_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 5000, 200000), 0);
    memset(data + 5000, 0, 200000);
    CHECK_EQ(fallocate(fd, FALLOC_FL_ZERO_RANGE, 250000, 1000), 0);
    memset(data + 250000, 0, 1000);
    CHECK_EQ(pread(fd, got, sizeof got, 0), (ssize_t)sizeof got);
    CHECK_EQ_MEM(got, data, sizeof got);
    CHECK_EQ(fallocate(fd, FALLOC_FL_ZERO_RANGE, 290000, 20000), 0);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_size, 310000);
    memset(data + 290000, 0, 10000);
    CHECK_EQ(fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 300000, 100000), 0);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_size, 310000);
    FAILS(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 4096), EOPNOTSUPP);
    FAILS(fallocate(fd, 0, 0, 0), EINVAL);
    CHECK_EQ(fsync(fd), 0);
    close(fd);
    CHECK_EQ(truncate("alloc", sizeof data), 0);
    CHECK(file_is("alloc", data, sizeof data));
}

int main(int argc, char **argv)
{
    where_begin(argc, argv);
    test_holes();
    test_holes_mapped();
    test_fallocate();
    where_end();
    return check_result();
}
