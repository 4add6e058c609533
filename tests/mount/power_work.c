/* What the actors of power.sh do. Every change is noted as possible before it is tried, and as
 * promised after a sync said so. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/content.h"
#include "tests/mount/power.h"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2u
#endif

enum want { FREE, REGULAR, DIRECTORY, NO_DIRECTORY, ANY };

struct path {
    char text[POWER_PATH];
};

static struct path path_of(const struct actor *actor, const struct place *place)
{
    struct path path;

    snprintf(path.text, sizeof path.text, "%.4090s%s", actor->top, place ? place->path : "");
    return path;
}

static bool is_wanted(const struct place *place, enum want want)
{
    const struct object *object = place->object;

    switch (want) {
    case FREE:
        return !object;
    case REGULAR:
        return object && S_ISREG(object->type);
    case DIRECTORY:
        return object && S_ISDIR(object->type);
    case NO_DIRECTORY:
        return object && !S_ISDIR(object->type);
    default:
        return object;
    }
}

/* False: there is none. */
static bool pick(struct actor *actor, enum want want, struct place *place)
{
    power_list(actor);
    size_t at = (size_t)power_random(actor, actor->places_count);
    for (size_t i = 0; i < actor->places_count; i++) {
        *place = actor->places[(at + i) % actor->places_count];
        if (is_wanted(place, want))
            return true;
    }
    return false;
}

static bool learn_ino(struct object *object, const char *path)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return false;
    object->ino = st.st_ino;
    return true;
}

/* ---- Data ---- */

static struct blob *now(struct actor *actor, const struct object *object)
{
    return &actor->blobs[power_now(&object->content)];
}

/* The content from now on: what it was, of another size. */
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

static bool write_range(struct actor *actor, struct object *object, int fd)
{
    size_t offset, length;

    range(actor, object, &offset, &length);
    struct blob *blob = change_range(actor, object, offset, length);
    power_note(actor, "  write %zu+%zu", offset, length);
    return pwrite(fd, blob->data + offset, length, (off_t)offset) == (ssize_t)length;
}

/* Syncs what fd is open for, or not. */
static bool sync_some(struct actor *actor, const struct place *place, int fd)
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

/* Some stay open: their data waits for a sync or for its age. good: so far. */
static bool leave(struct actor *actor, int fd, bool good)
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
    struct path path = path_of(actor, place);
    power_note(actor, "open %s%s", place->path,
               how[kind] == O_SYNC ? " O_SYNC" : (how[kind] ? " O_DSYNC" : ""));
    int fd = open(path.text, O_RDWR | O_CLOEXEC | how[kind]);
    bool good = fd >= 0 && write_range(actor, place->object, fd);

    if (good && how[kind] == O_SYNC)
        power_promise_file(actor, place);
    else if (good && how[kind])
        power_promise_data(actor, place);
    good = good && (power_random(actor, 3) || write_range(actor, place->object, fd));
    if (good && how[kind])
        power_promise_data(actor, place);
    good = good && sync_some(actor, place, fd);
    return leave(actor, fd, good);
}

static bool append_file(struct actor *actor, const struct place *place)
{
    struct path path = path_of(actor, place);
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
    good = good && sync_some(actor, place, fd);
    return leave(actor, fd, good);
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
    struct path path = path_of(actor, place);
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
        content->v[content->count - 1] = -1; /* until the sync, any mixture */
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
    struct path path = path_of(actor, place);
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
                sync_some(actor, place, fd);
    return leave(actor, fd, good);
}

static bool truncate_file(struct actor *actor, const struct place *place)
{
    struct path path = path_of(actor, place);
    size_t size = (size_t)power_random(actor, now(actor, place->object)->size + 10000) % POWER_SIZE;

    if (power_random(actor, 4) == 0)
        size = 0;
    change(actor, place->object, size);
    power_note(actor, "truncate %s %zu", place->path, size);
    return truncate(path.text, (off_t)size) == 0;
}

/* ---- Attributes ---- */

