/* The parameter of codec culzss, in frames and in settings (kernels/culzss/spec.md). */
#ifndef BALE_FORMAT_CULZSS_H
#define BALE_FORMAT_CULZSS_H

#include <stdbool.h>
#include <stdint.h>

#define BALE_CULZSS_V_MIN 1
#define BALE_CULZSS_V_MAX 2

static inline bool bale_culzss_is_valid(uint16_t parameter)
{
    return parameter >= BALE_CULZSS_V_MIN && parameter <= BALE_CULZSS_V_MAX;
}

#endif
