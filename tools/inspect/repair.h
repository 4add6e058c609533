/* Makes a store's own files again, and settles which root of a container stays. */
#ifndef BALE_TOOLS_INSPECT_REPAIR_H
#define BALE_TOOLS_INSPECT_REPAIR_H

#include "format/reason.h"
#include "tools/common/reader.h"

/* If .balefs/volume.json and its copy are both lost or damaged, makes them again from the roots of
 * the containers in path: where modes are, and the codec and extent size that most files have.
 * BALE_OK: done gets a text without a path that says what was made; it is empty if nothing was to
 * be done. Else a bale_err, and why. BALE_E_UNSUPPORTED: a newer program wrote a container. */
int bale_repair_volume(const char *path, struct bale_reason *done, struct bale_reason *why);

/* Restores lost pages of a container's index (bale_container_restore), under its newest root. What
 * they replace is kept in .balefs/damaged. Returns how many were restored, or a bale_err, and why.
 * Any thread. */
int bale_repair_index(const struct bale_reader *reader, const char *below, struct bale_reason *why);

/* Settles the root of a container (bale_container_settle): the root in use stays, or the one that
 * pick says. below: a path relative to the store, which is open for repair. A bale_err, and why.
 * Any thread. */
int bale_repair_container(const struct bale_reader *reader, const char *below,
                          enum bale_root_pick pick, struct bale_reason *why);

/* Writes a lost root slot again, as a root that confirms the other one, which serves. Returns 1 if
 * it was lost, 0 if not, or a bale_err, and why. Any thread. */
int bale_repair_slot(const struct bale_reader *reader, const char *below, struct bale_reason *why);

#endif
