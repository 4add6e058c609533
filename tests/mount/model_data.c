/* Operations on one open file, done on both sides and compared. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/content.h"
#include "tests/mount/model.h"

#define PAGE ((uint64_t)4096)
#define USUAL_MAX ((uint64_t)3 << 20)

struct outcome {
    int64_t value;
    int error;
};

/* Runs a call for each side; "side" may stand in it. */
#define BOTH(outcomes, call)                                                                       \
    do {                                                                                           \
        for (unsigned side = 0; side < SIDES; side++) {                                            \
            errno = 0;                                                                             \
            (outcomes)[side].value = (int64_t)(call);                                              \
            (outcomes)[side].error = (outcomes)[side].value < 0 ? errno : 0;                       \
        }                                                                                          \
    } while (0)

static bool agree(struct model_actor *actor, const char *what, const struct outcome *o)
{
    if (o[MOUNT].value == o[PLAIN].value && o[MOUNT].error == o[PLAIN].error)
        return true;
    model_fail(actor, "%s: mount %jd (%s), plain %jd (%s)", what, (intmax_t)o[MOUNT].value,
               strerror(o[MOUNT].error), (intmax_t)o[PLAIN].value, strerror(o[PLAIN].error));
    return false;
}

bool model_handle_open(struct model_actor *actor, struct model_handle *handle, const char *name,
                       int flags)
{
    struct outcome o[SIDES];

    model_handle_close(actor, handle);
    model_note(actor, "open %s flags %#x", name, (unsigned)flags);
    BOTH(o, handle->fd[side] = openat(actor->root[side], name, flags | O_CLOEXEC, 0644));
    for (unsigned side = 0; side < SIDES; side++)
        o[side].value = o[side].value < 0 ? -1 : 0;
    handle->append = flags & O_APPEND;
    return agree(actor, "open", o) && o[MOUNT].value == 0;
}

void model_handle_close(struct model_actor *actor, struct model_handle *handle)
{
    struct outcome o[SIDES];

    if (handle->fd[MOUNT] >= 0 && handle->fd[PLAIN] >= 0) {
        model_note(actor, "close");
        BOTH(o, close(handle->fd[side]));
        agree(actor, "close", o);
    }
    handle->fd[MOUNT] = handle->fd[PLAIN] = -1;
}

uint64_t model_size(const struct model_handle *handle)
{
    struct stat st;

    return fstat(handle->fd[PLAIN], &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Lengths as programs write them: crumbs, pages, much. */
static uint64_t some_length(struct model_actor *actor)
{
    unsigned kind = (unsigned)model_random(actor, 100);

    if (kind < 30)
        return 1 + model_random(actor, 300);
    if (kind < 55)
        return 1 + model_random(actor, 8192);
    if (kind < 75)
        return 4096 * (1 + model_random(actor, 40));
    if (kind < 95)
        return 1 + model_random(actor, 200000);
    return 1 + model_random(actor, MODEL_BUFFER);
}

static uint64_t some_offset(struct model_actor *actor, const struct model_handle *handle)
{
    uint64_t size = model_size(handle);
    uint64_t most = size + 200000 < USUAL_MAX ? size + 200000 : USUAL_MAX;

    if (model_chance(actor, 2))
        return model_random(actor, (uint64_t)1 << 38);
    if (model_chance(actor, 15))
        return size;
    uint64_t offset = model_random(actor, most);
    return model_chance(actor, 40) ? offset & ~(uint64_t)4095 : offset;
}

static void some_bytes(struct model_actor *actor, uint8_t *out, size_t length)
{
    unsigned kind = (unsigned)model_random(actor, 10);

    if (kind == 0)
        memset(out, 0, length);
    else if (kind == 1)
        memset(out, (int)model_random(actor, 256), length);
    else
        content_fill(kind < 5 ? CONTENT_RANDOM : CONTENT_TEXT, actor->random, 0, out, length);
}

static void write_at(struct model_actor *actor, struct model_handle *handle, uint64_t offset,
                     size_t length)
{
    struct outcome o[SIDES];
    struct stat st;
    const uint8_t *data = actor->buffer[MOUNT];
    bool append = handle->append && model_chance(actor, 50);

    some_bytes(actor, actor->buffer[MOUNT], length);
    model_note(actor, "%s %zu at %ju", append ? "append" : "write", length, (uintmax_t)offset);
    BOTH(o, append ? write(handle->fd[side], data, length)
                   : pwrite(handle->fd[side], data, length, (off_t)offset));
    if (agree(actor, "write", o) && model_chance(actor, 10)) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        if (fstat(handle->fd[MOUNT], &st) != 0 || st.st_mtim.tv_sec > now.tv_sec + 1 ||
            st.st_mtim.tv_sec + 60 < now.tv_sec)
            model_fail(actor, "mtime after a write: %jd, now %jd", (intmax_t)st.st_mtim.tv_sec,
                       (intmax_t)now.tv_sec);
    }
}

/* Past the kernel's cache, as the daemon has it. */
static int reopen_direct(int fd)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
}

