/* The speed of rounding alone, for tests/bench/rounding: each way in which this processor can do
 * it, the fastest first, in GB/s of the thread's CPU time, from one place in the processor's cache
 * to another.
 *
 * usage: rounding_loop f32|f64 BOUND big|little FILE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/err.h"
#include "kernels/round/mode.h"
#include "kernels/round/round.h"

enum { BYTES = 1 << 18, RUNS = 41 };

static double thread_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median of the bytes' times. */
static double measure(bale_round_way *way, const struct bale_rounding *rounding, const uint8_t *in)
{
    static uint8_t out[BYTES];
    double seconds[RUNS];

    for (int run = 0; run < RUNS; run++) {
        const double begin = thread_seconds();
        way(rounding, out, in, BYTES / bale_rounding_width(rounding));
        seconds[run] = thread_seconds() - begin;
    }
    qsort(seconds, RUNS, sizeof *seconds, compare);
    return seconds[RUNS / 2];
}

int main(int argc, char **argv)
{
    static uint8_t in[BYTES];
    struct bale_rounding rounding;
    struct bale_float_mode mode;
    uint64_t step;
    FILE *file;
    double g;

    if (argc != 5) {
        fprintf(stderr, "usage: rounding_loop f32|f64 BOUND big|little FILE\n");
        return 2;
    }
    g = 2 * strtod(argv[2], NULL);
    memcpy(&step, &g, sizeof step);
    if (bale_rounding_make(&rounding, strcmp(argv[1], "f64") == 0 ? BALE_ROUND_F64 : BALE_ROUND_F32,
                           strcmp(argv[3], "big") == 0, step) < 0) {
        fprintf(stderr, "rounding_loop: %s is no bound\n", argv[2]);
        return 2;
    }
    file = fopen(argv[4], "rb");
    if (!file || fread(in, sizeof in, 1, file) != 1) {
        fprintf(stderr, "rounding_loop: %s: cannot be read, or is too short\n", argv[4]);
        return 1;
    }
    fclose(file);
    bale_float_mode_enter(&mode);
    for (size_t i = 0; bale_round_way_at(i); i++)
        printf("%s%.1f", i ? " " : "", BYTES / 1e9 / measure(bale_round_way_at(i), &rounding, in));
    bale_float_mode_leave(&mode);
    printf("\n");
    return 0;
}
