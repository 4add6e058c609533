/* Prints the damage of a container as text and as JSON. */
#ifndef BALE_TOOLS_INSPECT_FAULT_H
#define BALE_TOOLS_INSPECT_FAULT_H

#include <jansson.h>
#include <stddef.h>

#include "fs/container/container.h"

/* "offset N: what is wrong: expected X found Y (position N)" */
void bale_fault_text(const struct bale_fault *fault, char *text, size_t size);

/* below: the path relative to the store. */
json_t *bale_fault_json(const char *below, const struct bale_fault *fault);

#endif
