/* The options about engines and GPUs, which mount, compress and the benches have in common. Each
 * parser returns NULL or what is wrong, for a message that begins with the word of the user. */
#ifndef BALE_TOOLS_COMMON_GPU_OPTIONS_H
#define BALE_TOOLS_COMMON_GPU_OPTIONS_H

#include "kernels/engine/dispatch.h"

/* "auto", "gpu" or "cpu". */
const char *bale_engine_choice_parse(const char *word, enum bale_engine_choice *choice);

/* Adds one more device to the list. */
const char *bale_gpu_number_add(struct bale_gpu_options *gpu, const char *number);
const char *bale_gpu_memory_parse(struct bale_gpu_options *gpu, const char *size);
const char *bale_gpu_verify_parse(bool *verify, const char *word);

/* For bale_gpu_options.log: prints errors and warnings on standard error. */
void bale_gpu_message(int level, const char *text);

#endif
