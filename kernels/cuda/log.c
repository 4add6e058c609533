#include <stdarg.h>
#include <stdio.h>

#include "kernels/cuda/engine.h"

enum { LINE_SIZE = 512 };

void bale_cuda_log(const struct cuda_engine *engine, int level, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (engine->options.log)
        engine->options.log(level, line);
}
