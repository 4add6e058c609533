/* lzr (spec.md) on the device: the format's numbers, and classes. */
#ifndef BALE_KERNELS_LZR_CLASSES_CUH
#define BALE_KERNELS_LZR_CLASSES_CUH

#include <stdint.h>

namespace bale_lzr
{
constexpr uint32_t LITERAL_BITS = 11, CLASS_BITS = 10; /* of probabilities */
constexpr uint32_t RUNS = 27, MATCHES = 61, OFFSETS = 62;
constexpr uint32_t RUN_ONLY = 26;
constexpr uint32_t RUN_MOST = 64; /* a run of this length has no match */
constexpr uint32_t REPEATS = 3;
constexpr uint32_t GROUP = 256; /* sequences */
constexpr uint32_t GROUP_LITERALS = 1024;
constexpr uint32_t GROUP_ROOM = GROUP_LITERALS - 1 + 32 * RUN_MOST;
constexpr uint32_t STREAMS = 2, LITERAL_TABLES = 4;
constexpr uint32_t CARRIED = 64;

/* A class: the least of its values, and the raw bits. */
struct value_class {
    uint32_t base, bits;
};

__device__ inline value_class run_class(uint32_t c)
{
    if (c < 16)
        return value_class{c, 0};
    if (c < 20)
        return value_class{16 + 2 * (c - 16), 1};
    if (c < 22)
        return value_class{24 + 4 * (c - 20), 2};
    return c < RUN_ONLY ? value_class{32 + 8 * (c - 22), 3} : value_class{RUN_MOST, 0};
}

__device__ inline value_class match_class(uint32_t c)
{
    if (c <= 16)
        return value_class{c == 0 ? 0 : 2 + c, 0};
    const uint32_t bits = (c - 17) / 4 + 2;
    return value_class{3 + ((4 + (c - 17) % 4) << bits), bits};
}

/* For classes that do not repeat an offset. */
__device__ inline value_class offset_class(uint32_t c)
{
    if (c < 6)
        return value_class{c < REPEATS ? 0 : c - 2, 0};
    const uint32_t bits = (c - 6) / 4;
    return value_class{(4 + (c - 6) % 4) << bits, bits};
}

__device__ inline uint32_t class_of_run(uint32_t run)
{
    if (run < 16)
        return run;
    if (run < 24)
        return 16 + (run - 16) / 2;
    if (run < 32)
        return 20 + (run - 24) / 4;
    return run < RUN_MOST ? 22 + (run - 32) / 8 : RUN_ONLY;
}

__device__ inline uint32_t log2_of(uint32_t value)
{
    return 31 - (uint32_t)__clz((int)value);
}

__device__ inline uint32_t class_of_length(uint32_t length)
{
    const uint32_t value = length - 3;

    if (value < 16)
        return 1 + value;
    const uint32_t bits = log2_of(value) - 2;
    return 17 + 4 * (bits - 2) + (value >> bits & 3);
}

__device__ inline uint32_t class_of_offset(uint32_t offset)
{
    if (offset < 4)
        return 2 + offset;
    const uint32_t bits = log2_of(offset) - 2;
    return 6 + 4 * bits + (offset >> bits & 3);
}
} // namespace bale_lzr

#endif
