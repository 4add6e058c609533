/* The kernel that rounds cells, by itself, for a test. */
#ifndef BALE_KERNELS_CUDA_TEST_ROUND_H
#define BALE_KERNELS_CUDA_TEST_ROUND_H

#include <stdbool.h>

#include "kernels/codec/tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes device memory for so many cells, which stays until the program ends. False: there is none,
 * or no device. */
bool bale_test_round_open(uint32_t cells);

/* Rounds cells[0, count) of the host's memory, of BALE_CUDA_CELL bytes each, which are chunks of
 * frames[0, frame_count), at most as many, and sets results[0, count). False: the device failed. */
bool bale_test_round_run(const struct cuda_chunk *chunks, uint32_t count,
                         const struct cuda_frame *frames, uint32_t frame_count, uint8_t *cells,
                         struct cuda_result *results);

#ifdef __cplusplus
}
#endif

#endif
