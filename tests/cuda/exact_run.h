/* The whole of a test that compares an engine's frames with the CPU's: from the plug-in to the
 * figures at the end. */
#ifndef BALE_TESTS_CUDA_EXACT_RUN_H
#define BALE_TESTS_CUDA_EXACT_RUN_H

#include <stdio.h>

#include "tests/check.h"
#include "tests/cuda/exact_harm.h"
#include "tests/cuda/exact_items.h"
#include "tests/cuda/rig.h"

enum { EXACT_WATCHDOG_MS = 300000 }; /* an emulated device is slow */

/* Ends the program as skipped where there is no GPU. */
static inline void exact_begin(struct exact_items *list, struct rig *rig, const char *plugin,
                               uint64_t seed)
{
    const struct bale_gpu_options options = {.verify = true, .watchdog_ms = EXACT_WATCHDOG_MS};

    setvbuf(stdout, NULL, _IOLBF, 0);
    rig_load(rig, plugin);
    exact_items_open(list, rig, seed);
    rig_open(rig, &options);
}

/* Encodes the jobs, decodes them, and decodes what was made of them to harm. */
static inline void exact_run_jobs(struct exact_items *list)
{
    exact_encode_all(list);
    exact_drop_zero(list);
    exact_decode_all(list);
    exact_harm_all(list);
    exact_decode_all(list);
    list->count = 0;
}

/* Returns the program's exit status. */
static inline int exact_end(struct exact_items *list)
{
    struct rig *rig = list->rig;

    CHECK_EQ_U(rig_stats(rig).mismatches, 0);
    CHECK(!rig_stats(rig).lost);
    printf("%s: %lu items encoded, %u left to the CPU, %lu decoded, of which %u refused\n",
           rig_stats(rig).device, list->encoded, list->unsuited, list->decoded, list->refused);
    rig_close(rig);
    exact_items_close(list);
    return check_result();
}

#endif
