/* Files at work against arrays of bytes: random reads, writes, truncations, holes, flushes, syncs
 * and reopenings, from several threads on files of their own and on a shared one, with little
 * memory so that eviction and waiting happen. */
#include "fs/cache/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/wait.h"
#include "tests/check.h"

#define THREADS 4
#define SIZE_MOST ((uint64_t)12 << 20)

static struct bale_volume *volume;
static char directory[64];

/* ---- One file and what it should hold ---- */

struct model {
    char path[96];
    struct bale_file *file;
    uint8_t *bytes;
    uint64_t size;
    uint32_t extent;
    uint64_t state;
};

static uint64_t draw(struct model *m, uint64_t below)
{
    m->state ^= m->state << 13;
    m->state ^= m->state >> 7;
    m->state ^= m->state << 17;
    return m->state % below;
}

static void open_file(struct model *m)
{
    static const uint8_t codecs[] = {BALE_CODEC_AUTO, BALE_CODEC_ZSTD, BALE_CODEC_LZ4,
                                     BALE_CODEC_STORE};
    uint8_t codec = codecs[m->extent / 4096 % 4];
    struct bale_container_attr defaults = {
        .extent = m->extent,
        .setting = {.codec = codec, .parameter = (int16_t)(codec == BALE_CODEC_ZSTD ? 1 : 0)}};
    int fd = open(m->path, O_RDWR | O_CREAT, 0600);

    CHECK(fd >= 0);
    CHECK_EQ(bale_file_open(volume, fd, &defaults, m->path, &m->file, NULL), BALE_OK);
    struct bale_file_attr attr;
    bale_file_attr(m->file, &attr);
    CHECK_EQ(attr.size, m->size);
}

static void close_file(struct model *m)
{
    struct bale_wait wait = BALE_WAIT;

    bale_file_on_close(m->file, bale_wait_closed, &wait);
    bale_file_unref(m->file);
    bale_wait_for(&wait);
    m->file = NULL;
}

static void check_range(struct model *m, uint64_t offset, size_t length)
{
    struct bale_wait wait = BALE_WAIT;
    struct bale_read read;

    bale_file_read(m->file, offset, length, &read, bale_wait_done, &wait);
    int64_t got = bale_wait_for(&wait);
    uint64_t expect = offset >= m->size ? 0 : length < m->size - offset ? length : m->size - offset;
    CHECK_EQ((uint64_t)got, expect);
    uint64_t at = offset;
    for (int i = 0; got > 0 && i < read.count; i++) {
        bool same = memcmp(m->bytes + at, read.pieces[i].iov_base, read.pieces[i].iov_len) == 0;
        CHECK(same);
        at += read.pieces[i].iov_len;
    }
    bale_read_release(&read);
}

static void write_range(struct model *m)
{
    size_t length = 1 + draw(m, draw(m, 4) ? 9000 : 400000);
    uint64_t offset = draw(m, 3) ? draw(m, SIZE_MOST - length) : m->size;

    offset = draw(m, 4) ? offset : offset / 4096 * 4096;
    if (offset + length > SIZE_MOST)
        return;
    uint8_t *data = malloc(length);
    uint8_t kind = (uint8_t)draw(m, 3);
    for (size_t i = 0; i < length; i++)
        data[i] = kind == 0 ? 0 : (uint8_t)(kind == 1 ? i / 64 : draw(m, 256));
    struct bale_wait wait = BALE_WAIT;
    bale_file_write(m->file, offset, data, length, bale_wait_done, &wait);
    memcpy(m->bytes + offset, data, length);
    CHECK_EQ((uint64_t)bale_wait_for(&wait), length);
    m->size = offset + length > m->size ? offset + length : m->size;
    free(data);
}

static void truncate_file(struct model *m)
{
    uint64_t size = draw(m, 4) ? draw(m, SIZE_MOST) : 0;
    struct bale_wait wait = BALE_WAIT;

    bale_file_truncate(m->file, size, bale_wait_done, &wait);
    CHECK_EQ(bale_wait_for(&wait), BALE_OK);
    if (size < m->size)
        memset(m->bytes + size, 0, m->size - size);
    m->size = size;
}

static void allocate_range(struct model *m)
{
    static const enum bale_allocate ways[] = {BALE_ALLOCATE, BALE_ALLOCATE_KEEP_SIZE,
                                              BALE_ALLOCATE_PUNCH, BALE_ALLOCATE_ZERO,
                                              BALE_ALLOCATE_ZERO_KEEP_SIZE};
    enum bale_allocate how = ways[draw(m, 5)];
    uint64_t offset = draw(m, SIZE_MOST - 300000), length = 1 + draw(m, 300000);
    struct bale_wait wait = BALE_WAIT;

    bale_file_allocate(m->file, how, offset, length, bale_wait_done, &wait);
    CHECK_EQ(bale_wait_for(&wait), BALE_OK);
    uint64_t stop = offset + length;
    if ((how == BALE_ALLOCATE || how == BALE_ALLOCATE_ZERO) && stop > m->size)
        m->size = stop;
    if (how != BALE_ALLOCATE && how != BALE_ALLOCATE_KEEP_SIZE) {
        stop = stop < m->size ? stop : m->size;
        if (offset < stop)
            memset(m->bytes + offset, 0, stop - offset);
    }
}

