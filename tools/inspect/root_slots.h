/* The root slots of a container, as inspect shows them. */
#ifndef BALE_TOOLS_INSPECT_ROOT_SLOTS_H
#define BALE_TOOLS_INSPECT_ROOT_SLOTS_H

#include <jansson.h>

#include "format/root.h"

struct bale_root_slot {
    const char *state; /* "valid", "zero", "damaged", "unsupported" */
    struct bale_root root;
    char feature[5]; /* of an unsupported one, or empty */
};

struct bale_root_slots {
    struct bale_root_slot slots[BALE_SLOTS];
    uint64_t chosen;   /* the generation that the container opened with; 0: none */
    uint64_t rejected; /* the generation whose data is not all there; 0: none */
};

/* Reads both slots. BALE_OK, or the error of reading. */
int bale_root_slots_read(int fd, struct bale_root_slots *roots);

void bale_root_slot_print(const struct bale_root_slots *roots, unsigned number);
json_t *bale_root_slot_json(const struct bale_root_slots *roots, unsigned number);

#endif
