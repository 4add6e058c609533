/* What commands write lies outside of stores: there it would be no container; and outside of what
 * they read. Paths need not exist. */
#ifndef BALE_TOOLS_COMMON_OUTPUT_PATH_H
#define BALE_TOOLS_COMMON_OUTPUT_PATH_H

#include <stdbool.h>

/* Whether path lies in no store and in no mount. Says nothing. */
bool bale_output_path_check_all(const char *path);

/* Refuses a path in the directory of a store. Its mount may be written to. 0 or a negative bale_err,
 * after a message. */
int bale_output_path_check_stores(const char *path);

/* Refuses a path that is the store, or lies in it, or in a mount of it, or that the store lies in, by
 * whatever name: "PATH: WHAT (STORE): INSTEAD". store: absolute. Likewise. */
int bale_output_path_check_store(const char *store, const char *path, const char *instead);

/* Refuses a path in tree, or tree itself, for a new store that takes in what is in tree: "TREE: the
 * store lies inside it (PATH): INSTEAD". Likewise. */
int bale_output_path_check_tree(const char *tree, const char *path, const char *instead);

/* Refuses a path in a mount, for a new store. Likewise. */
int bale_output_path_check_mounts(const char *path);

#endif
