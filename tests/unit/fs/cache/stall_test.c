/* A backing file system that stalls. Writes that do take no thread of the engine's: it decodes what
 * others read meanwhile; and a file that has nothing to store is closed. Flushes that come meanwhile
 * store everything that was written before them. Nor do closes keep others
 * from reading whose callers write. Reads of a file's index keep nobody from its attributes. */
#include "kernels/base/working_for.h"
#include "tests/unit/fs/cache/stall.h"

#define RAW 4096
#define PAGED_MIB 16

/* ---- Items of the engine's ---- */

static void post(struct bale_item *item)
{
    sem_post(item->owner);
}

/* False: the engine did not do it. */
static bool engine_does(struct bale_item *item)
{
    sem_t done;

    sem_init(&done, 0, 0);
    item->done = post;
    item->owner = &done;
    item->priority = BALE_PRIORITY_NORMAL;
    bale_engine_submit(volume->engine, item);
    return posted(&done) && item->status == BALE_OK;
}

/* ---- Files ---- */

/* Each is the user's. */
static void write_files(struct bale_file **files, const uint32_t *users)
{
    for (int i = 0; i < FILES; i++) {
        char name[12];
        snprintf(name, sizeof name, "%d", i);
        bale_working_for = users[i];
        files[i] = open_last(name);
        write_mib(files[i], 1);
    }
}

static void begin_flushes(struct bale_file **files, struct bale_wait *waits)
{
    for (int i = 0; i < FILES; i++) {
        waits[i] = (struct bale_wait)BALE_WAIT;
        bale_file_flush(files[i], false, bale_wait_done, &waits[i]);
    }
}

static void end_flushes(struct bale_file **files, struct bale_wait *waits)
{
    for (int i = 0; i < FILES; i++) {
        CHECK_EQ(bale_wait_for(&waits[i]), BALE_OK);
        volume_file_close(files[i]);
    }
}

/* ---- Cases ---- */

static void decodes_meanwhile(void)
{
    static const uint32_t users[FILES] = {1000, 1001, 1002, 1003};
    static uint8_t raw[RAW], stored[2 * RAW];
    struct bale_wait waits[FILES];
    struct bale_file *files[FILES];
    struct bale_item item = {
        .kind = BALE_ITEM_ENCODE,
        .turn.user = 1,
        .setting = {.codec = BALE_CODEC_LZ4},
        .frame = {.raw_length = RAW, .chunk_log2 = 16},
        .raw = raw,
        .stored = stored,
        .capacity = sizeof stored,
    };

    CHECK(engine_does(&item));
    write_files(files, users);
    stall(&writes_stall);
    begin_flushes(files, waits);
    for (unsigned i = 0; i < 2; i++)
        sem_wait(&entered);
    item.kind = BALE_ITEM_DECODE;
    CHECK(engine_does(&item));
    let_go();
    end_flushes(files, waits);
}

/* A flush that comes while another one is under way stores what was written meanwhile, too. */
static void flushes_meanwhile(void)
{
    struct bale_file *file = open_last("flushed");
    struct bale_wait waits[3];
    struct bale_file_attr attr;

    write_mib(file, 1);
    stall(&writes_stall);
    for (int i = 0; i < 3; i++) {
        waits[i] = (struct bale_wait)BALE_WAIT;
        if (i == 2)
            volume_file_write(file, MIB, data, RAW);
        bale_file_flush(file, false, bale_wait_done, &waits[i]);
        if (i == 0)
            sem_wait(&entered);
    }
    let_go();
    for (int i = 0; i < 3; i++)
        CHECK_EQ(bale_wait_for(&waits[i]), BALE_OK);
    bale_file_attr(file, &attr);
    CHECK_EQ_U(attr.dirty, 0);
    CHECK_EQ_U(attr.container.size, MIB + RAW);
    volume_file_close(file);
}

