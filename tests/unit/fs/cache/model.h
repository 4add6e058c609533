/* One file of a volume, and the bytes that it must hold. */
#ifndef BALE_TESTS_UNIT_FS_CACHE_MODEL_H
#define BALE_TESTS_UNIT_FS_CACHE_MODEL_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "tests/support/volume.h"

#define SIZE_MOST ((uint64_t)12 << 20)

static struct bale_volume *volume;
static char directory[64];

struct model {
    char path[96];
    struct bale_file *file;
    uint8_t *bytes;
    uint64_t size;
    uint32_t extent;
    uint64_t state;
};

static inline uint64_t draw(struct model *m, uint64_t below)
{
    m->state ^= m->state << 13;
    m->state ^= m->state >> 7;
    m->state ^= m->state << 17;
    return m->state % below;
}

static inline void open_file(struct model *m)
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

static inline void close_file(struct model *m)
{
    volume_file_close(m->file);
    m->file = NULL;
}

static inline void check_range(struct model *m, uint64_t offset, size_t length)
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

/* Makes the volume and a directory for its files. */
static inline void model_begin(bool caller_caches)
{
    struct bale_volume_options options = volume_options((uint64_t)32 << 20, 2);

    options.age_ms = 500;
    options.caller_caches = caller_caches;
    snprintf(directory, sizeof directory, "/tmp/bale-file-test-XXXXXX");
    REQUIRE(mkdtemp(directory) != NULL);
    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);
}

static inline void model_end(void)
{
    struct bale_volume_stats stats;

    bale_volume_stats(volume, &stats);
    CHECK_EQ(stats.errors, 0u);
    CHECK(stats.memory_used <= stats.memory_cap);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    rmdir(directory);
}

#endif
