/* The timeline of opening a GPU (struct bale_gpu_timeline), in words. */
#ifndef BALE_KERNELS_ENGINE_TIMELINE_H
#define BALE_KERNELS_ENGINE_TIMELINE_H

#include "kernels/engine/gpu.h"

/* Enough for bale_timeline_text. */
enum { BALE_TIMELINE_TEXT = 320 };

/* "open after 812 ms: plug-in 12, driver 210, ...; first range pinned after 850 ms, ...". Phases
 * that took no time and events that have not happened are left out. Returns text. */
const char *bale_timeline_text(const struct bale_gpu_timeline *timeline,
                               char text[static BALE_TIMELINE_TEXT]);

#endif
