/* The checks of power.sh after the loss. An attribute's version 0 is none at all, a time's 0 is
 * any. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/power.h"

/* Why the last look at a candidate failed. */
struct why {
    char text[200];
};

static bool no(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool no(struct why *why, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool may_be(const struct versions *versions, int64_t value)
{
    for (size_t i = versions->first; i < versions->count; i++)
        if (versions->v[i] == value)
            return true;
    return false;
}

static bool look_number(const struct versions *versions, const char *what, int64_t found,
                        struct why *why)
{
    if (may_be(versions, found))
        return true;
    return no(why, "%s is %jd; durable was %jd, of %zu versions", what, (intmax_t)found,
              (intmax_t)versions->v[0], versions->count);
}

/* A write that was on its way: the kernel hands it over in pieces, which end with pages, and the
 * first of them may have been stored: the newer version up to there, then the older. */
static bool is_torn(const struct blob *older, const struct blob *newer, const uint8_t *data,
                    size_t size)
{
    size_t same = 0;

    while (same < newer->size && same < size && newer->data[same] == data[same])
        same++;
    for (size_t end = 0; end <= same; end += POWER_PAGE)
        if (size == (end > older->size ? end : older->size) &&
            (end >= size || memcmp(data + end, older->data + end, size - end) == 0))
            return true;
    return false;
}

static bool look_torn(struct actor *actor, const struct object *object, const uint8_t *data,
                      size_t size, int64_t *found)
{
    for (size_t i = object->content.count; i-- > 1;)
        if (is_torn(&actor->blobs[object->content.v[i - 1]], &actor->blobs[object->content.v[i]],
                    data, size)) {
            *found = power_blob(actor, size);
            memcpy(actor->blobs[*found].data, data, size);
            return true;
        }
    return false;
}

/* Whether the file is like one of the blobs; *found says which. */
static bool look_content(struct actor *actor, const struct object *object, const char *path,
                         int64_t *found, struct why *why)
{
    static _Thread_local uint8_t data[2 * POWER_SIZE];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, data, sizeof data);
    int error = errno;

    if (fd >= 0)
        close(fd);
    if (got < 0)
        return no(why, "it cannot be read: %s", strerror(error));
    if (may_be(&object->content, -1)) {
        *found = power_blob(actor, (size_t)got);
        memcpy(actor->blobs[*found].data, data, (size_t)got);
        return true;
    }
    for (size_t i = object->content.count; i-- > 0;) {
        const struct blob *blob = &actor->blobs[object->content.v[i]];
        *found = object->content.v[i];
        if (blob->size == (size_t)got && memcmp(blob->data, data, blob->size) == 0)
            return true;
    }
    if (look_torn(actor, object, data, (size_t)got, found))
        return true;
    const struct blob *blob = &actor->blobs[object->content.v[0]];
    size_t same = 0;
    while (same < blob->size && same < (size_t)got && blob->data[same] == data[same])
        same++;
    return no(why,
              "its %zd bytes are none of %zu versions; durable were %zu bytes, alike up to %zu",
              got, object->content.count, blob->size, same);
}

static int64_t attribute_of(const char *path)
{
    char text[32] = "";

    return getxattr(path, "user.v", text, sizeof text - 1) < 0 ? (errno == ENODATA ? 0 : -1)
                                                               : strtoll(text, NULL, 10);
}

static bool look_link(const struct object *object, const char *path, struct why *why)
{
    char target[64] = "";

    if (readlink(path, target, sizeof target - 1) < 0)
        return no(why, "readlink: %s", strerror(errno));
    return strcmp(target, object->target) == 0 || no(why, "it leads to %s", target);
}

/* What was found is the newest version from now on, and the only one unless killed. */
static void found_is(struct versions *versions, int64_t value, bool killed)
{
    if (!killed)
        power_set(versions, value);
    else if (power_now(versions) != value)
        power_push(versions, value);
}

/* Whether what lies at path may be the object; if so it is that from now on. */
static bool look(struct actor *actor, struct object *object, const char *path,
                 const struct stat *st, bool killed, struct why *why)
{
    int64_t attribute, content = 0;

    /* 0: the power was lost before its number could be read. */
    if ((object->ino && object->ino != st->st_ino) || object->type != (st->st_mode & S_IFMT))
        return false;
    object->ino = st->st_ino;
    if (S_ISLNK(st->st_mode))
        return look_link(object, path, why);
    attribute = attribute_of(path);
    if (!look_number(&object->mode, "mode", st->st_mode & 07777, why) ||
        !look_number(&object->owner, "owner", st->st_uid, why) ||
        !look_number(&object->attribute, "attribute", attribute, why))
        return false;
    if (!may_be(&object->mtime, 0) &&
        !look_number(&object->mtime, "time", (int64_t)st->st_mtim.tv_sec, why))
        return false;
    if (S_ISREG(st->st_mode) && !look_content(actor, object, path, &content, why))
        return false;
    found_is(&object->mode, st->st_mode & 07777, killed);
    found_is(&object->owner, st->st_uid, killed);
    found_is(&object->attribute, attribute, killed);
    found_is(&object->mtime, may_be(&object->mtime, 0) ? 0 : (int64_t)st->st_mtim.tv_sec, killed);
    if (S_ISREG(st->st_mode))
        found_is(&object->content, content, killed);
    return true;
}

static void look_at_dir(struct actor *actor, struct object *dir, const char *path, bool killed);

static void look_at_name(struct actor *actor, struct object *dir, unsigned i, const char *path,
                         bool killed)
{
    struct versions *name = &dir->names[i];
    struct why why = {"it is another file"};
    struct stat st;

    if (lstat(path, &st) != 0) {
        if (errno != ENOENT)
            power_fault(actor, "%s: stat: %s", path, strerror(errno));
        else if (!may_be(name, -1))
            power_fault(actor, "%s: is not there", path);
        found_is(name, -1, killed);
        return;
    }
    for (size_t v = name->count; v-- > name->first;) {
        struct object *object = name->v[v] < 0 ? NULL : actor->objects[name->v[v]];
        if (!object || !look(actor, object, path, &st, killed, &why))
            continue;
        found_is(name, object->number, killed);
        if (object->found++ == 0 && S_ISDIR(object->type))
            look_at_dir(actor, object, path, killed);
        return;
    }
    power_fault(actor, "%s: %s", path,
                power_now(name) < 0 && name->first == name->count - 1 ? "is there" : why.text);
    power_set(name, -1);
}

static void look_at_dir(struct actor *actor, struct object *dir, const char *path, bool killed)
{
    char below[POWER_PATH];
    struct dirent *entry;
    size_t listed = 0, known = 0;
    DIR *list = opendir(path);

    while (list && (entry = readdir(list)))
        listed += entry->d_name[0] != '.';
    if (list)
        closedir(list);
    for (unsigned i = 0; i < POWER_NAMES; i++) {
        snprintf(below, sizeof below, "%.4100s/n%u", path, i);
        look_at_name(actor, dir, i, below, killed);
        known += power_now(&dir->names[i]) >= 0;
    }
    if (listed != known)
        power_fault(actor, "%s: has %zu names, not %zu", path, listed, known);
}

/* Frees what no version refers to any more. */
static void forget(struct actor *actor)
{
    bool *used = calloc(actor->blobs_count + 1, sizeof *used);

    if (!used)
        abort();
    for (size_t i = 0; i < actor->objects_count; i++) {
        struct object *object = actor->objects[i];
        if (S_ISREG(object->type))
            used[power_now(&object->content)] = true;
        if (object->type == 0) {
            power_set(&object->content, -1);
            for (unsigned n = 0; n < POWER_NAMES; n++)
                power_set(&object->names[n], -1);
        }
    }
    for (size_t i = 0; i < actor->blobs_count; i++) {
        if (!used[i]) {
            free(actor->blobs[i].data);
            actor->blobs[i].data = NULL;
        }
    }
    free(used);
}

void power_check(struct actor *actor, bool killed)
{
    struct stat st;

    for (size_t i = 0; i < actor->objects_count; i++)
        actor->objects[i]->found = 0;
    actor->objects[0]->found = 1;
    look_at_dir(actor, actor->objects[0], actor->top, killed);
    power_list(actor);
    for (size_t i = 0; i < actor->places_count; i++) {
        const struct place *place = &actor->places[i];
        char path[POWER_PATH];
        snprintf(path, sizeof path, "%.4090s%s", actor->top, place->path);
        if (place->object && !S_ISDIR(place->object->type) && lstat(path, &st) == 0 &&
            st.st_nlink != place->object->found)
            power_fault(actor, "%s: says it has %ju names, not %u", path, (uintmax_t)st.st_nlink,
                        place->object->found);
    }
    for (size_t i = 0; i < actor->objects_count; i++) {
        struct object *object = actor->objects[i];
        if (object->found == 0 && object->promised)
            power_fault(actor, "object %jd: no name is left of it", (intmax_t)object->number);
        if (killed)
            continue;
        object->promised = object->found > 0;
        if (object->found == 0)
            object->type = 0;
    }
    if (!killed)
        forget(actor);
}
