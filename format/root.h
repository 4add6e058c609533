/* Root slots (FORMAT.md section 4) and the choice between them (section 8, rules 1 and 2). Pure
 * functions: no I/O, no allocation, safe from any thread. */
#ifndef BALE_FORMAT_ROOT_H
#define BALE_FORMAT_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/features.h"
#include "format/field.h"
#include "format/limits.h"

enum {
    BALE_ROOT_CODEC_EXPLICIT = 1 << 0,
    BALE_ROOT_EXTENT_EXPLICIT = 1 << 1,
};

#define BALE_ROOT_MODE_IN_CONTAINER 0x8000u

/* The permission bits of the backing inode of a container that keeps the file's permissions, mode.
 * They always let the owner read and write, because the owner's daemon must go on using the
 * container. */
uint32_t bale_root_backing_mode(uint32_t mode);

/* The permissions (07777) of a file whose root has this mode and whose backing inode has the
 * permissions backing (FORMAT.md section 4). The owner's read and write and the sticky bit come
 * from mode. Any other bit counts only if both have it, because chown and chmod of the store take
 * bits from the inode and not from the root. */
uint32_t bale_root_permissions(uint16_t mode, uint32_t backing);

/* Where a page or a direct frame lies, and what its checksum must be. All zero: nothing. */
struct bale_ref {
    uint64_t position;
    uint64_t checksum;
    uint32_t length;
};

/* Whether the values of a lossy file are rounded as they are written. */
enum bale_rounds {
    BALE_ROUNDS_UNDECIDED, /* nothing was rounded: the first bytes are not known yet */
    BALE_ROUNDS_YES,
    BALE_ROUNDS_NO, /* the file is of a format that is no array */
    /* As undecided, and each byte before the file's end was written: there is no gap. */
    BALE_ROUNDS_BEGUN,
    BALE_ROUNDS_END,
};

struct bale_root {
    uint64_t generation; /* 1 or greater */
    uint64_t durable;    /* less than generation */
    uint64_t size;
    uint64_t end;
    uint64_t stored;
    uint64_t container_id;
    int64_t mtime; /* of the logical file, nanoseconds since the epoch */
    struct bale_ref tree;
    uint32_t session;
    uint32_t extent;
    uint16_t mode;      /* 0, or BALE_ROOT_MODE_IN_CONTAINER | permission bits */
    uint8_t flags;      /* BALE_ROOT_* */
    uint8_t features;   /* BALE_FEATURE_* */
    uint8_t height;     /* of the tree; BALE_HEIGHT_SETTINGS: tree is the settings page */
    uint8_t codec;      /* setting for new data: a codec id or BALE_CODEC_AUTO */
    uint16_t parameter; /* of the setting */
    /* These lie in the settings page: the slot has no part of them. */
    struct bale_field field; /* of the setting */
    uint8_t rounds;          /* enum bale_rounds */
    uint64_t greatest_step;  /* with which elements were rounded, a binary64's bits; 0: none was */
};

/* Writes the slot's BALE_ROOT_SIZE bytes, checksum included. */
void bale_root_encode(const struct bale_root *root, uint8_t slot[static BALE_ROOT_SIZE]);

/* Reads and validates one slot. BALE_OK, BALE_E_CORRUPT, or BALE_E_UNSUPPORTED: then, if the reason
 * is a feature tag, its four characters and a NUL are in feature (unprintable characters as '?'),
 * else feature is empty. */
int bale_root_decode(const uint8_t slot[static BALE_ROOT_SIZE], struct bale_root *root,
                     char feature[static 5]);

/* Whether the root's data may lie there, by the rules for its tree fields: those of a root without
 * a settings page, or those in the page. BALE_OK or BALE_E_CORRUPT. */
int bale_root_check_tree(const struct bale_root *root, const struct bale_ref *tree, uint8_t height);

/* The valid slots of a container's first bytes. */
struct bale_roots {
    struct bale_root root[BALE_SLOTS];
    int newest;      /* slot of the newest root, -1: none */
    int fallback;    /* slot of the other valid root, -1: none */
    bool damaged;    /* a slot is neither valid nor all zero: FORMAT.md 8 rule 6 */
    char feature[5]; /* with BALE_E_UNSUPPORTED: the unknown tag, or empty for a newer version */
};

/* head: the first length bytes of the container, length = min(container's size, BALE_DATA_START);
 * what is missing counts as zeros. BALE_OK with newest = -1: the container is empty (length 0).
 * BALE_E_BLANK: all bytes of both slots are zero: FORMAT.md 8 rule 7 decides by the sessions.
 * BALE_E_CORRUPT, BALE_E_UNSUPPORTED. Unless BALE_OK, newest and fallback are -1. */
int bale_roots_read(const uint8_t *head, size_t length, struct bale_roots *roots);

#endif
