/* A fake GPU's memory of batches that were given up while their items were written: it goes on
 * writing rubbish to the outputs until the device is back. */
#ifndef BALE_TESTS_SUPPORT_FAKE_QUARANTINE_H
#define BALE_TESTS_SUPPORT_FAKE_QUARANTINE_H

#include "kernels/engine/gpu.h"
#include "tests/support/fake_memory.h"

struct fake_quarantine {
    const struct bale_gpu_options *options; /* NULL: there is no such batch */
    struct fake_range *outputs;
    unsigned count;
    unsigned batches; /* to refuse until the device is back */
};

/* The list is given up: says so, in the log as well. */
void fake_quarantine_begin(struct fake_quarantine *late, const struct bale_gpu_options *options,
                           const struct bale_item *list);
/* Writes to all outputs. */
void fake_quarantine_write(const struct fake_quarantine *late);
/* Whether a batch that comes is refused. The third is the last, if the device comes back. */
bool fake_quarantine_refuses(struct fake_quarantine *late, bool comes_back);
/* The device is back, if there was such a batch. */
void fake_quarantine_end(struct fake_quarantine *late);

#endif
