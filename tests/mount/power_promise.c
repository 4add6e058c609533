/* What must survive a power loss in power.sh: what survives on ext4. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/mount/power.h"

void power_push(struct versions *versions, int64_t value)
{
    if (versions->count == versions->room) {
        versions->room = versions->room ? 2 * versions->room : 4;
        versions->v = realloc(versions->v, versions->room * sizeof *versions->v);
        assert(versions->v);
    }
    versions->v[versions->count++] = value;
    versions->first = 0;
}

int64_t power_now(const struct versions *versions)
{
    return versions->v[versions->count - 1];
}

void power_set(struct versions *versions, int64_t value)
{
    versions->count = 0;
    power_push(versions, value);
}

static void keep_newest(struct versions *versions)
{
    if (versions->count > 1)
        power_set(versions, power_now(versions));
}

/* After an fsync. On btrfs the name may be anything again that it was since the last sync of the
 * whole, as soon as it is changed. */
static void keep_newest_name(struct versions *name)
{
    if (power_btrfs)
        name->first = name->count - 1;
    else
        keep_newest(name);
}

struct object *power_object(struct actor *actor, mode_t type, mode_t mode)
{
    struct object *object = calloc(1, sizeof *object);

    actor->objects = realloc(actor->objects, (actor->objects_count + 1) * sizeof(struct object *));
    assert(object && actor->objects);
    object->number = (int64_t)actor->objects_count;
    object->type = type;
    actor->objects[actor->objects_count++] = object;
    power_push(&object->mode, (int64_t)mode);
    power_push(&object->owner, 0);
    power_push(&object->attribute, 0);
    power_push(&object->mtime, 0);
    if (S_ISREG(type))
        power_push(&object->content, power_blob(actor, 0));
    for (unsigned i = 0; S_ISDIR(type) && i < POWER_NAMES; i++)
        power_push(&object->names[i], -1);
    return object;
}

int64_t power_blob(struct actor *actor, size_t size)
{
    actor->blobs = realloc(actor->blobs, (actor->blobs_count + 1) * sizeof *actor->blobs);
    assert(actor->blobs);
    struct blob blob = {size, calloc(1, size ? size : 1)};
    assert(blob.data);
    actor->blobs[actor->blobs_count] = blob;
    return (int64_t)actor->blobs_count++;
}

static void list_dir(struct actor *actor, struct object *dir, const char *path, unsigned depth)
{
    for (unsigned i = 0; i < POWER_NAMES; i++) {
        int64_t number = power_now(&dir->names[i]);
        assert(actor->places_count < POWER_PLACES);
        struct place *place = &actor->places[actor->places_count++];
        *place = (struct place){.dir = dir, .name = i, .depth = depth};
        place->object = number < 0 ? NULL : actor->objects[number];
        snprintf(place->path, sizeof place->path, "%.50s/n%u", path, i);
        if (place->object && S_ISDIR(place->object->type))
            list_dir(actor, place->object, place->path, depth + 1);
    }
}

void power_list(struct actor *actor)
{
    actor->places_count = 0;
    list_dir(actor, actor->objects[0], "", 0);
}

/* If an object is found, the directories above it are found as well. */
static void promise_above(struct actor *actor, const struct object *object)
{
    for (size_t i = 0; i < actor->places_count; i++) {
        const struct place *place = &actor->places[i];
        if (place->object == object && !place->dir->promised) {
            place->dir->promised = true;
            promise_above(actor, place->dir);
        }
    }
}

/* After the sync of an inode its names are durable, and its former names are gone: changing a name
 * changes the inode too. On btrfs, former names may still be there. */
static void promise_names(struct actor *actor, struct object *object)
{
    power_list(actor);
    for (size_t i = 0; i < actor->objects_count; i++) {
        struct object *dir = actor->objects[i];
        for (unsigned n = 0; S_ISDIR(dir->type) && n < POWER_NAMES; n++) {
            struct versions *name = &dir->names[n];
            size_t from = name->count;
            while (from > 0 && name->v[from - 1] != object->number)
                from--;
            if (from == 0)
                continue;
            if (from == name->count) {
                keep_newest_name(name);
            } else if (!power_btrfs) {
                name->count -= from;
                memmove(name->v, name->v + from, name->count * sizeof *name->v);
            }
        }
    }
    object->promised = true;
    promise_above(actor, object);
}

/* While it goes down ext4 may say that it synced what it did not, which a machine without power
 * cannot. */
static bool too_late(void)
{
    return atomic_load(&power_lost);
}

void power_promise_data(struct actor *actor, const struct place *place)
{
    if (too_late())
        return;
    keep_newest(&place->object->content);
    /* A new file; other names need fsync. */
    if (!place->object->promised)
        promise_names(actor, place->object);
}

static void keep_newest_inode(struct object *object)
{
    keep_newest(&object->mode);
    keep_newest(&object->owner);
    keep_newest(&object->attribute);
    keep_newest(&object->mtime);
    keep_newest(&object->content);
}

void power_promise_file(struct actor *actor, const struct place *place)
{
    if (too_late())
        return;
    keep_newest_inode(place->object);
    promise_names(actor, place->object);
}

void power_promise_dir(struct actor *actor, const struct place *place)
{
    struct object *dir = place ? place->object : actor->objects[0];

    if (too_late())
        return;
    keep_newest_inode(dir);
    promise_names(actor, dir);
    for (unsigned i = 0; i < POWER_NAMES; i++) {
        keep_newest_name(&dir->names[i]);
        if (power_now(&dir->names[i]) >= 0)
            actor->objects[power_now(&dir->names[i])]->promised = true;
    }
}

void power_promise_all(struct actor *actor)
{
    if (too_late())
        return;
    for (size_t i = 0; i < actor->objects_count; i++) {
        keep_newest_inode(actor->objects[i]);
        for (unsigned n = 0; S_ISDIR(actor->objects[i]->type) && n < POWER_NAMES; n++)
            keep_newest(&actor->objects[i]->names[n]);
    }
    power_list(actor);
    for (size_t i = 0; i < actor->places_count; i++)
        if (actor->places[i].object)
            actor->places[i].object->promised = true;
}

void power_promise_less(struct actor *actor, struct object *object)
{
    power_list(actor);
    for (size_t i = 0; i < actor->places_count; i++)
        if (actor->places[i].object == object)
            return;
    object->promised = false;
}
