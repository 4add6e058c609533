/* Shows again and again what the daemon of a mount does. */
#ifndef BALE_TOOLS_INSPECT_WATCH_H
#define BALE_TOOLS_INSPECT_WATCH_H

#include <stdbool.h>

/* Parses the seconds between two samples, "0.5". */
bool bale_watch_interval(const char *text, double *seconds);

/* Prints a line or a JSON object for each interval; on a terminal a line replaces the one before.
 * Ends when the mount at path ends or nobody reads. Returns the exit code. */
int bale_watch(const char *path, double seconds, bool json);

#endif