/* What is read past the cache is whole pages, where others write beside it within what is ours
 * alone. False: there is none. */
static bool whole_pages(uint64_t *offset, size_t *length, bool common)
{
    uint64_t up = common ? PAGE - 1 : 0;
    uint64_t begin = (*offset + up) / PAGE * PAGE;
    uint64_t end =
        common ? (*offset + *length) / PAGE * PAGE : begin + (*length + PAGE - 1) / PAGE * PAGE;

    if (end <= begin)
        return false;
    *offset = begin;
    *length = (size_t)(end - begin);
    return true;
}

static void read_at(struct model_actor *actor, struct model_handle *handle, uint64_t offset,
                    size_t length, bool common)
{
    struct outcome o[SIDES];
    int direct = -1;

    if (model_chance(actor, 30) && whole_pages(&offset, &length, common)) {
        model_note(actor, "reopen");
        direct = reopen_direct(handle->fd[MOUNT]);
        if (direct < 0) {
            model_fail(actor, "open again, O_DIRECT: %s", strerror(errno));
            return;
        }
    }
    model_note(actor, "read %zu at %ju%s", length, (uintmax_t)offset, direct < 0 ? "" : " direct");
    BOTH(o, pread(side == MOUNT && direct >= 0 ? direct : handle->fd[side], actor->buffer[side],
                  length, (off_t)offset));
    if (direct >= 0)
        close(direct);
    if (common && o[MOUNT].value >= 0 && o[PLAIN].value >= 0) {
        int64_t least = o[MOUNT].value < o[PLAIN].value ? o[MOUNT].value : o[PLAIN].value;
        o[MOUNT].value = o[PLAIN].value = least;
    }
    if (!agree(actor, "read", o) || o[MOUNT].value <= 0)
        return;
    size_t got = (size_t)o[MOUNT].value, i = 0;
    if (memcmp(actor->buffer[MOUNT], actor->buffer[PLAIN], got) == 0)
        return;
    while (actor->buffer[MOUNT][i] == actor->buffer[PLAIN][i])
        i++;
    size_t last = got - 1;
    while (actor->buffer[MOUNT][last] == actor->buffer[PLAIN][last])
        last--;
    model_fail(actor, "read %zu at %ju: bytes %ju to %ju differ: mount %#x, plain %#x", length,
               (uintmax_t)offset, (uintmax_t)(offset + i), (uintmax_t)(offset + last),
               (unsigned)actor->buffer[MOUNT][i], (unsigned)actor->buffer[PLAIN][i]);
}

static void truncate_to(struct model_actor *actor, struct model_handle *handle)
{
    struct outcome o[SIDES];
    uint64_t size = model_size(handle), to = some_offset(actor, handle);

    if (model_chance(actor, 60))
        to = size ? model_random(actor, size) : 0;
    if (model_chance(actor, 10))
        to = 0;
    model_note(actor, "truncate to %ju", (uintmax_t)to);
    BOTH(o, ftruncate(handle->fd[side], (off_t)to));
    agree(actor, "truncate", o);
}

