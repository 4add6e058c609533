/* After a power loss: a disk may keep any part of the changes since the last sync. */
#ifndef BALE_TESTS_SUPPORT_POWER_LOSS_H
#define BALE_TESTS_SUPPORT_POWER_LOSS_H

#include "tests/support/memory_io.h"

/* Which pending changes reach a sector of 512 bytes. */
struct power_loss {
    uint64_t salt;
    size_t first; /* operations before are on disk */
    size_t end;   /* the crash */
    int kind;     /* 0: up to a time of its own for each sector; 1: none or all; 2: any; 3: nearly
                     all */
};

/* Makes file what is left of ops, done to a file that held what it holds. */
void power_loss_apply(const struct memory_op *ops, const struct power_loss *loss,
                      struct memory_file *file);

/* The number of operations up to the last sync before end. */
size_t power_loss_synced(const struct memory_op *ops, size_t end);

#endif
