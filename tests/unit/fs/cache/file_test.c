/* Files at work against arrays of bytes: random reads, writes, truncations, holes, flushes, syncs
 * and reopenings, from several threads on files of their own and on a shared one, with little
 * memory so that eviction and waiting happen. */
#include <pthread.h>

#include "tests/unit/fs/cache/model.h"

#define THREADS 4

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
    volume_file_write(m->file, offset, data, length);
    memcpy(m->bytes + offset, data, length);
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

static void check_volume(uint64_t seed, bool caller_caches)
{
    static const uint32_t extents[THREADS] = {131072, 16384, 1 << 20, 300 * 1024};
    struct model models[THREADS] = {0};
    pthread_t threads[THREADS];

    model_begin(caller_caches);
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
    model_end();
}

/* Arguments: another seed; --few. */
int main(int argc, char **argv)
{
    if (check_few(&argc, argv))
        rounds = 600;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;

    check_volume(seed, false);
    check_volume(seed, true);
    return check_result();
}
