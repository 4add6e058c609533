/* The extents that a bench takes from files and trees, as a mount would have them. If all of them
 * are more than the limit, it takes some, spread evenly over all, so that a file whose beginning
 * differs from the rest is not judged by its beginning. */
#ifndef BALE_TOOLS_BENCH_SAMPLE_H
#define BALE_TOOLS_BENCH_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bale_bench_sample {
    char **names; /* NULL-terminated: files, directories with everything below, or pipes */
    uint32_t extent;
    size_t limit; /* bytes */
    /* Results. Holes are not counted. Of pipes and devices, the first bytes are taken. */
    uint8_t
        *bytes; /* the caller frees it; or the caller's own, with room for limit, if it is set */
    size_t size;
    uint32_t *lengths; /* of the extents, one behind the other in bytes; the caller frees it */
    size_t count;
    uint64_t files, total; /* there are: files, and bytes in them */
};

/* False after a message: something that was named cannot be read, or there is no memory. What
 * cannot be read below a directory is named in a message and left out. */
bool bale_bench_sample_take(struct bale_bench_sample *sample);

#endif