static void note_closed(void *arg, bool written, const struct stat *last)
{
    (void)written;
    (void)last;
    sem_post(arg);
}

static void note_read(void *arg, int64_t result)
{
    CHECK_EQ(result, RAW);
    sem_post(arg);
}

/* All by one user: what he has open and did not write to is his as well. */
static void closes_meanwhile(void)
{
    const uint32_t user = getuid(), users[FILES] = {user, user, user, user};
    struct bale_file *files[FILES], *clean;
    struct bale_wait waits[FILES];
    sem_t closed;

    sem_init(&closed, 0, 0);
    clean = open_last("clean");
    write_files(files, users);
    stall(&writes_stall);
    begin_flushes(files, waits);
    for (unsigned i = 0; i < FILES; i++)
        sem_wait(&entered);
    bale_file_on_close(clean, note_closed, &closed);
    bale_file_unref(clean);
    CHECK(posted(&closed));
    let_go();
    end_flushes(files, waits);
}

static void write_when_closed(void *arg, bool written, const struct stat *last)
{
    (void)written;
    (void)last;
    sem_post(&entered);
    sem_wait(&go);
    sem_post(arg);
}

/* Closes that store nothing, of which whoever is told writes, while others miss the cache. */
static void reads_beside_closes(void)
{
    struct bale_file *files[FILES], *read_file;
    struct bale_read read;
    sem_t closed, done;

    sem_init(&closed, 0, 0);
    sem_init(&done, 0, 0);
    bale_working_for = getuid();
    read_file = open_file("read");
    write_mib(read_file, 1);
    volume_file_close(read_file);
    read_file = open_last("read");
    sem_init(&entered, 0, 0);
    sem_init(&go, 0, 0);
    for (int i = 0; i < FILES; i++) {
        char name[12];
        snprintf(name, sizeof name, "%d", i);
        files[i] = open_last(name);
        bale_file_on_close(files[i], write_when_closed, &closed);
        bale_file_close_writes(files[i]);
        bale_file_unref(files[i]);
    }
    for (int i = 0; i < FILES; i++)
        sem_wait(&entered);
    bale_file_read(read_file, 0, RAW, &read, note_read, &done);
    CHECK(posted(&done));
    bale_read_release(&read);
    let_go();
    for (int i = 0; i < FILES; i++)
        sem_wait(&closed);
    volume_file_close(read_file);
}

struct asking {
    struct bale_file *file;
    struct bale_file_attr attr;
    sem_t done;
};

static void *ask_thread(void *arg)
{
    struct asking *asking = arg;

    bale_file_attr(asking->file, &asking->attr);
    sem_post(&asking->done);
    return NULL;
}

/* The file's index has many pages, of which an open reads the first. */
static void attributes_meanwhile(void)
{
    struct bale_wait wait = BALE_WAIT;
    struct asking asking;
    struct bale_read read;
    pthread_t thread;

    asking.file = open_file("paged");
    write_mib(asking.file, PAGED_MIB);
    volume_file_close(asking.file);
    asking.file = open_last("paged");
    sem_init(&asking.done, 0, 0);
    stall(&reads_stall);
    bale_file_read(asking.file, (PAGED_MIB - 1) * MIB, 4096, &read, bale_wait_done, &wait);
    sem_wait(&entered);
    REQUIRE(pthread_create(&thread, NULL, ask_thread, &asking) == 0);
    CHECK(posted(&asking.done));
    CHECK_EQ_U(asking.attr.size, PAGED_MIB * MIB);
    let_go();
    CHECK_EQ(bale_wait_for(&wait), 4096);
    bale_read_release(&read);
    pthread_join(thread, NULL);
    volume_file_close(asking.file);
}

int main(void)
{
    stall_begin();
    decodes_meanwhile();
    flushes_meanwhile();
    closes_meanwhile();
    reads_beside_closes();
    attributes_meanwhile();
    stall_end();
    return check_result();
}
