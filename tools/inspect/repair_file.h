/* Repairs one container of a store. */
#ifndef BALE_TOOLS_INSPECT_REPAIR_FILE_H
#define BALE_TOOLS_INSPECT_REPAIR_FILE_H

#include "format/reason.h"
#include "fs/container/repair.h"
#include "tools/common/reader.h"

/* Repairs the container below, a path relative to the store, which is open for repair if
 * repair->write is set. err, recovery: of opening it by the rules; wanted as for bale_repair_root.
 * What is replaced is kept in .balefs/damaged; repair->found gets its arg. 1: repair has what was
 * done; 0: nothing can be done; a bale_err, and why. Any thread. */
int bale_repair_file(const struct bale_reader *reader, const char *below, int err,
                     enum bale_recovery recovery, enum bale_root_pick wanted,
                     struct bale_repair *repair, struct bale_reason *why);

#endif
