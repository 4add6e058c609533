/* What the actors of power.sh do. Every change is noted as possible before it is tried, and as
 * promised after a sync said so. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/power.h"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2u
#endif

enum want { FREE, REGULAR, DIRECTORY, NO_DIRECTORY, ANY };

struct power_path power_path_of(const struct actor *actor, const struct place *place)
{
    struct power_path path;

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

/* ---- Attributes ---- */

static bool change_attribute(struct actor *actor, const struct place *place)
{
    struct power_path path = power_path_of(actor, place);
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
    struct power_path path = power_path_of(actor, place);
    bool nameless = power_random(actor, 5) == 0 && !power_plain;
    bool good;
    int fd = -1;

    made.object = object;
    if (nameless) {
        struct power_path dir = path;
        *strrchr(dir.text, '/') = '\0';
        fd = open(dir.text, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
        nameless = fd >= 0 || errno != EOPNOTSUPP;
    }
    power_note(actor, "%s %s", nameless ? "link a nameless" : "create", place->path);
    if (nameless) {
        char self[32];
        good = fd >= 0 && power_write(actor, object, fd);
        power_push(&place->dir->names[place->name], object->number);
        snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
        good = good && linkat(AT_FDCWD, self, AT_FDCWD, path.text, AT_SYMLINK_FOLLOW) == 0 &&
               learn_ino(object, path.text);
    } else {
        power_push(&place->dir->names[place->name], object->number);
        fd = open(path.text, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
        good = fd >= 0 && learn_ino(object, path.text) &&
               (power_random(actor, 4) == 0 || power_write(actor, object, fd));
    }
    good = good && power_sync_some(actor, &made, fd);
    return power_leave(actor, fd, good);
}

static bool make_other(struct actor *actor, const struct place *place)
{
    struct power_path path = power_path_of(actor, place);
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
    struct power_path path = power_path_of(actor, place);
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
    struct power_path path = power_path_of(actor, from), new_path = power_path_of(actor, to);

    power_push(&to->dir->names[to->name], from->object->number);
    power_note(actor, "link %s %s", from->path, to->path);
    return link(path.text, new_path.text) == 0;
}

/* to: free, or what is replaced or exchanged. */
static bool rename_file(struct actor *actor, const struct place *from, const struct place *to)
{
    struct power_path path = power_path_of(actor, from), new_path = power_path_of(actor, to);
    struct object *object = from->object, *replaced = to->object;
    unsigned flags = replaced && power_random(actor, 2) && !power_plain ? RENAME_EXCHANGE : 0;

    if (object == replaced)
        return true;
    power_push(&from->dir->names[from->name], flags ? replaced->number : -1);
    power_push(&to->dir->names[to->name], object->number);
    power_note(actor, "%s %s %s", flags ? "exchange" : "rename", from->path, to->path);
    if (replaced)
        power_promise_less(actor, replaced);
    return syscall(SYS_renameat2, AT_FDCWD, path.text, AT_FDCWD, new_path.text, flags) == 0;
}

/* Renames only to a free name in the same directory, so that no directory moves below itself. */
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
    struct power_path path = power_path_of(actor, place);
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

/* Not syncfs(): the kernel does not pass it to FUSE file systems of this kind. */
bool power_sync(void)
{
    return system("\"$BALEFS\" sync \"$POWER_MNT\" 2>/dev/null") == 0;
}

static bool sync_all(struct actor *actor)
{
    power_note(actor, "balefs sync");
    if (!power_sync())
        return false;
    power_note(actor, "  it returned");
    power_promise_all(actor);
    return true;
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
        return !pick(actor, REGULAR, &place) || power_data(actor, &place, (unsigned)kind);
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
