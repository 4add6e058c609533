/* balefs bench engine, a command below bench. */
#ifndef BALE_TOOLS_BENCH_ENGINE_H
#define BALE_TOOLS_BENCH_ENGINE_H

#include "tools/balefs.h"

extern const struct bale_command bale_command_bench_engine;

#endif
