#include "format/reason.h"

#include <stdarg.h>
#include <stdio.h>

void bale_reason_set(struct bale_reason *reason, const char *format, ...)
{
    va_list args;

    if (!reason)
        return;
    va_start(args, format);
    vsnprintf(reason->text, sizeof reason->text, format, args);
    va_end(args);
}
