/* Running a program for what it says. */
#ifndef BALE_TOOLS_COMMON_PROGRAM_H
#define BALE_TOOLS_COMMON_PROGRAM_H

#include <stddef.h>

/* Runs words[0], found in PATH, and takes in what it writes to its descriptor fd, as text, as much
 * as there is room for. Its exit code; -1 and errno: it could not be run, or 0: a signal ended it. */
int bale_spawn(char *const words[], int fd, char *said, size_t size);

#endif