static bool change_attribute(struct actor *actor, const struct place *place)
{
    struct path path = path_of(actor, place);
    struct object *object = place->object;
    int64_t value = 1 + (int64_t)power_random(actor, 500);
    char text[32];

    switch (power_random(actor, S_ISREG(object->type) ? 5 : 4)) {
    case 0:
        power_push(&object->mode, (value & 0777) | 0400);
        power_note(actor, "chmod %s %03o", place->path, (unsigned)power_now(&object->mode));
        return chmod(path.text, (mode_t)power_now(&object->mode)) == 0;
    case 1:
        power_push(&object->owner, value);
        power_note(actor, "chown %s %jd", place->path, (intmax_t)value);
        return chown(path.text, (uid_t)value, (gid_t)value) == 0;
    case 2:
        power_push(&object->attribute, value);
        power_note(actor, "setfattr %s %jd", place->path, (intmax_t)value);
        snprintf(text, sizeof text, "%jd", (intmax_t)value);
        return setxattr(path.text, "user.v", text, strlen(text), 0) == 0;
    case 3:
        power_push(&object->attribute, 0);
        power_note(actor, "setfattr -x %s", place->path);
        return removexattr(path.text, "user.v") == 0 || errno == ENODATA;
    default: {
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = value}};
        power_push(&object->mtime, value);
        power_note(actor, "touch %s %jd", place->path, (intmax_t)value);
        return utimensat(AT_FDCWD, path.text, times, 0) == 0;
    }
    }
}

/* ---- Names ---- */

