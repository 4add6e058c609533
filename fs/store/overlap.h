/* Store and mount point must not overlap: a store inside its own mount would be read through
 * itself. */
#ifndef BALE_FS_STORE_OVERLAP_H
#define BALE_FS_STORE_OVERLAP_H

#include <stdbool.h>

#include "format/reason.h"

/* BALE_E_INVALID and why: one of the two directories is the other or lies in it. */
int bale_overlap_check(const char *store, const char *mountpoint, struct bale_reason *why);

/* How two directories overlap, whatever names they have: a constant text that completes
 * "DIRECTORY:", such as "it is the store itself". NULL: they do not, or one of them cannot be
 * opened. */
const char *bale_overlap_find(const char *store, const char *directory);

/* Whether path is directory or lies in it, whatever names they have. */
bool bale_overlap_lies_in(const char *path, const char *directory);

#endif
