/* What the cache keeps of a file, what is stored with a commit, and what counts against the cap. */
#include <pthread.h>
#include <sys/stat.h>

#include "fs/base/pool.h"
#include "fs/base/timespec.h"
#include "tests/unit/fs/cache/guest.h"
#include "tests/unit/fs/cache/model.h"

static unsigned rounds = 20; /* of widening */

/* Extents that pass whole are not kept where the caller has a cache; chunks of which parts were
 * asked for twice are. */
static void check_passing(bool caller_caches)
{
    struct model m = {.bytes = calloc(1, SIZE_MOST), .extent = 131072};
    struct bale_volume_stats stats;
    struct bale_read read;
    struct bale_wait wait = BALE_WAIT;

    snprintf(m.path, sizeof m.path, "%s/passing", directory);
    for (size_t i = 0; i < 4 * m.extent; i++)
        m.bytes[i] = (uint8_t)(i >> 7);
    open_file(&m);
    bale_file_write(m.file, 0, m.bytes, 4 * m.extent, bale_wait_done, &wait);
    CHECK_EQ(bale_wait_for(&wait), 4 * m.extent);
    bale_file_flush(m.file, false, bale_wait_done, &wait);
    CHECK_EQ(bale_wait_for(&wait), BALE_OK);
    bale_volume_stats(volume, &stats);
    CHECK_EQ(stats.cached == 0, caller_caches);
    for (unsigned round = 0; round < 2; round++) {
        bale_file_read(m.file, 2 * m.extent, 2 * m.extent, &read, bale_wait_done, &wait);
        CHECK_EQ(bale_wait_for(&wait), 2 * m.extent);
        for (int i = 0, at = 2 * (int)m.extent; i < read.count; i++) {
            CHECK_EQ_MEM(read.pieces[i].iov_base, m.bytes + at, read.pieces[i].iov_len);
            at += (int)read.pieces[i].iov_len;
        }
        bale_read_release(&read);
        bale_volume_stats(volume, &stats);
        CHECK_EQ(stats.cached == 0, caller_caches);
    }
    for (unsigned round = 0; round < 2; round++) {
        bale_file_read(m.file, m.extent + 4096 + round * 8192, 8192, &read, bale_wait_done, &wait);
        CHECK_EQ(bale_wait_for(&wait), 8192);
        CHECK_EQ_MEM(read.pieces[0].iov_base, m.bytes + m.extent + 4096 + round * 8192, 8192);
        bale_read_release(&read);
        bale_volume_stats(volume, &stats);
        CHECK_EQ(stats.cached == 0, caller_caches && round == 0);
    }
    m.size = 4 * m.extent;
    close_file(&m);
    unlink(m.path);
    free(m.bytes);
}

/* Read-ahead of a file that is cut to nothing and given wider extents meanwhile: what lies beside
 * its buffers, here what another file has not yet stored, stays. */
static void check_widening(void)
{
    struct model m = {.bytes = calloc(1, SIZE_MOST), .extent = 16384};
    struct model beside = {.bytes = calloc(1, SIZE_MOST), .extent = 16384};
    struct bale_wait wait = BALE_WAIT;

    snprintf(m.path, sizeof m.path, "%s/widened", directory);
    snprintf(beside.path, sizeof beside.path, "%s/beside", directory);
    for (size_t i = 0; i < 4 << 20; i++)
        m.bytes[i] = (uint8_t)(i * i >> 7 ^ i);
    memset(beside.bytes, 2, SIZE_MOST);
    for (unsigned round = 0; round < rounds; round++) {
        struct bale_container_attr wide = {.extent = 8 << 20};
        struct bale_read read;
        m.size = beside.size = 0;
        open_file(&m);
        bale_file_write(m.file, 0, m.bytes, 4 << 20, bale_wait_done, &wait);
        CHECK_EQ(bale_wait_for(&wait), 4 << 20);
        m.size = 4 << 20;
        close_file(&m);
        open_file(&m);
        open_file(&beside);
        bale_file_write(beside.file, 0, beside.bytes, 2 << 20, bale_wait_done, &wait);
        CHECK_EQ(bale_wait_for(&wait), 2 << 20);
        beside.size = 2 << 20;
        for (unsigned i = 0; i < 8; i++) {
            bale_file_read(m.file, (uint64_t)i << 17, 1 << 17, &read, bale_wait_done, &wait);
            CHECK_EQ(bale_wait_for(&wait), 1 << 17);
            bale_read_release(&read);
        }
        bale_file_truncate(m.file, 0, bale_wait_done, &wait);
        CHECK_EQ(bale_wait_for(&wait), BALE_OK);
        bale_file_set_attr(m.file, BALE_ATTR_EXTENT, &wide, bale_wait_done, &wait);
        CHECK_EQ(bale_wait_for(&wait), BALE_OK);
        m.size = 0;
        close_file(&m);
        check_range(&beside, 0, beside.size);
        close_file(&beside);
        unlink(m.path);
        unlink(beside.path);
    }
    free(m.bytes);
    free(beside.bytes);
}

static void set_mtime(struct model *m, time_t seconds)
{
    struct bale_wait wait = BALE_WAIT;
    const struct timespec mtime = {.tv_sec = seconds, .tv_nsec = 5};

    bale_file_set_times(m->file, NULL, &mtime, bale_wait_done, &wait);
    CHECK_EQ(bale_wait_for(&wait), BALE_OK);
}

