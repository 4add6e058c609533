/* Decimal texts of binary64 numbers, whatever the locale and the rounding mode of the process. */
#ifndef BALE_KERNELS_FRAME_NUMBER_H
#define BALE_KERNELS_FRAME_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* Reads digits with at most one point and an exponent, after a minus or none ("1e-3", "-0.5").
 * *down and *up get the largest binary64 not above it, and the least not below it, infinite beyond
 * the largest number. Returns its end, or NULL if there is no number. */
const char *bale_number_read(const char *text, double *down, double *up);

/* a - b and a x b, rounded downwards; finite operands. */
double bale_number_difference_down(double a, double b);
double bale_number_product_down(double a, double b);

/* Writes the shortest text, of at most BALE_NUMBER_TEXT bytes, whose *down is the number, which is
 * positive. */
#define BALE_NUMBER_TEXT 32
void bale_number_print_down(double number, char text[static BALE_NUMBER_TEXT]);

static inline uint64_t bale_number_bits(double number)
{
    union {
        double number;
        uint64_t bits;
    } u = {.number = number};

    return u.bits;
}

static inline double bale_number_of_bits(uint64_t bits)
{
    union {
        uint64_t bits;
        double number;
    } u = {.bits = bits};

    return u.number;
}

#endif
