/* A container on a file in memory, with a model of what it must hold: plain bytes. Every change is
 * made to both. */
#ifndef BALE_TESTS_SUPPORT_RIG_H
#define BALE_TESTS_SUPPORT_RIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/container/container.h"
#include "tests/support/memory_io.h"

struct rig {
    struct memory_file file;
    struct bale_container *container;
    struct bale_container_config config;
    struct bale_container_attr defaults;
    struct bale_scratch *scratch;
    _Atomic uint32_t session;
    uint32_t certain_below; /* sessions below are certain, */
    uint32_t certain_from;  /* and from here on; 0: none */
    bool zeros_empty;       /* a header of zeros is an empty file */
    bool foreign;           /* the others are unknown, not uncertain */

    uint8_t *model;
    uint64_t size;
    uint64_t size_max;
    uint64_t generation; /* of the open transaction */
    uint32_t piece;      /* most changes are not longer */
    uint64_t random;
    bool incompressible; /* what is written; otherwise at random */
};

/* A setting with a field, which a settings page has: of an array with rows of x elements. False: no
 * codec has fields. */
bool rig_field_setting(uint64_t x, struct bale_setting *setting);

/* Nothing is open yet; extent: for new containers. */
void rig_init(struct rig *rig, uint64_t seed, uint32_t extent, uint64_t size_max);
void rig_clear(struct rig *rig);

uint32_t rig_random(struct rig *rig, uint32_t below);

/* Opens what is in the file. The model is not touched. */
int rig_open(struct rig *rig);
/* As bale_container_peek of that file. */
int rig_peek(struct rig *rig, struct bale_container_attr *attr, char *feature);
void rig_close(struct rig *rig);
/* A first session of a new file. */
void rig_start(struct rig *rig, uint64_t size_max);
void rig_reopen(struct rig *rig);

/* As if the writer were killed: nothing is written any more. */
void rig_die(struct rig *rig);

int rig_begin(struct rig *rig);

/* New random content for [offset, offset + length), in frames that end at extent borders; the size
 * grows if need be. The container's error, after which the model holds what it did before in the
 * part that was not written. */
int rig_write(struct rig *rig, uint64_t offset, uint32_t length);

/* Reads an extent as it should be and writes it as one frame. */
int rig_rewrite(struct rig *rig, uint64_t offset);

int rig_cut(struct rig *rig, uint64_t offset, uint64_t length);
int rig_truncate(struct rig *rig, uint64_t size);

/* One of the above, at random. */
int rig_change(struct rig *rig);

void rig_commit(struct rig *rig, bool durable);
struct bale_container_attr rig_attr(struct rig *rig);

/* Reads the whole file into data, which has room for size_max; *size from the attributes. */
int rig_read(struct rig *rig, uint8_t *data, uint64_t *size);

/* Checks that the container holds what the model does; committed: also the size, and the structure
 * on disk. */
bool rig_matches(struct rig *rig, bool committed);

/* Hash of the model, or of data. */
uint64_t rig_digest(const uint8_t *data, uint64_t size);

#endif
