/* Recompressing: what becomes of codecs, pieces, holes and times; and files that are written, cut
 * and flushed at random meanwhile, against arrays of bytes. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "tests/support/volume.h"

#define EXTENT 65536u
#define SIZE_MOST ((uint64_t)3 << 20)
#define ROUNDS 1500
#define FILES 3

static struct bale_volume *volume;
static char directory[64];

struct model {
    struct bale_file *file;
    uint8_t *bytes;
    uint64_t size;
    uint64_t state;
    atomic_bool over;
    uint64_t rewritten;
};

static void open_file(struct model *m, const char *name, uint8_t codec)
{
    struct bale_container_attr defaults = {.extent = EXTENT, .setting = {.codec = codec}};
    char path[128];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    REQUIRE(fd >= 0);
    REQUIRE(bale_file_open(volume, fd, &defaults, path, &m->file, NULL) == BALE_OK);
    unlink(path);
    m->bytes = calloc(1, SIZE_MOST);
    REQUIRE(m->bytes != NULL);
}

static void close_file(struct model *m)
{
    volume_file_close(m->file);
    free(m->bytes);
}

static void write_at(struct model *m, uint64_t offset, size_t length)
{
    volume_file_write(m->file, offset, m->bytes + offset, length);
    m->size = offset + length > m->size ? offset + length : m->size;
}

static void check_all(struct model *m)
{
    for (uint64_t at = 0; at < m->size; at += EXTENT) {
        struct bale_wait wait = BALE_WAIT;
        struct bale_read read;
        bool same = true;
        uint64_t offset = at;
        bale_file_read(m->file, at, EXTENT, &read, bale_wait_done, &wait);
        int64_t got = bale_wait_for(&wait);
        CHECK_EQ(got, (int64_t)(m->size - at < EXTENT ? m->size - at : EXTENT));
        for (int i = 0; got > 0 && i < read.count; i++) {
            size_t length = read.pieces[i].iov_len;
            same = same && memcmp(m->bytes + offset, read.pieces[i].iov_base, length) == 0;
            offset += length;
        }
        CHECK(same);
        bale_read_release(&read);
    }
}

/* The whole file. codec BALE_CODEC_ZERO: the file's own setting. */
static struct bale_recompress recompress(struct model *m, uint8_t codec, int16_t parameter,
                                         bool dry)
{
    struct bale_recompress sum = {0};

    for (uint64_t offset = 0; !sum.over;) {
        struct bale_recompress what = {.offset = offset,
                                       .end = UINT64_MAX,
                                       .setting = {.codec = codec, .parameter = parameter},
                                       .chosen = codec != BALE_CODEC_ZERO,
                                       .dry = dry,
                                       .insist = true};
        struct bale_wait wait = BALE_WAIT;
        bale_file_recompress(m->file, &what, bale_wait_done, &wait);
        if (!CHECK_EQ(bale_wait_for(&wait), BALE_OK))
            break;
        CHECK(what.over || what.offset > offset);
        offset = what.offset;
        sum.over = what.over;
        sum.extents += what.extents;
        sum.rewritten += what.rewritten;
        sum.before += what.before;
        sum.after += what.after;
        sum.damaged += what.damaged;
    }
    return sum;
}

/* ---- One thing after the other ---- */

static void check_codecs(void)
{
    struct model m = {0};
    struct bale_file_attr before, after;
    struct bale_container_usage usage;

    open_file(&m, "codecs", BALE_CODEC_LZ4);
    for (uint64_t i = 0; i < 40 * EXTENT; i++)
        m.bytes[i] = (uint8_t)("0123456789abcdef"[(i * i >> 7) % 16]);
    write_at(&m, 0, 40 * EXTENT - 100);
    volume_file_flush(m.file, false);
    bale_file_attr(m.file, &before);

    struct bale_recompress did = recompress(&m, BALE_CODEC_ZSTD, 9, true);
    CHECK_EQ_U(did.extents, 40);
    CHECK_EQ_U(did.rewritten, 40);
    bale_file_attr(m.file, &after);
    CHECK_EQ_U(after.container.generation, before.container.generation);

    struct bale_recompress again = recompress(&m, BALE_CODEC_ZSTD, 9, false);
    CHECK_EQ_U(again.rewritten, 40);
    CHECK_EQ_U(again.after, did.after);
    CHECK_EQ_U(again.before, before.container.stored);
    bale_file_attr(m.file, &after);
    CHECK_EQ_U(after.container.stored, again.after);
    CHECK_EQ(after.container.mtime, before.container.mtime);
    CHECK_EQ(after.mtime.tv_nsec, before.mtime.tv_nsec);
    CHECK_EQ_U(after.size, before.size);
    CHECK_EQ(bale_file_usage(m.file, &usage), BALE_OK);
    CHECK_EQ_U(usage.extents[BALE_CODEC_ZSTD], 40);
    check_all(&m);

    CHECK_EQ_U(recompress(&m, BALE_CODEC_ZSTD, 9, false).rewritten, 0);
    /* Not smaller, and nobody chose the file's codec; then somebody does. */
    CHECK_EQ_U(recompress(&m, BALE_CODEC_ZERO, 0, false).rewritten, 0);
    CHECK_EQ_U(recompress(&m, BALE_CODEC_LZ4, 0, false).rewritten, 40);
    CHECK_EQ_U(recompress(&m, BALE_CODEC_ZSTD, 1, false).rewritten, 40);
    CHECK_EQ_U(recompress(&m, BALE_CODEC_ZSTD, 9, false).rewritten, 40);
    CHECK_EQ_U(recompress(&m, BALE_CODEC_STORE, 0, false).rewritten, 40);
    CHECK_EQ_U(recompress(&m, BALE_CODEC_AUTO, 0, false).rewritten, 40);
    CHECK_EQ_U(recompress(&m, BALE_CODEC_AUTO, 0, false).rewritten, 0);
    check_all(&m);
    close_file(&m);
}