/* What SEEK_HOLE calls a hole must be zeros. */
static void check_holes(struct model *m)
{
    uint64_t at = draw(m, m->size + 1);
    int64_t hole = bale_file_seek(m->file, at, false);

    if (at >= m->size) {
        CHECK_EQ(hole, BALE_E_NOENT);
        return;
    }
    CHECK(hole >= (int64_t)at && hole <= (int64_t)m->size);
    int64_t data =
        hole < (int64_t)m->size ? bale_file_seek(m->file, (uint64_t)hole, true) : BALE_E_NOENT;
    uint64_t stop = data == BALE_E_NOENT ? m->size : (uint64_t)data;
    bool zeros = true;
    for (uint64_t i = (uint64_t)hole; i < stop; i++)
        zeros = zeros && m->bytes[i] == 0;
    CHECK(zeros);
}

static unsigned rounds = 3000; /* changes of each file */

static void *model_thread(void *arg)
{
    struct model *m = arg;

    open_file(m);
    for (unsigned round = 0; round < rounds; round++) {
        struct bale_wait wait = BALE_WAIT;
        switch (draw(m, 16)) {
        case 0:
            truncate_file(m);
            break;
        case 1:
            allocate_range(m);
            break;
        case 2:
            bale_file_flush(m->file, draw(m, 2), bale_wait_done, &wait);
            CHECK_EQ(bale_wait_for(&wait), BALE_OK);
            break;
        case 3:
            if (draw(m, 4) == 0) {
                close_file(m);
                open_file(m);
            }
            break;
        case 4:
            check_holes(m);
            break;
        case 5: /* a stream */
            for (uint64_t at = 0; at < m->size; at += 131072)
                check_range(m, at, 131072);
            break;
        case 6:
        case 7:
        case 8:
        case 9:
            check_range(m, draw(m, SIZE_MOST), 1 + draw(m, 200000));
            break;
        default:
            write_range(m);
        }
    }
    check_range(m, 0, SIZE_MOST);
    close_file(m);
    open_file(m);
    check_range(m, 0, SIZE_MOST);
    struct bale_container_attr attr;
    struct bale_file_attr file_attr;
    bale_file_attr(m->file, &file_attr);
    attr = file_attr.container;
    CHECK_EQ(attr.size, m->size);
    close_file(m);
    return NULL;
}

static enum bale_session_state certain(const void *arg, uint32_t session)
{
    (void)arg;
    (void)session;
    return BALE_SESSION_CERTAIN;
}

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
    for (unsigned round = 0; round < rounds / 150; round++) {
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

/* A time that is set after a write is stored with what was written. */
static void check_times(void)
{
    struct model m = {.bytes = calloc(1, SIZE_MOST), .extent = 131072};
    struct bale_wait wait = BALE_WAIT;

    snprintf(m.path, sizeof m.path, "%s/times", directory);
    open_file(&m);
    m.size = 1000;
    bale_file_write(m.file, 0, m.bytes, m.size, bale_wait_done, &wait);
    CHECK_EQ((uint64_t)bale_wait_for(&wait), m.size);
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

static void check_volume(uint64_t seed, bool caller_caches)
{
    struct bale_volume_options options = {.memory = (uint64_t)32 << 20,
                                          .threads = 2,
                                          .age_ms = 500,
                                          .caller_caches = caller_caches,
                                          .reserve_fd = -1};
    static _Atomic uint32_t session = 1;
    static pthread_rwlock_t roll = PTHREAD_RWLOCK_INITIALIZER;

    options.container.session = &session;
    options.container.session_roll = &roll;
    options.container.writable = true;
    options.container.session_state = certain;
    CHECK_EQ(bale_volume_create(&options, &volume), BALE_OK);
    check_passing(caller_caches);
    check_widening();
    check_times();
    check_counted();
    struct model models[THREADS] = {0};
    pthread_t threads[THREADS];
    static const uint32_t extents[THREADS] = {131072, 16384, 1 << 20, 300 * 1024};
    for (int i = 0; i < THREADS; i++) {
        snprintf(models[i].path, sizeof models[i].path, "%s/%d", directory, i);
        models[i].bytes = calloc(1, SIZE_MOST);
        models[i].extent = extents[i];
        models[i].state = 0x9e3779b97f4a7c15u * (seed * THREADS + (uint64_t)i);
        pthread_create(&threads[i], NULL, model_thread, &models[i]);
    }
    for (int i = 0; i < 20; i++) {
        struct bale_wait wait = BALE_WAIT;
        bale_volume_sync(volume, i % 2, bale_wait_done_err, &wait);
        CHECK_EQ(bale_wait_for(&wait), BALE_OK);
        usleep(50000);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        unlink(models[i].path);
        free(models[i].bytes);
    }
    struct bale_volume_stats stats;
    bale_volume_stats(volume, &stats);
    CHECK_EQ(stats.errors, 0u);
    CHECK(stats.memory_used <= stats.memory_cap);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
}

/* Arguments: another seed; --few. */
int main(int argc, char **argv)
{
    if (check_few(&argc, argv))
        rounds = 600;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;

    snprintf(directory, sizeof directory, "/tmp/bale-file-test-XXXXXX");
    CHECK(mkdtemp(directory) != NULL);
    check_volume(seed, false);
    check_volume(seed, true);
    rmdir(directory);
    return check_result();
}
