/* Makes a store's own files again. */
#ifndef BALE_TOOLS_INSPECT_REPAIR_H
#define BALE_TOOLS_INSPECT_REPAIR_H

#include "format/reason.h"
#include "tools/common/reader.h"

/* If .balefs/volume.json and its copy are both lost or damaged, makes them again from the roots of
 * the containers in path: where modes are, and the codec and extent size that most files have.
 * BALE_OK: done gets a text without a path that says what was made; it is empty if nothing was to
 * be done. Else a bale_err, and why. BALE_E_UNSUPPORTED: a newer program wrote a container. */
int bale_repair_volume(const char *path, struct bale_reason *done, struct bale_reason *why);

#endif
