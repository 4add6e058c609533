/* A container that follows a writer: what was replaced is read again by the newest root, and only
 * what that refers to can be damaged. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/container.h"
#include "tests/check.h"
#include "tests/support/rig.h"

#define SIZE 300000

static const struct bale_container_attr defaults = {.extent = BALE_EXTENT_MIN,
                                                    .setting = {.codec = BALE_CODEC_LZ4}};

struct reader {
    struct bale_container_config config;
    struct bale_container *container;
};

static void reader_open(struct reader *reader, struct rig *rig)
{
    *reader = (struct reader){.config = rig->config};
    reader->config.writable = false;
    reader->config.follows = true;
    REQUIRE(bale_container_open(memory_io_open(&rig->file), &reader->config, &defaults,
                                &reader->container, NULL) == BALE_OK);
}

static int try_read(struct reader *reader, struct rig *rig, uint64_t at, uint32_t length,
                    uint8_t *data)
{
    struct bale_segment segment;
    int err;

    do {
        err = bale_container_map(reader->container, at, &segment);
        if (err == BALE_OK)
            err = bale_container_read(reader->container, rig->scratch, &segment, at, length, data,
                                      NULL);
    } while (err == BALE_E_STALE);
    return err;
}

/* The reader gives what the model has in the first bytes. */
static void shows_model(struct reader *reader, struct rig *rig)
{
    uint8_t data[1000];

    CHECK_EQ(try_read(reader, rig, 0, sizeof data, data), BALE_OK);
    CHECK_EQ_MEM(data, rig->model, sizeof data);
}

static void rewrite(struct rig *rig)
{
    CHECK_EQ(rig_begin(rig), BALE_OK);
    CHECK_EQ(rig_write(rig, 0, BALE_EXTENT_MIN), BALE_OK);
    rig_commit(rig, true);
}

static uint64_t size_of(struct reader *reader)
{
    struct bale_container_attr attr;

    bale_container_attr(reader->container, &attr);
    return attr.size;
}

static void start(struct rig *rig)
{
    rig_start(rig, SIZE);
    rig->incompressible = true;
    rewrite(rig);
}

static void test_moves(void)
{
    struct bale_container_attr attr;
    struct reader reader;
    struct rig rig;

    start(&rig);
    reader_open(&reader, &rig);
    shows_model(&reader, &rig);
    CHECK_EQ(bale_container_follow(reader.container), 0);
    uint64_t epoch = bale_container_epoch(reader.container, NULL);
    uint32_t stamp = bale_container_stamp(reader.container);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, BALE_EXTENT_MIN, 5000), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ_U(size_of(&reader), BALE_EXTENT_MIN);
    CHECK_EQ(bale_container_follow(reader.container), 1);
    CHECK_EQ_U(size_of(&reader), BALE_EXTENT_MIN + 5000);
    CHECK(bale_container_epoch(reader.container, &attr) != epoch);
    CHECK_EQ_U(attr.size, BALE_EXTENT_MIN + 5000);
    CHECK(bale_container_stamp(reader.container) != stamp);
    CHECK_EQ(bale_container_follow(reader.container), 0);
    shows_model(&reader, &rig);
    bale_container_close(reader.container);
    rig_clear(&rig);
}

/* The space of what the reader knows is used again, many times, and given back. */
static void test_reused(void)
{
    struct reader reader;
    struct rig rig;

    start(&rig);
    reader_open(&reader, &rig);
    for (int i = 0; i < 50; i++) {
        for (int commits = 0; commits < 2 + i % 4; commits++)
            rewrite(&rig);
        shows_model(&reader, &rig);
    }
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 8 * BALE_EXTENT_MIN), BALE_OK);
    rig_commit(&rig, true);
    rewrite(&rig);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, 1000), BALE_OK);
    rig_commit(&rig, true);
    rewrite(&rig);
    rewrite(&rig);
    CHECK_EQ(bale_container_trim(rig.container), BALE_OK);
    shows_model(&reader, &rig);
    CHECK_EQ_U(size_of(&reader), rig.size);
    bale_container_close(reader.container);
    rig_clear(&rig);
}

/* A file that loses its root is an empty one, and gets another. */
static void test_emptied(void)
{
    struct reader reader;
    struct rig rig;

    start(&rig);
    reader_open(&reader, &rig);
    uint8_t *bytes = malloc(rig.file.size);
    size_t size = rig.file.size;
    REQUIRE(bytes);
    memcpy(bytes, rig.file.bytes, size);
    rig.file.size = 0;
    CHECK_EQ(bale_container_follow(reader.container), 1);
    CHECK_EQ_U(size_of(&reader), 0);
    memory_file_write(&rig.file, bytes, size, 0);
    CHECK_EQ(bale_container_follow(reader.container), 1);
    shows_model(&reader, &rig);
    free(bytes);
    bale_container_close(reader.container);
    rig_clear(&rig);
}

/* While a root is written, half of it may be there: the reader stays where it is. */
static void test_torn(void)
{
    static const uint8_t torn[BALE_DATA_START / 2] = {'B', 'A', 'L', 'E'};
    struct reader reader;
    struct rig rig;
    uint8_t head[BALE_DATA_START];

    start(&rig);
    rewrite(&rig);
    reader_open(&reader, &rig);
    for (size_t slot = 0; slot < 2; slot++) {
        memcpy(head, rig.file.bytes, sizeof head);
        memory_file_write(&rig.file, torn, sizeof torn, slot * sizeof torn);
        CHECK(bale_container_follow(reader.container) <= 0);
        shows_model(&reader, &rig);
        memory_file_write(&rig.file, head, sizeof head, 0);
        CHECK_EQ(bale_container_follow(reader.container), 0);
    }
    bale_container_close(reader.container);
    rig_clear(&rig);
}

/* What the newest root refers to is damaged, and stays so. */
static void test_damaged(void)
{
    struct reader reader;
    struct rig rig;
    uint8_t data[1000];

    start(&rig);
    reader_open(&reader, &rig);
    for (size_t at = BALE_DATA_START; at < rig.file.size; at += 100)
        rig.file.bytes[at] ^= 0x55;
    CHECK_EQ(try_read(&reader, &rig, 0, sizeof data, data), BALE_E_CORRUPT);
    CHECK_EQ(bale_container_follow(reader.container), 0);
    bale_container_close(reader.container);
    rig_clear(&rig);
}

int main(void)
{
    test_moves();
    test_reused();
    test_emptied();
    test_torn();
    test_damaged();
    return check_result();
}
