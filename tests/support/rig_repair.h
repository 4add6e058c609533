/* Repairs of a rig's container, as fsck --repair does them. */
#ifndef BALE_TESTS_SUPPORT_RIG_REPAIR_H
#define BALE_TESTS_SUPPORT_RIG_REPAIR_H

#include "fs/container/repair.h"
#include "tests/support/rig.h"

/* What is replaced is checked to have been announced. repair: settle and salvage are set. wanted as
 * for bale_repair_root. The result of bale_container_repair, BALE_E_NOENT if nothing may be
 * changed, or the error of opening. */
int rig_repair(struct rig *rig, enum bale_root_pick wanted, struct bale_repair *repair);

/* Reads what can be read of the file into data, which has room for size_max, and sets lost[i] for
 * each byte that cannot. An error but BALE_E_CORRUPT, or BALE_OK. */
int rig_read_around(struct rig *rig, uint8_t *data, bool *lost, uint64_t *size);

#endif
