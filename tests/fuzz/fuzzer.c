/* libFuzzer's entry for the target FUZZ_TARGET. */
#include <string.h>

#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuzz_target *target = fuzz_targets;

    while (strcmp(target->name, FUZZ_TARGET) != 0)
        target++;
    target->run(data, size);
    return 0;
}
