#include "tools/inspect/totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/codecs.h"
#include "format/err.h"
#include "kernels/base/array.h"
#include "kernels/frame/field.h"
#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/common/size.h"

#define TYPE_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-~"

static void add_space(struct bale_space *to, const struct bale_space *from)
{
    to->files += from->files;
    to->logical += from->logical;
    to->data += from->data;
    to->stored += from->stored;
    to->disk += from->disk;
}

void bale_totals_add(struct bale_totals *to, const struct bale_totals *from)
{
    add_space(&to->space, &from->space);
    to->preallocated += from->preallocated;
    to->lossy += from->lossy;
    to->bound = from->bound > to->bound ? from->bound : to->bound;
    for (int i = 0; i < BALE_CODECS; i++) {
        to->codec[i].extents += from->codec[i].extents;
        to->codec[i].raw += from->codec[i].raw;
        to->codec[i].logical += from->codec[i].logical;
        to->codec[i].stored += from->codec[i].stored;
    }
}

void bale_totals_file(struct bale_totals *totals, const struct bale_container_attr *attr,
                      uint64_t disk, const struct bale_container_usage *usage)
{
    *totals = (struct bale_totals){.space = {.files = 1, .logical = attr->size, .disk = disk},
                                   .preallocated = usage->unwritten};
    if (attr->greatest_step != 0) {
        totals->lossy = 1;
        totals->bound = bale_field_bound(attr->greatest_step);
    }
    for (int i = 0; i < BALE_CODECS; i++) {
        totals->codec[i] = (struct bale_codec_totals){.extents = usage->extents[i],
                                                      .raw = usage->raw[i],
                                                      .logical = usage->logical[i],
                                                      .stored = usage->stored[i]};
        totals->space.data += usage->logical[i];
        totals->space.stored += usage->stored[i];
    }
}

const char *bale_codec_title(unsigned id, char text[static 24])
{
    const char *name = bale_codec_name((uint8_t)id);

    if (!name)
        snprintf(text, 24, "codec %u", id);
    return name ? name : text;
}

/* The id of a name as bale_codec_title returns it, or -1. */
static int codec_of(const char *title)
{
    char text[24];

    for (unsigned id = 0; id < BALE_CODECS; id++)
        if (strcmp(bale_codec_title(id, text), title) == 0)
            return (int)id;
    return -1;
}

static uint64_t count_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (uint64_t)value : 0;
}

int bale_totals_parse(struct bale_totals *totals, const char *text, size_t length)
{
    json_t *object = json_loadb(text, length, 0, NULL);
    const char *name;
    json_t *part;

    if (!json_is_object(object)) {
        json_decref(object);
        return BALE_E_CORRUPT;
    }
    *totals = (struct bale_totals){.space = {.files = 1, .logical = count_of(object, "logical")},
                                   .preallocated = count_of(object, "preallocated"),
                                   .lossy = json_is_true(json_object_get(object, "lossy")),
                                   .bound = json_number_value(json_object_get(object, "bound"))};
    json_object_foreach(json_object_get(object, "codecs"), name, part)
    {
        int id = codec_of(name);
        if (id < 0)
            continue;
        totals->codec[id] = (struct bale_codec_totals){.extents = count_of(part, "extents"),
                                                       .raw = count_of(part, "raw"),
                                                       .logical = count_of(part, "logical"),
                                                       .stored = count_of(part, "stored")};
        totals->space.data += totals->codec[id].logical;
        totals->space.stored += totals->codec[id].stored;
    }
    json_decref(object);
    return BALE_OK;
}

/* ---- Types ----------------------------------------------------------------------------------- */

/* The part after the last dot, if it looks like an extension and not like a version or a sentence.
 */
static void type_of(const char *file_name, char type[static 20])
{
    const char *dot = strrchr(file_name, '.');
    size_t length = dot ? strspn(dot + 1, TYPE_LETTERS) : 0;
    bool is_type = dot != file_name && length > 0 && length < 12 && !dot[length + 1];

    snprintf(type, 20, "%s", is_type ? dot : "");
}

