/* Checks where commands write: outside of stores, because a file there would not be a container,
 * and outside of what they read. The paths need not exist. */
#ifndef BALE_TOOLS_COMMON_OUTPUT_PATH_H
#define BALE_TOOLS_COMMON_OUTPUT_PATH_H

#include <stdbool.h>

/* True if path lies neither in a store nor in a mount. Prints nothing. */
bool bale_output_path_check_all(const char *path);

/* Refuses a path in the directory of a store; a path in its mount is allowed. 0, or a negative
 * bale_err after a message. */
int bale_output_path_check_stores(const char *path);

/* Refuses a path that is the store, lies in it or in a mount of it, or contains it, by whatever
 * name: "PATH: WHAT (STORE): INSTEAD". store is absolute. Returns as above. */
int bale_output_path_check_store(const char *store, const char *path, const char *instead);

/* Refuses a path that is tree or lies in it: the path of a new store that is to receive the
 * contents of tree. "TREE: the store lies inside it (PATH): INSTEAD". Returns as above. */
int bale_output_path_check_tree(const char *tree, const char *path, const char *instead);

/* Refuses a path in a mount, for a new store. Returns as above. */
int bale_output_path_check_mounts(const char *path);

#endif
