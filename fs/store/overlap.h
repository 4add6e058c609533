/* A store inside its own mount would be read through itself. */
#ifndef BALE_FS_STORE_OVERLAP_H
#define BALE_FS_STORE_OVERLAP_H

#include <stdbool.h>

#include "format/reason.h"

/* BALE_E_INVALID and why: one of the two directories is the other, or lies
 * in it. */
int bale_overlap_check(const char *store, const char *mountpoint, struct bale_reason *why);

/* How two directories lie, by whatever name: constant text as for "DIRECTORY: it is the store
 * itself"; NULL: apart, or one of them cannot be looked at. */
const char *bale_overlap_find(const char *store, const char *directory);

/* Whether one directory is the other or lies in it, by whatever name. */
bool bale_overlap_lies_in(const char *path, const char *directory);
#endif