/* Small synchronous writes leave several frames; a hole stays one. */
static void check_pieces(void)
{
    struct model m = {.state = 7};
    struct bale_container_usage usage;

    open_file(&m, "pieces", BALE_CODEC_LZ4);
    for (uint64_t i = 0; i < 8 * EXTENT; i++)
        m.bytes[i] = (uint8_t)(i / 300);
    write_at(&m, 0, 2 * EXTENT);
    volume_file_flush(m.file, true);
    for (unsigned i = 0; i < 20; i++) {
        memset(m.bytes + i * 5000, (int)(i + 'a'), 700);
        write_at(&m, i * 5000, 700);
        volume_file_flush(m.file, true);
    }
    memset(m.bytes + 2 * EXTENT, 0, 3 * EXTENT);
    write_at(&m, 5 * EXTENT, 2 * EXTENT);
    volume_file_flush(m.file, true);
    CHECK_EQ(bale_file_usage(m.file, &usage), BALE_OK);
    CHECK(usage.extents[BALE_CODEC_LZ4] + usage.extents[BALE_CODEC_ZERO] > 6);
    struct bale_recompress did = recompress(&m, BALE_CODEC_LZ4, 0, false);
    CHECK_EQ_U(did.extents, 4);
    CHECK_EQ_U(did.rewritten, 2);
    CHECK(did.after < did.before);
    CHECK_EQ(bale_file_usage(m.file, &usage), BALE_OK);
    CHECK_EQ_U(usage.extents[BALE_CODEC_LZ4], 4);
    CHECK_EQ_U(usage.extents[BALE_CODEC_ZERO], 0);
    CHECK_EQ(bale_file_seek(m.file, 0, false), 2 * EXTENT);
    CHECK_EQ(bale_file_seek(m.file, 2 * EXTENT, true), 5 * EXTENT);
    check_all(&m);

    /* Bytes that are not committed yet are neither changed nor lost. */
    memset(m.bytes + 100, 'x', 3 * EXTENT);
    write_at(&m, 100, 3 * EXTENT);
    (void)recompress(&m, BALE_CODEC_ZSTD, 3, false);
    check_all(&m);
    volume_file_flush(m.file, false);
    check_all(&m);
    close_file(&m);
}

static void check_random(void)
{
    struct model m = {.state = 1234567};

    open_file(&m, "random", BALE_CODEC_STORE);
    for (uint64_t i = 0; i < 2 * EXTENT; i++) {
        m.state = m.state * 6364136223846793005u + 1442695040888963407u;
        m.bytes[i] = (uint8_t)(m.state >> 56);
    }
    write_at(&m, 0, 2 * EXTENT);
    volume_file_flush(m.file, false);
    struct bale_recompress did = recompress(&m, BALE_CODEC_ZSTD, 3, false);
    CHECK_EQ_U(did.extents, 2);
    CHECK_EQ_U(did.rewritten, 0);
    close_file(&m);
}

/* A frozen volume is left alone, whatever is asked for. */
static void check_frozen(void)
{
    struct model m = {0};
    struct bale_wait wait = BALE_WAIT;
    struct bale_recompress what = {.end = UINT64_MAX,
                                   .setting = {.codec = BALE_CODEC_STORE, .parameter = 0},
                                   .chosen = true,
                                   .insist = true};

    open_file(&m, "frozen", BALE_CODEC_LZ4);
    write_at(&m, 0, EXTENT);
    bale_volume_freeze(volume, bale_wait_done_err, &wait);
    CHECK_EQ(bale_wait_for(&wait), BALE_OK);
    bale_file_recompress(m.file, &what, bale_wait_done, &wait);
    CHECK_EQ(bale_wait_for(&wait), BALE_OK);
    CHECK(what.busy && !what.over && what.extents == 0);
    bale_volume_thaw(volume);
    close_file(&m);
}

