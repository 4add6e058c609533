/* What the actors of power.sh do with a file's data. See power_work.c. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/mount/content.h"
#include "tests/mount/power.h"

static struct blob *now(struct actor *actor, const struct object *object)
{
    return &actor->blobs[power_now(&object->content)];
}

/* The content from now on: the same bytes, cut or extended with zeros. */
static struct blob *change(struct actor *actor, struct object *object, size_t size)
{
    int64_t number = power_blob(actor, size);
    struct blob *blob = &actor->blobs[number];
    const struct blob *before = now(actor, object);

    memcpy(blob->data, before->data, before->size < size ? before->size : size);
    power_push(&object->content, number);
    power_push(&object->mtime, 0);
    return blob;
}

/* A range to be changed, mostly beginning within the file. */
static void range(struct actor *actor, const struct object *object, size_t *offset, size_t *length)
{
    size_t size = now(actor, object)->size;
    size_t most = power_random(actor, 3) ? 5000 : 65536;

    *offset = (size_t)power_random(actor, size + (power_random(actor, 4) ? 1 : 20000));
    *length = 1 + (size_t)power_random(actor, most);
    if (*offset > POWER_SIZE - 1)
        *offset = POWER_SIZE - 1;
    if (*length > POWER_SIZE - *offset)
        *length = POWER_SIZE - *offset;
}

static struct blob *change_range(struct actor *actor, struct object *object, size_t offset,
                                 size_t length)
{
    size_t size = now(actor, object)->size;
    struct blob *blob = change(actor, object, offset + length > size ? offset + length : size);

    content_fill(power_random(actor, 2) ? CONTENT_TEXT : CONTENT_RANDOM, actor->random, offset,
                 blob->data + offset, length);
    return blob;
}

bool power_write(struct actor *actor, struct object *object, int fd)
{
    size_t offset, length;

    range(actor, object, &offset, &length);
    struct blob *blob = change_range(actor, object, offset, length);
    power_note(actor, "  write %zu+%zu", offset, length);
    return pwrite(fd, blob->data + offset, length, (off_t)offset) == (ssize_t)length;
}

/* Syncs what fd is open for, or not. */
bool power_sync_some(struct actor *actor, const struct place *place, int fd)
{
    switch (power_random(actor, 6)) {
    case 0:
        power_note(actor, "  fsync");
        if (fsync(fd) != 0)
            return false;
        power_promise_file(actor, place);
        return true;
    case 1:
        power_note(actor, "  fdatasync");
        if (fdatasync(fd) != 0)
            return false;
        power_promise_data(actor, place);
        return true;
    default:
        return true;
    }
}

/* Leaves some open: their data waits for a sync or for the age limit. good: whether all went well
 * so far. */
bool power_leave(struct actor *actor, int fd, bool good)
{
    int *held = &actor->held[power_random(actor, POWER_HELD)];

    if (good && power_random(actor, 3) == 0) {
        int before = *held;
        *held = fd;
        fd = before;
    }
    if (fd >= 0 && close(fd) != 0)
        good = false;
    return good;
}

static bool write_file(struct actor *actor, const struct place *place)
{
    static const int how[] = {0, 0, 0, O_SYNC, O_DSYNC};
    unsigned kind = (unsigned)power_random(actor, 5);
    struct power_path path = power_path_of(actor, place);

    power_note(actor, "open %s%s", place->path,
               how[kind] == O_SYNC ? " O_SYNC" : (how[kind] ? " O_DSYNC" : ""));
    int fd = open(path.text, O_RDWR | O_CLOEXEC | how[kind]);
    bool good = fd >= 0 && power_write(actor, place->object, fd);

    if (good && how[kind] == O_SYNC)
        power_promise_file(actor, place);
    else if (good && how[kind])
        power_promise_data(actor, place);
    good = good && (power_random(actor, 3) || power_write(actor, place->object, fd));
    if (good && how[kind])
        power_promise_data(actor, place);
    good = good && power_sync_some(actor, place, fd);
    return power_leave(actor, fd, good);
}