static void allocate(struct model_actor *actor, struct model_handle *handle)
{
    static const int modes[] = {FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                FALLOC_FL_ZERO_RANGE,
                                FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
                                0,
                                FALLOC_FL_KEEP_SIZE};
    struct outcome o[SIDES];
    int mode = modes[model_random(actor, sizeof modes / sizeof *modes)];
    uint64_t offset = model_random(actor, USUAL_MAX), length = some_length(actor);

    model_note(actor, "fallocate mode %#x, %ju at %ju", (unsigned)mode, (uintmax_t)length,
               (uintmax_t)offset);
    BOTH(o, fallocate(handle->fd[side], mode, (off_t)offset, (off_t)length));
    agree(actor, "fallocate", o);
    /* File systems differ in whether promised space changes the time. */
    BOTH(o, futimens(handle->fd[side], NULL));
    agree(actor, "utimens", o);
}

static void map_and_write(struct model_actor *actor, struct model_handle *handle)
{
    uint64_t size = model_size(handle);
    size_t length = (size_t)(1 + model_random(actor, 200000)), from, to;
    uint64_t offset = model_random(actor, size ? size : 1) & ~(uint64_t)4095;
    bool sync = model_chance(actor, 50);

    length = length < size - offset ? length : (size_t)(size - offset);
    if (size == 0 || length == 0)
        return;
    from = (size_t)model_random(actor, length);
    to = from + 1 + (size_t)model_random(actor, length - from);
    some_bytes(actor, actor->buffer[MOUNT], to - from);
    model_note(actor, "map %ju, write %zu to %zu%s", (uintmax_t)offset, from, to,
               sync ? ", msync" : "");
    for (unsigned side = 0; side < SIDES; side++) {
        uint8_t *map =
            mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, handle->fd[side], (off_t)offset);
        if (map == MAP_FAILED) {
            if (side == MOUNT && errno == ENODEV)
                return; /* not offered without the page cache */
            model_fail(actor, "mmap: %s", strerror(errno));
            return;
        }
        memcpy(map + from, actor->buffer[MOUNT], to - from);
        if (sync && msync(map, length, MS_SYNC) != 0)
            model_fail(actor, "msync: %s", strerror(errno));
        munmap(map, length);
    }
}

/* A time that was set is the past, and stays until the file changes. */
static bool times_differ(const struct stat *a, const struct stat *b)
{
    return (a->st_mtim.tv_sec < MODEL_PAST || b->st_mtim.tv_sec < MODEL_PAST) &&
           (a->st_mtim.tv_sec != b->st_mtim.tv_sec || a->st_mtim.tv_nsec != b->st_mtim.tv_nsec);
}

static void check_attributes(struct model_actor *actor, struct model_handle *handle)
{
    struct stat a, b;

    if (fstat(handle->fd[MOUNT], &a) == 0 && fstat(handle->fd[PLAIN], &b) == 0 &&
        times_differ(&a, &b))
        (void)fsync(handle->fd[MOUNT]); /* what a mapping wrote counts once it is written back */
    if (fstat(handle->fd[MOUNT], &a) != 0 || fstat(handle->fd[PLAIN], &b) != 0)
        model_fail(actor, "fstat: %s", strerror(errno));
    else if (a.st_size != b.st_size || a.st_mode != b.st_mode || a.st_nlink != b.st_nlink)
        model_fail(actor, "fstat: mount size %jd, mode %o, links %ju; plain %jd, %o, %ju",
                   (intmax_t)a.st_size, a.st_mode, (uintmax_t)a.st_nlink, (intmax_t)b.st_size,
                   b.st_mode, (uintmax_t)b.st_nlink);
    else if (times_differ(&a, &b))
        model_fail(actor, "mtime: mount %jd.%09ld, plain %jd.%09ld", (intmax_t)a.st_mtim.tv_sec,
                   a.st_mtim.tv_nsec, (intmax_t)b.st_mtim.tv_sec, b.st_mtim.tv_nsec);
}

/* Times that were set stay. Pages that a mapping dirtied are written first: the kernel writes
 * them when it likes. */
