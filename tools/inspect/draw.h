/* balefs inspect --svg. */
#ifndef BALE_TOOLS_INSPECT_DRAW_H
#define BALE_TOOLS_INSPECT_DRAW_H

#include <stdbool.h>

/* Draws the extents of path, a container or a file in a mount, into the file svg ("-": standard
 * output), which may be a picture already, or with force anything. Says what is wrong with
 * bale_message. 0 or a negative bale_err. */
int bale_draw_extents(const char *path, const char *svg, bool force);

#endif