static void check_mtime(struct model *m, time_t seconds, uint64_t generation)
{
    struct bale_file_attr attr;

    bale_file_attr(m->file, &attr);
    CHECK_EQ(attr.mtime.tv_sec, seconds);
    CHECK_EQ(attr.container.mtime, seconds * 1000000000 + 5);
    CHECK_EQ_U(attr.container.generation, generation);
}

/* Times that are set, and how the file is found when they have been. */
struct times_set {
    struct model *m;
    struct timespec atime, mtime;
    int64_t result;
    struct bale_file_attr attr;
};

static void times_set(void *arg, int64_t result)
{
    struct times_set *set = arg;

    set->result = result;
    bale_file_attr(set->m->file, &set->attr);
}

static void begin_to_set_times(void *arg)
{
    struct times_set *set = arg;

    bale_file_set_times(set->m->file, &set->atime, &set->mtime, times_set, set);
}

/* A guest shows the times before it stores them, with what was written. */
static void set_times_as_guest(struct model *m, time_t seconds)
{
    struct times_set set = {
        .m = m, .atime = {.tv_sec = 300}, .mtime = {.tv_sec = seconds, .tv_nsec = 5}, .result = 1};
    struct stat st;

    call_as_guest(bale_volume_pool(volume), begin_to_set_times, &set);
    CHECK_EQ(set.result, BALE_OK);
    CHECK_EQ(set.attr.mtime.tv_sec, seconds);
    CHECK_EQ_U(set.attr.dirty, 4096);
    CHECK_EQ(stat(m->path, &st), 0);
    CHECK_EQ(st.st_atim.tv_sec, 300);
}

/* A time that is set after a write is stored with what was written. */
static void check_times(bool as_guest)
{
    struct model m = {.bytes = calloc(1, SIZE_MOST), .extent = 131072};
    struct bale_wait wait = BALE_WAIT;

    snprintf(m.path, sizeof m.path, "%s/times", directory);
    open_file(&m);
    m.size = 1000;
    bale_file_write(m.file, 0, m.bytes, m.size, bale_wait_done, &wait);
    CHECK_EQ((uint64_t)bale_wait_for(&wait), m.size);
    if (as_guest)
        set_times_as_guest(&m, 1000);
    else
        set_mtime(&m, 1000);
    check_mtime(&m, 1000, 2); /* an empty root came first */
    set_mtime(&m, 2000);
    check_mtime(&m, 2000, 3);
    bale_file_flush(m.file, false, bale_wait_done, &wait);
    CHECK_EQ(bale_wait_for(&wait), BALE_OK);
    check_mtime(&m, 2000, 3);
    close_file(&m);
    open_file(&m);
    check_mtime(&m, 2000, 3);
    check_range(&m, 0, m.size);
    close_file(&m);
    unlink(m.path);
    free(m.bytes);
}

/* A time that does not fit is another one, and no undefined behaviour. */
static void check_nanoseconds(void)
{
    const struct timespec before = {.tv_sec = -5, .tv_nsec = 1}, late = {.tv_sec = 10413792000};

    CHECK_EQ(bale_nanoseconds_of(before), -INT64_C(4999999999));
    CHECK_EQ(bale_nanoseconds_of(late), -INT64_C(8032952073709551616)); /* 2300 */
}

static uint64_t used_beside_cache(void)
{
    struct bale_volume_stats stats;

    bale_volume_stats(volume, &stats);
    return stats.memory_used - stats.cached;
}

/* The index of an open file counts against the cap. */
static void check_counted(void)
{
    struct model m = {.bytes = calloc(1, SIZE_MOST), .extent = 16384};
    struct bale_wait wait = BALE_WAIT;
    const uint64_t before = used_beside_cache();

    snprintf(m.path, sizeof m.path, "%s/counted", directory);
    open_file(&m);
    for (uint64_t at = 0; at < SIZE_MOST; at += 16384) {
        bale_file_write(m.file, at, "x", 1, bale_wait_done, &wait);
        CHECK_EQ(bale_wait_for(&wait), 1);
        m.bytes[at] = 'x';
        m.size = at + 1;
    }
    bale_file_flush(m.file, true, bale_wait_done, &wait);
    CHECK_EQ(bale_wait_for(&wait), BALE_OK);
    CHECK(used_beside_cache() >= before + SIZE_MOST / 16384 * 32);
    close_file(&m);
    CHECK_EQ_U(used_beside_cache(), before);
    open_file(&m);
    const uint64_t opened = used_beside_cache();
    check_range(&m, 0, m.size);
    CHECK(used_beside_cache() >= opened + SIZE_MOST / 16384 * 32);
    close_file(&m);
    CHECK_EQ_U(used_beside_cache(), before);
    unlink(m.path);
    free(m.bytes);
}

/* Argument: --few. */
int main(int argc, char **argv)
{
    if (check_few(&argc, argv))
        rounds = 4;
    check_nanoseconds();
    for (int caller_caches = 0; caller_caches < 2; caller_caches++) {
        model_begin(caller_caches);
        check_passing(caller_caches);
        check_widening();
        check_times(false);
        check_times(true);
        check_counted();
        model_end();
    }
    return check_result();
}