/* Readers come first. */
static void check_busy(void)
{
    struct model m = {0};
    bool busy[2];

    open_file(&m, "busy", BALE_CODEC_LZ4);
    write_at(&m, 0, EXTENT);
    check_all(&m);
    for (unsigned i = 0; i < 2; i++) {
        struct bale_recompress what = {.end = UINT64_MAX};
        struct bale_wait wait = BALE_WAIT;
        bale_file_recompress(m.file, &what, bale_wait_done, &wait);
        CHECK_EQ(bale_wait_for(&wait), BALE_OK);
        busy[i] = what.busy;
    }
    CHECK(busy[0] && !busy[1]);
    close_file(&m);
}

/* ---- All at once ---- */

static uint64_t draw(struct model *m, uint64_t below)
{
    m->state ^= m->state << 13;
    m->state ^= m->state >> 7;
    m->state ^= m->state << 17;
    return m->state % below;
}

static void change(struct model *m)
{
    struct bale_wait wait = BALE_WAIT;
    uint64_t offset = draw(m, SIZE_MOST - 200000), length = 1 + draw(m, draw(m, 4) ? 6000 : 200000);

    switch (draw(m, 8)) {
    case 0:
        volume_file_flush(m->file, draw(m, 2));
        break;
    case 1:
        offset = draw(m, 5) ? m->size - draw(m, m->size / 4 + 1) : draw(m, SIZE_MOST);
        bale_file_truncate(m->file, offset, bale_wait_done, &wait);
        CHECK_EQ(bale_wait_for(&wait), BALE_OK);
        memset(m->bytes + offset, 0, SIZE_MOST - offset);
        m->size = offset;
        break;
    case 2:
        bale_file_allocate(m->file, BALE_ALLOCATE_PUNCH, offset, length, bale_wait_done, &wait);
        CHECK_EQ(bale_wait_for(&wait), BALE_OK);
        memset(m->bytes + offset, 0, length);
        break;
    default: {
        uint8_t kind = (uint8_t)draw(m, 3), base = (uint8_t)draw(m, 256);
        for (uint64_t i = 0; i < length; i++) {
            m->bytes[offset + i] =
                kind == 0 ? base : (uint8_t)(kind == 1 ? i / 64 + base : draw(m, 256));
        }
        write_at(m, offset, length);
    }
    }
}

static void *recompress_on(void *arg)
{
    static const struct bale_setting settings[] = {{.codec = BALE_CODEC_ZSTD, .parameter = 3},
                                                   {.codec = BALE_CODEC_LZ4, .parameter = 0},
                                                   {.codec = BALE_CODEC_STORE, .parameter = 0},
                                                   {.codec = BALE_CODEC_AUTO, .parameter = 0}};
    struct model *m = arg;

    for (unsigned i = 0; !atomic_load(&m->over); i++) {
        m->rewritten +=
            recompress(m, settings[i % 4].codec, settings[i % 4].parameter, false).rewritten;
    }
    return NULL;
}

static void *model_thread(void *arg)
{
    struct model *m = arg;
    pthread_t thread;

    pthread_create(&thread, NULL, recompress_on, m);
    for (int round = 0; round < ROUNDS; round++) {
        change(m);
        if (round % 50 == 49)
            check_all(m);
    }
    atomic_store(&m->over, true);
    pthread_join(thread, NULL);
    check_all(m);
    volume_file_flush(m->file, true);
    check_all(m);
    CHECK(m->rewritten > 0);
    return NULL;
}

static void check_together(uint64_t seed)
{
    static struct model models[FILES];
    pthread_t threads[FILES];

    for (unsigned i = 0; i < FILES; i++) {
        char name[16];
        models[i].state = 0x9e3779b97f4a7c15u * (seed * FILES + i);
        snprintf(name, sizeof name, "together%u", i);
        open_file(&models[i], name, BALE_CODEC_LZ4);
        pthread_create(&threads[i], NULL, model_thread, &models[i]);
    }
    for (unsigned i = 0; i < FILES; i++) {
        pthread_join(threads[i], NULL);
        close_file(&models[i]);
    }
}

/* Argument: another seed. */
int main(int argc, char **argv)
{
    struct bale_volume_options options = volume_options((uint64_t)32 << 20, 2);
    struct bale_volume_stats stats;

    options.age_ms = 500;
    options.caller_caches = true;
    snprintf(directory, sizeof directory, "/tmp/bale-recompress-XXXXXX");
    REQUIRE(mkdtemp(directory) != NULL);
    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);
    check_codecs();
    check_pieces();
    check_random();
    check_frozen();
    check_busy();
    check_together(argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
    bale_volume_stats(volume, &stats);
    CHECK_EQ_U(stats.errors, 0);
    CHECK_EQ_U(stats.cached, 0);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    rmdir(directory);
    return check_result();
}
