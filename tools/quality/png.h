/* A small PNG image inside of a text. */
#ifndef BALE_TOOLS_QUALITY_PNG_H
#define BALE_TOOLS_QUALITY_PNG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { BALE_PNG_SIDE = 256 }; /* pixels of a side at most */

/* Writes the image, three bytes for each pixel from the upper left on, as "data:image/png;base64,"
 * and the rest. It is not compressed. False: no memory. */
bool bale_png_write(const uint8_t *rgb, uint32_t width, uint32_t height, FILE *out);

#endif
