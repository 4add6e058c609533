#include "tests/fuzz/target.h"

#define TARGET(name, ...) {#name, fuzz_##name, fuzz_##name##_seed},
const struct fuzz_target fuzz_targets[] = {
    {"root", fuzz_root, fuzz_root_seed},
    {"frame", fuzz_frame, fuzz_frame_seed},
    {"page", fuzz_page, fuzz_page_seed},
    {"stream", fuzz_stream, fuzz_stream_seed},
    {"rans", fuzz_rans, fuzz_rans_seed},
    /* clang-format off */
    BALE_CODEC_LIST(BALE_CODEC_SKIP, TARGET)
    /* clang-format on */
    {NULL, NULL, NULL},
};
