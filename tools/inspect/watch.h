/* What a mount's daemon does, again and again. */
#ifndef BALE_TOOLS_INSPECT_WATCH_H
#define BALE_TOOLS_INSPECT_WATCH_H

#include <stdbool.h>

/* Seconds between two looks, "0.5". */
bool bale_watch_interval(const char *text, double *seconds);

/* Prints a line for each interval, or an object; on a terminal the line takes the place of the one
 * before. Until the mount at path ends or nobody reads. Returns the exit code. */
int bale_watch(const char *path, double seconds, bool json);

#endif