static size_t type_position(const struct bale_types *types, const char *name)
{
    size_t low = 0, high = types->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(types->types[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int bale_types_add(struct bale_types *types, const char *file_name,
                   const struct bale_totals *totals)
{
    char name[20];

    type_of(file_name, name);
    size_t at = type_position(types, name);
    if (at == types->count || strcmp(types->types[at].name, name) != 0) {
        struct bale_type_totals *grown =
            bale_array_grow(types->types, types->count, &types->capacity, sizeof *grown);
        if (!grown)
            return BALE_E_NOMEM;
        types->types = grown;
        memmove(types->types + at + 1, types->types + at,
                (types->count - at) * sizeof *types->types);
        types->types[at] = (struct bale_type_totals){0};
        memcpy(types->types[at].name, name, sizeof name);
        types->count++;
    }
    add_space(&types->types[at].space, &totals->space);
    return BALE_OK;
}

void bale_types_clear(struct bale_types *types)
{
    free(types->types);
    *types = (struct bale_types){0};
}

/* ---- Tables and JSON ------------------------------------------------------------------------- */

void bale_space_head(const char *last)
{
    printf("%8s %10s %10s %10s %11s %10s  %s\n", "files", "length", "data", "stored", "data/stored",
           "on disk", last);
}

void bale_space_row(const struct bale_space *space, const char *name)
{
    char texts[5][BALE_TEXT], clean[4096];

    printf("%8llu %10s %10s %10s %11s %10s  %s\n", (unsigned long long)space->files,
           bale_size_text(space->logical, texts[0]), bale_size_text(space->data, texts[1]),
           bale_size_text(space->stored, texts[2]),
           bale_ratio_text(space->data, space->stored, texts[3]),
           bale_size_text(space->disk, texts[4]), bale_clean_text(name, clean, sizeof clean));
}

void bale_totals_codecs(const struct bale_totals *totals)
{
    char texts[4][BALE_TEXT], title[24];

    printf("%8s %10s %10s %10s %11s  %s\n", "frames", "raw", "referenced", "stored", "raw/stored",
           "codec");
    for (unsigned i = 0; i < BALE_CODECS; i++) {
        const struct bale_codec_totals *part = &totals->codec[i];
        if (part->extents == 0)
            continue;
        printf("%8llu %10s %10s %10s %11s  %s\n", (unsigned long long)part->extents,
               bale_size_text(part->raw, texts[0]), bale_size_text(part->logical, texts[1]),
               bale_size_text(part->stored, texts[2]),
               bale_ratio_text(part->raw, part->stored, texts[3]), bale_codec_title(i, title));
    }
}

void bale_types_print(const struct bale_types *types)
{
    bale_space_head("type");
    for (size_t i = 0; i < types->count; i++)
        bale_space_row(&types->types[i].space,
                       types->types[i].name[0] ? types->types[i].name : "(none)");
}

static void space_json(json_t *object, const struct bale_space *space)
{
    bale_json_count(object, "files", space->files);
    bale_json_count(object, "logical", space->logical);
    bale_json_count(object, "data", space->data);
    bale_json_count(object, "stored", space->stored);
    bale_json_count(object, "disk", space->disk);
    bale_json_ratio(object, "ratio", space->data, space->stored);
}

void bale_totals_json(json_t *object, const struct bale_totals *totals)
{
    json_t *codecs = json_object();
    char text[24];

    space_json(object, &totals->space);
    bale_json_count(object, "preallocated", totals->preallocated);
    bale_json_count(object, "lossy", totals->lossy);
    json_object_set_new(object, "bound",
                        totals->lossy > 0 ? json_real(totals->bound) : json_null());
    for (unsigned i = 0; i < BALE_CODECS; i++) {
        const struct bale_codec_totals *part = &totals->codec[i];
        if (!part->extents && !part->logical)
            continue;
        json_t *codec = json_object();
        bale_json_count(codec, "extents", part->extents);
        bale_json_count(codec, "raw", part->raw);
        bale_json_count(codec, "logical", part->logical);
        bale_json_count(codec, "stored", part->stored);
        json_object_set_new(codecs, bale_codec_title(i, text), codec);
    }
    json_object_set_new(object, "codecs", codecs);
}

json_t *bale_types_json(const struct bale_types *types)
{
    json_t *object = json_object();

    for (size_t i = 0; i < types->count; i++) {
        const struct bale_type_totals *type = &types->types[i];
        json_t *part = json_object();
        space_json(part, &type->space);
        json_object_set_new(object, type->name, part);
    }
    return object;
}
