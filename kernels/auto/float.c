/* The estimate of the codec float (spec.md, "Float"). */
#include "kernels/float/float.h"
#include "kernels/auto/auto.h"

uint32_t bale_auto_float(const uint8_t *raw, uint32_t raw_length, uint32_t sample_length,
                         uint32_t below)
{
    const struct float_steps *steps = float_steps_best();
    const uint32_t first = (uint32_t)((uint64_t)below * FLOAT_FIRST_BYTES / sample_length);
    const struct float_steps *of;
    struct float_layout type;
    uint32_t size, length;
    uint64_t its;

    if (!float_guess_type(steps, raw, raw_length, first, &type))
        return sample_length;
    size = 1u << type.size_log2;
    length = FLOAT_ESTIMATE_BYTES - FLOAT_ESTIMATE_WINDOWS * FLOAT_GROUP * size;
    of = &steps[type.size_log2 - 1];
    its = of->estimate(&type, raw, raw_length);
    its += 3 * (length / size) / 64; /* headers and deltas */
    return (uint32_t)(its * sample_length / length);
}
