#include <stdio.h>
#include <string.h>

#include "format/err.h"
#include "format/frame.h"
#include "kernels/auto/auto.h"

#define SPEED "for=speed"

int bale_auto_setting_parse(const char *options, int16_t *parameter, char *why, size_t why_size)
{
    if (!options || strcmp(options, "for=ratio") == 0) {
        *parameter = BALE_AUTO_FOR_RATIO;
        return BALE_OK;
    }
    if (strcmp(options, SPEED) == 0) {
        *parameter = BALE_AUTO_FOR_SPEED;
        return BALE_OK;
    }
    snprintf(why, why_size,
             "\"%.32s\" is not an option of auto, which has for=ratio and " SPEED ".", options);
    return BALE_E_INVALID;
}

void bale_auto_setting_print(int16_t parameter, char *text, size_t size)
{
    snprintf(text, size, "auto%s", parameter == BALE_AUTO_FOR_SPEED ? ":" SPEED : "");
}