static bool make_file(struct actor *actor, const struct place *place)
{
    mode_t mode = 0600 | (mode_t)power_random(actor, 0200);
    struct object *object = power_object(actor, S_IFREG, mode);
    struct place made = *place;
    struct path path = path_of(actor, place);
    bool nameless = power_random(actor, 5) == 0;
    bool good;
    int fd;

    made.object = object;
    power_note(actor, "%s %s", nameless ? "link a nameless" : "create", place->path);
    if (nameless) {
        struct path dir = path;
        char self[32];
        *strrchr(dir.text, '/') = '\0';
        fd = open(dir.text, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
        good = fd >= 0 && write_range(actor, object, fd);
        power_push(&place->dir->names[place->name], object->number);
        snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
        good = good && linkat(AT_FDCWD, self, AT_FDCWD, path.text, AT_SYMLINK_FOLLOW) == 0 &&
               learn_ino(object, path.text);
    } else {
        power_push(&place->dir->names[place->name], object->number);
        fd = open(path.text, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
        good = fd >= 0 && learn_ino(object, path.text) &&
               (power_random(actor, 4) == 0 || write_range(actor, object, fd));
    }
    good = good && sync_some(actor, &made, fd);
    return leave(actor, fd, good);
}

static bool make_other(struct actor *actor, const struct place *place)
{
    struct path path = path_of(actor, place);
    bool dir = place->depth < POWER_DEPTH && power_random(actor, 3);
    struct object *object = power_object(actor, dir ? S_IFDIR : S_IFLNK, dir ? 0755 : 0777);

    power_push(&place->dir->names[place->name], object->number);
    power_note(actor, "%s %s", dir ? "mkdir" : "symlink", place->path);
    snprintf(object->target, sizeof object->target, "to-%ju", (uintmax_t)actor->random);
    if ((dir ? mkdir(path.text, 0755) : symlink(object->target, path.text)) != 0)
        return false;
    return learn_ino(object, path.text);
}

static bool remove_name(struct actor *actor, const struct place *place)
{
    struct path path = path_of(actor, place);
    struct object *object = place->object;
    bool dir = S_ISDIR(object->type);

    for (unsigned i = 0; dir && i < POWER_NAMES; i++)
        if (power_now(&object->names[i]) >= 0)
            return true;
    power_push(&place->dir->names[place->name], -1);
    power_note(actor, "%s %s", dir ? "rmdir" : "unlink", place->path);
    power_promise_less(actor, object);
    return (dir ? rmdir(path.text) : unlink(path.text)) == 0;
}

static bool link_file(struct actor *actor, const struct place *from, const struct place *to)
{
    struct path path = path_of(actor, from), new_path = path_of(actor, to);

    power_push(&to->dir->names[to->name], from->object->number);
    power_note(actor, "link %s %s", from->path, to->path);
    return link(path.text, new_path.text) == 0;
}

/* to: free, or what is replaced or exchanged. */
static bool rename_file(struct actor *actor, const struct place *from, const struct place *to)
{
    struct path path = path_of(actor, from), new_path = path_of(actor, to);
    struct object *object = from->object, *replaced = to->object;
    unsigned flags = replaced && power_random(actor, 2) ? RENAME_EXCHANGE : 0;

    if (object == replaced)
        return true;
    power_push(&from->dir->names[from->name], flags ? replaced->number : -1);
    power_push(&to->dir->names[to->name], object->number);
    power_note(actor, "%s %s %s", flags ? "exchange" : "rename", from->path, to->path);
    if (replaced)
        power_promise_less(actor, replaced);
    return syscall(SYS_renameat2, AT_FDCWD, path.text, AT_FDCWD, new_path.text, flags) == 0;
}

/* Only to a free name beside it: no directory comes to lie below itself. */
static bool rename_dir(struct actor *actor, const struct place *from)
{
    for (size_t i = 0; i < actor->places_count; i++) {
        const struct place to = actor->places[i];
        if (!to.object && to.depth == from->depth && to.dir != from->object)
            return rename_file(actor, from, &to);
    }
    return true;
}

/* ---- Syncs ---- */

static bool sync_place(struct actor *actor, const struct place *place)
{
    bool dir = !place || S_ISDIR(place->object->type);
    struct path path = path_of(actor, place);
    int fd = open(path.text, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;

    power_note(actor, "fsync %s", place ? place->path : "/");
    if (good && dir)
        power_promise_dir(actor, place);
    else if (good)
        power_promise_file(actor, place);
    if (fd >= 0)
        close(fd);
    return good;
}

/* Not syncfs(): the kernel keeps it from file systems of this kind. */
static bool sync_all(struct actor *actor)
{
    power_note(actor, "balefs sync");
    if (system("\"$BALEFS\" sync \"$POWER_MNT\" 2>/dev/null") != 0)
        return false;
    power_promise_all(actor);
    return true;
}

static bool step_data(struct actor *actor, uint64_t kind)
{
    struct place place;

    if (!pick(actor, REGULAR, &place))
        return true;
    if (kind < 14)
        return write_file(actor, &place);
    if (kind < 20)
        return append_file(actor, &place);
    if (kind < 24)
        return map_file(actor, &place);
    if (kind < 29)
        return allocate_file(actor, &place);
    return truncate_file(actor, &place);
}

static bool step_name(struct actor *actor, uint64_t kind)
{
    enum want want = kind < 54 ? FREE : (kind < 58 ? ANY : NO_DIRECTORY);
    struct place place, to;

    if (!pick(actor, want, &place))
        return true;
    if (kind < 46)
        return make_file(actor, &place);
    if (kind < 54)
        return make_other(actor, &place);
    if (kind < 58)
        return remove_name(actor, &place);
    if (!pick(actor, kind < 62 || power_random(actor, 2) ? FREE : NO_DIRECTORY, &to))
        return true;
    return kind < 62 ? link_file(actor, &place, &to) : rename_file(actor, &place, &to);
}

bool power_step(struct actor *actor)
{
    uint64_t kind = power_random(actor, 100);
    struct place place;

    if (kind < 34)
        return step_data(actor, kind);
    if (kind < 70)
        return step_name(actor, kind);
    if (kind < 73)
        return !pick(actor, DIRECTORY, &place) || rename_dir(actor, &place);
    if (kind < 86)
        return !pick(actor, power_random(actor, 4) ? REGULAR : DIRECTORY, &place) ||
               change_attribute(actor, &place);
    if (kind < 92)
        return !pick(actor, REGULAR, &place) || sync_place(actor, &place);
    if (kind < 97)
        return sync_place(actor, pick(actor, DIRECTORY, &place) ? &place : NULL);
    return sync_all(actor);
}