static bool append_file(struct actor *actor, const struct place *place)
{
    struct power_path path = power_path_of(actor, place);

    power_note(actor, "append %s", place->path);
    int fd = open(path.text, O_WRONLY | O_APPEND | O_CLOEXEC);
    bool good = fd >= 0;

    for (unsigned i = 0; good && i < 3; i++) {
        size_t size = now(actor, place->object)->size;
        size_t length = 1 + (size_t)power_random(actor, 3000);
        if (size + length > POWER_SIZE)
            break;
        struct blob *blob = change_range(actor, place->object, size, length);
        power_note(actor, "  append %zu", length);
        good = write(fd, blob->data + size, length) == (ssize_t)length;
    }
    good = good && power_sync_some(actor, place, fd);
    return power_leave(actor, fd, good);
}

static _Thread_local sigjmp_buf no_page;

static void no_page_now(int signal_number)
{
    (void)signal_number;
    siglongjmp(no_page, 1);
}

/* False: a page could not be read. */
static bool copy_to_map(uint8_t *map, const uint8_t *data, size_t length)
{
    struct sigaction action = {.sa_handler = no_page_now};

    sigaction(SIGBUS, &action, NULL);
    if (sigsetjmp(no_page, 1) != 0) {
        errno = EIO;
        return false;
    }
    memcpy(map, data, length);
    return true;
}

static bool map_file(struct actor *actor, const struct place *place)
{
    struct power_path path = power_path_of(actor, place);
    size_t size = now(actor, place->object)->size;
    size_t offset, length;

    if (size == 0)
        return true;
    offset = (size_t)power_random(actor, size);
    length = 1 + (size_t)power_random(actor, size - offset);
    int fd = open(path.text, O_RDWR | O_CLOEXEC);
    uint8_t *map =
        fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    bool good = map != MAP_FAILED;
    if (good) {
        struct versions *content = &place->object->content;
        struct blob *blob = change_range(actor, place->object, offset, length);
        int64_t number = power_now(content);
        content->v[content->count - 1] = -1; /* until the sync any mixture of both may be found */
        power_push(content, number);
        power_note(actor, "map %s %zu+%zu, msync", place->path, offset, length);
        good = copy_to_map(map + offset, blob->data + offset, length) &&
               msync(map, size, MS_SYNC) == 0;
        munmap(map, size);
    }
    if (good)
        power_promise_data(actor, place);
    if (fd >= 0)
        close(fd);
    return good;
}

static bool allocate_file(struct actor *actor, const struct place *place)
{
    static const int how[] = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              FALLOC_FL_ZERO_RANGE};
    unsigned kind = (unsigned)power_random(actor, 4);
    struct power_path path = power_path_of(actor, place);
    size_t offset, length;

    range(actor, place->object, &offset, &length);
    size_t size = now(actor, place->object)->size;
    size_t end = how[kind] & FALLOC_FL_KEEP_SIZE || offset + length < size ? size : offset + length;
    struct blob *blob = change(actor, place->object, end);
    size_t zeros = offset + length < end ? length : end - (offset < end ? offset : end);
    if (kind >= 2)
        memset(blob->data + (offset < end ? offset : end), 0, zeros);
    power_note(actor, "fallocate %s kind %u %zu+%zu", place->path, kind, offset, length);
    int fd = open(path.text, O_RDWR | O_CLOEXEC);
    bool good = fd >= 0 && fallocate(fd, how[kind], (off_t)offset, (off_t)length) == 0 &&
                power_sync_some(actor, place, fd);
    return power_leave(actor, fd, good);
}

static bool truncate_file(struct actor *actor, const struct place *place)
{
    struct power_path path = power_path_of(actor, place);
    size_t size = (size_t)power_random(actor, now(actor, place->object)->size + 10000) % POWER_SIZE;

    if (power_random(actor, 4) == 0)
        size = 0;
    change(actor, place->object, size);
    power_note(actor, "truncate %s %zu", place->path, size);
    return truncate(path.text, (off_t)size) == 0;
}

bool power_data(struct actor *actor, const struct place *place, unsigned kind)
{
    if (kind < 14)
        return write_file(actor, place);
    if (kind < 20)
        return append_file(actor, place);
    if (kind < 24)
        return map_file(actor, place);
    if (kind < 29)
        return allocate_file(actor, place);
    return truncate_file(actor, place);
}
