#include "tests/fuzz/target.h"

const struct fuzz_target fuzz_targets[] = {
    {"root", fuzz_root, fuzz_root_seed},
    {"frame", fuzz_frame, fuzz_frame_seed},
    {"page", fuzz_page, fuzz_page_seed},
    {"stream", fuzz_stream, fuzz_stream_seed},
    {"gpulz", fuzz_gpulz, fuzz_gpulz_seed},
    {"culzss", fuzz_culzss, fuzz_culzss_seed},
    {NULL, NULL, NULL},
};
