/* The library with a fake GPU (tests/support/fake_gpu.c) beside the CPU. The plug-in is found where
 * LD_LIBRARY_PATH says. */
#ifndef BALE_TESTS_UNIT_KERNELS_API_GPU_RIG_H
#define BALE_TESTS_UNIT_KERNELS_API_GPU_RIG_H

#include "kernels/api/context.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

enum { K = 1024, LARGE = 5 * 1024 * K + 77 };

extern struct bale_context *cpu;
extern uint8_t raw[LARGE];
extern uint8_t *memory; /* of the device: nobody may look there */
extern uint8_t *real;   /* what is in it */

void gpu_rig_begin(void);
void gpu_rig_end(void);

/* faults: as in tests/support/fake_gpu.h. */
struct bale_context *gpu_open(const char *engine, const char *faults);

/* The CPU's stream of raw[0, length). */
struct bale_buffer gpu_made_by_cpu(const struct bale_params *params, size_t length);

/* raw[0, length) from memory of the host or the device to memory of either or of the library's, and
 * back. expected: the CPU's stream. */
void gpu_check_trip(struct bale_context *context, const struct bale_params *params, size_t length,
                    bool device, const struct bale_buffer *expected);
void gpu_round_trip(struct bale_context *context, const struct bale_params *params, size_t length,
                    bool device);

#endif
