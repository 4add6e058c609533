/* fsck.balefs and mkfs.balefs, which fsck(8) and mkfs(8) run. */
#ifndef BALE_TOOLS_INSPECT_SYSTEM_HELPER_H
#define BALE_TOOLS_INSPECT_SYSTEM_HELPER_H

#include <stdbool.h>

/* True if the program was called by one of these names. */
bool bale_is_system_helper(const char *program);

/* Runs balefs fsck or balefs init with the options that fsck(8) and mkfs(8) hand on: "fsck.balefs
 * [-anprytfvVMRT] [-C[FD]] STORE", "mkfs.balefs [-vV] [OPTIONS of init] STORE [SIZE]". Returns the
 * exit code, as these commands expect it. */
int bale_system_helper(int argc, char **argv);

#endif
