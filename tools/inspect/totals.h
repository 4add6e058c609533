/* The space that files take, by codec and by type, and how it is printed. */
#ifndef BALE_TOOLS_INSPECT_TOTALS_H
#define BALE_TOOLS_INSPECT_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "fs/container/container.h"

#define BALE_CODECS 256

struct bale_codec_totals {
    uint64_t extents; /* frames */
    uint64_t raw;     /* what was compressed into them, as in struct bale_container_usage */
    uint64_t logical; /* the bytes of files that are in them */
    uint64_t stored;  /* bytes of frames */
};

/* The space of some files, in bytes. */
struct bale_space {
    uint64_t files;
    uint64_t logical; /* sum of the files' lengths, holes included */
    uint64_t data;    /* the part of it that is stored: without holes and preallocated space */
    uint64_t stored;  /* frames */
    uint64_t disk;    /* allocated for the containers */
};

/* A zeroed struct is empty. */
struct bale_totals {
    struct bale_space space;
    uint64_t preallocated; /* of space.disk, for ranges without data */
    uint64_t lossy;        /* files in which elements were rounded */
    double bound;          /* by how much at most, each time, in any of them */
    struct bale_codec_totals codec[BALE_CODECS];
};

void bale_totals_add(struct bale_totals *to, const struct bale_totals *from);

/* Sets the totals of one file from its container. disk: bytes allocated for that. */
void bale_totals_file(struct bale_totals *totals, const struct bale_container_attr *attr,
                      uint64_t disk, const struct bale_container_usage *usage);

/* Sets the totals of one file from the value of user.balefs.stat in a mount. BALE_E_CORRUPT if the
 * value is not valid. */
int bale_totals_parse(struct bale_totals *totals, const char *text, size_t length);

/* The name of a codec, or "codec 77", for which it uses text. */
const char *bale_codec_title(unsigned id, char text[static 24]);

/* Totals by file name extension; a zeroed struct is empty. */
struct bale_type_totals {
    char name[20]; /* ".csv", "" for none */
    struct bale_space space;
};
struct bale_types {
    struct bale_type_totals *types; /* sorted by name */
    size_t count, capacity;
};
int bale_types_add(struct bale_types *types, const char *file_name,
                   const struct bale_totals *totals);
void bale_types_clear(struct bale_types *types);

/* ---- Tables and JSON ---- */

void bale_space_head(const char *last); /* column titles */
void bale_space_row(const struct bale_space *space, const char *name);
void bale_totals_codecs(const struct bale_totals *totals);
void bale_types_print(const struct bale_types *types);

/* Sets files, logical, data, stored, disk, preallocated, ratio and codecs. */
void bale_totals_json(json_t *object, const struct bale_totals *totals);
json_t *bale_types_json(const struct bale_types *types);

#endif
