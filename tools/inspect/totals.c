#include "tools/inspect/totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/codecs.h"
#include "format/err.h"
#include "kernels/base/array.h"
#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/common/size.h"

#define TYPE_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-~"

void bale_totals_add(struct bale_totals *to, const struct bale_totals *from)
{
    to->files += from->files;
    to->logical += from->logical;
    to->data += from->data;
    to->stored += from->stored;
    to->disk += from->disk;
    for (int i = 0; i < BALE_CODECS; i++) {
        to->codec[i].extents += from->codec[i].extents;
        to->codec[i].logical += from->codec[i].logical;
        to->codec[i].stored += from->codec[i].stored;
    }
}

void bale_totals_file(struct bale_totals *totals, uint64_t logical, uint64_t disk,
                      const struct bale_container_usage *usage)
{
    *totals = (struct bale_totals){.files = 1, .logical = logical, .disk = disk};
    for (int i = 0; i < BALE_CODECS; i++) {
        totals->codec[i] = (struct bale_codec_totals){
            .extents = usage->extents[i], .logical = usage->logical[i], .stored = usage->stored[i]};
        totals->data += usage->logical[i];
        totals->stored += usage->stored[i];
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
    *totals = (struct bale_totals){.files = 1, .logical = count_of(object, "logical")};
    json_object_foreach(json_object_get(object, "codecs"), name, part)
    {
        int id = codec_of(name);
        if (id < 0)
            continue;
        totals->codec[id] = (struct bale_codec_totals){.extents = count_of(part, "extents"),
                                                       .logical = count_of(part, "logical"),
                                                       .stored = count_of(part, "stored")};
        totals->data += totals->codec[id].logical;
        totals->stored += totals->codec[id].stored;
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
    types->types[at].files += totals->files;
    types->types[at].logical += totals->logical;
    types->types[at].data += totals->data;
    types->types[at].stored += totals->stored;
    return BALE_OK;
}

void bale_types_clear(struct bale_types *types)
{
    free(types->types);
    *types = (struct bale_types){0};
}

/* ---- Tables and JSON ------------------------------------------------------------------------- */

void bale_totals_head(const char *count, const char *last)
{
    printf("%9s %12s %12s %8s  %s\n", count, "logical", "stored", "ratio", last);
}

void bale_totals_row(uint64_t count, uint64_t logical, uint64_t data, uint64_t stored,
                     const char *name)
{
    char texts[3][BALE_TEXT], clean[4096];

    printf("%9llu %12s %12s %8s  %s\n", (unsigned long long)count,
           bale_size_text(logical, texts[0]), bale_size_text(stored, texts[1]),
           bale_ratio_text(data, stored, texts[2]), bale_clean_text(name, clean, sizeof clean));
}

void bale_totals_codecs(const struct bale_totals *totals)
{
    char text[24];

    bale_totals_head("extents", "codec");
    for (unsigned i = 0; i < BALE_CODECS; i++) {
        const struct bale_codec_totals *part = &totals->codec[i];
        if (part->extents || part->logical)
            bale_totals_row(part->extents, part->logical, part->logical, part->stored,
                            bale_codec_title(i, text));
    }
}

void bale_types_print(const struct bale_types *types)
{
    bale_totals_head("files", "type");
    for (size_t i = 0; i < types->count; i++) {
        const struct bale_type_totals *type = &types->types[i];
        bale_totals_row(type->files, type->logical, type->data, type->stored,
                        type->name[0] ? type->name : "(none)");
    }
}

void bale_totals_json(json_t *object, const struct bale_totals *totals)
{
    json_t *codecs = json_object();
    char text[24];

    bale_json_count(object, "files", totals->files);
    bale_json_count(object, "logical", totals->logical);
    bale_json_count(object, "data", totals->data);
    bale_json_count(object, "stored", totals->stored);
    bale_json_count(object, "disk", totals->disk);
    bale_json_ratio(object, "ratio", totals->data, totals->stored);
    for (unsigned i = 0; i < BALE_CODECS; i++) {
        const struct bale_codec_totals *part = &totals->codec[i];
        if (!part->extents && !part->logical)
            continue;
        json_t *codec = json_object();
        bale_json_count(codec, "extents", part->extents);
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
        bale_json_count(part, "files", type->files);
        bale_json_count(part, "logical", type->logical);
        bale_json_count(part, "data", type->data);
        bale_json_count(part, "stored", type->stored);
        bale_json_ratio(part, "ratio", type->data, type->stored);
        json_object_set_new(object, type->name, part);
    }
    return object;
}
