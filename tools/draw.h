/* balefs inspect --svg. */
#ifndef BALE_TOOLS_DRAW_H
#define BALE_TOOLS_DRAW_H

#include "tools/place.h"

/* Draws the extents of the container at place, which path names, into the file svg ("-": standard
 * output), which may be a picture already, or with force anything. Says what is wrong with
 * bale_complain. 0 or a negative bale_err. */
int bale_draw_extents(const char *path, const struct bale_place *place, const char *svg,
                      bool force);

#endif
