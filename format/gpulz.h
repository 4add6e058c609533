/* The parameter of codec gpulz, in frames and in settings (kernels/gpulz/spec.md). */
#ifndef BALE_FORMAT_GPULZ_H
#define BALE_FORMAT_GPULZ_H

#include <stdbool.h>
#include <stdint.h>

#define BALE_GPULZ_WINDOW_MIN 32u /* symbols */
#define BALE_GPULZ_WINDOW_MAX 255u
#define BALE_GPULZ_PIECE_LOG2_MIN 11u /* bytes */
#define BALE_GPULZ_PIECE_LOG2_MAX 16u
#define BALE_GPULZ_SYMBOL_LOG2_MAX 3u /* bytes */

/* Bits of the parameter at which its fields begin. */
#define BALE_GPULZ_WINDOW_AT 0
#define BALE_GPULZ_PIECE_AT 8
#define BALE_GPULZ_SYMBOL_AT 11

/* A setting with this bit leaves the size of symbols open: the extent's bytes decide. */
#define BALE_GPULZ_ADAPTIVE 0x2000u

static inline uint32_t bale_gpulz_window(uint16_t parameter)
{
    return parameter & 0xffu;
}

static inline unsigned bale_gpulz_piece_log2(uint16_t parameter)
{
    return BALE_GPULZ_PIECE_LOG2_MIN + (parameter >> BALE_GPULZ_PIECE_AT & 7u);
}

static inline unsigned bale_gpulz_symbol_log2(uint16_t parameter)
{
    return parameter >> BALE_GPULZ_SYMBOL_AT & 3u;
}

static inline uint16_t bale_gpulz_parameter(unsigned symbol_log2, unsigned piece_log2,
                                            uint32_t window)
{
    return (uint16_t)(symbol_log2 << BALE_GPULZ_SYMBOL_AT |
                      (piece_log2 - BALE_GPULZ_PIECE_LOG2_MIN) << BALE_GPULZ_PIECE_AT | window);
}

/* Whether a frame may have the parameter. */
static inline bool bale_gpulz_is_definite(uint16_t parameter)
{
    return parameter >> (BALE_GPULZ_SYMBOL_AT + 2) == 0 &&
           bale_gpulz_piece_log2(parameter) <= BALE_GPULZ_PIECE_LOG2_MAX &&
           bale_gpulz_window(parameter) >= BALE_GPULZ_WINDOW_MIN;
}

#endif