static void set_times(struct model_actor *actor, struct model_handle *handle)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = (time_t)model_random(actor, MODEL_PAST),
                                 .tv_nsec = (long)model_random(actor, 1000000000)}};
    struct outcome o[SIDES];
    struct stat st;

    model_note(actor, "utimens %jd.%09ld", (intmax_t)times[1].tv_sec, times[1].tv_nsec);
    BOTH(o, fsync(handle->fd[side]));
    if (!agree(actor, "fsync", o))
        return;
    BOTH(o, futimens(handle->fd[side], times));
    if (!agree(actor, "utimens", o))
        return;
    BOTH(o, fchmod(handle->fd[side], 0640));
    if (!agree(actor, "chmod", o))
        return;
    if (model_chance(actor, 50))
        read_at(actor, handle, 0, 4096, false);
    if (model_chance(actor, 20))
        (void)fsync(handle->fd[MOUNT]);
    if (fstat(handle->fd[MOUNT], &st) != 0 || st.st_mtim.tv_sec != times[1].tv_sec ||
        st.st_mtim.tv_nsec != times[1].tv_nsec)
        model_fail(actor, "mtime is %jd.%09ld after it was set to %jd.%09ld",
                   (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (intmax_t)times[1].tv_sec,
                   times[1].tv_nsec);
}

static void copy_range(struct model_actor *actor, struct model_handle *handle)
{
    struct outcome o[SIDES];
    struct model_handle *from = &actor->handles[model_random(actor, MODEL_HANDLES)];
    uint64_t offset = model_random(actor, USUAL_MAX), to = model_random(actor, USUAL_MAX);
    size_t length = (size_t)some_length(actor);

    if (model_random(actor, 2)) /* at the same place, frames may stay as they are */
        to = offset;
    if (from->fd[MOUNT] < 0 || handle->append)
        return;
    model_note(actor, "copy %zu from %ju to %ju", length, (uintmax_t)offset, (uintmax_t)to);
    for (unsigned side = 0; side < SIDES; side++) {
        off_t in = (off_t)offset, out = (off_t)to;
        size_t left = length;
        ssize_t got = 0;
        o[side] = (struct outcome){0};
        while (left > 0 &&
               (got = copy_file_range(from->fd[side], &in, handle->fd[side], &out, left, 0)) > 0)
            left -= (size_t)got;
        o[side].error = got < 0 ? errno : 0;
        o[side].value = (int64_t)(length - left);
    }
    agree(actor, "copy_file_range", o);
}

void model_data(struct model_actor *actor, struct model_handle *handle)
{
    struct outcome o[SIDES];
    unsigned kind = (unsigned)model_random(actor, 100);

    if (kind < 35) {
        uint64_t offset = some_offset(actor, handle);
        write_at(actor, handle, offset, (size_t)some_length(actor));
    } else if (kind < 60) {
        uint64_t offset = some_offset(actor, handle);
        read_at(actor, handle, offset, (size_t)some_length(actor), false);
    } else if (kind < 67) {
        truncate_to(actor, handle);
    } else if (kind < 75) {
        allocate(actor, handle);
    } else if (kind < 81) {
        map_and_write(actor, handle);
    } else if (kind < 86) {
        model_seek(actor, handle);
    } else if (kind < 90) {
        model_note(actor, "fsync");
        BOTH(o, kind % 2 ? fsync(handle->fd[side]) : fdatasync(handle->fd[side]));
        agree(actor, "fsync", o);
    } else if (kind < 94) {
        check_attributes(actor, handle);
    } else if (kind < 96) {
        set_times(actor, handle);
    } else if (kind < 98) {
        copy_range(actor, handle);
    } else {
        model_handle_close(actor, handle);
    }
    if (handle->fd[MOUNT] >= 0 && handle->fd[PLAIN] >= 0 && model_chance(actor, 30))
        check_attributes(actor, handle);
}

void model_region(struct model_actor *actor, struct model_handle *handle, uint64_t from,
                  uint64_t length)
{
    uint64_t skip = model_random(actor, length);
    size_t step = (size_t)(1 + model_random(actor, length - skip));

    if (model_chance(actor, 60))
        write_at(actor, handle, from + skip, step);
    else
        read_at(actor, handle, from + skip, step, true);
    if (model_chance(actor, 5))
        (void)fsync(handle->fd[MOUNT]);
}
