/* A fake GPU's memory of batches that were given up while their items were written: it goes on writing
 * rubbish to the outputs until the device is back. */
#ifndef BALE_TESTS_SUPPORT_FAKE_LATE_H
#define BALE_TESTS_SUPPORT_FAKE_LATE_H

#include "kernels/engine/gpu.h"
#include "tests/support/fake_memory.h"

struct fake_late {
    const struct bale_gpu_options *options; /* NULL: there is no such batch */
    struct fake_range *outputs;
    unsigned count;
    unsigned batches; /* to refuse until the device is back */
};

/* The list is given up: says so, in the log as well. */
void fake_late_begin(struct fake_late *late, const struct bale_gpu_options *options,
                     const struct bale_item *list);
/* Writes to all outputs. */
void fake_late_write(const struct fake_late *late);
/* Whether a batch that comes is refused. The third is the last, if the device comes back. */
bool fake_late_refuses(struct fake_late *late, bool comes_back);
/* The device is back, if there was such a batch. */
void fake_late_end(struct fake_late *late);

#endif
