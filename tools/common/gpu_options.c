#include "tools/common/gpu_options.h"

#include <string.h>

#include "tools/common/message.h"
#include "tools/common/size.h"

#define MEMORY_MIN (256u << 20)
#define NUMBER_MAX 1023

const char *bale_engine_choice_parse(const char *word, enum bale_engine_choice *choice)
{
    static const char *const words[] = {
        [BALE_ENGINE_AUTO] = "auto", [BALE_ENGINE_GPU] = "gpu", [BALE_ENGINE_CPU] = "cpu"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            *choice = (enum bale_engine_choice)i;
            return NULL;
        }
    return "it is auto, cpu or gpu";
}

const char *bale_gpu_number_add(struct bale_gpu_options *gpu, const char *number)
{
    uint64_t value;

    if (!bale_count_parse(number, 0, NUMBER_MAX, &value))
        return "give the numbers of GPUs, from 0 on";
    for (unsigned i = 0; i < gpu->device_count; i++)
        if (gpu->devices[i] == (int)value)
            return "this GPU is named twice";
    if (gpu->device_count == BALE_GPU_DEVICES)
        return "too many GPUs";
    gpu->devices[gpu->device_count++] = (int)value;
    return NULL;
}

const char *bale_gpu_memory_parse(struct bale_gpu_options *gpu, const char *size)
{
    if (!bale_size_parse(size, &gpu->memory) || gpu->memory < MEMORY_MIN)
        return "give a size of 256M or more";
    return NULL;
}

const char *bale_gpu_verify_parse(bool *verify, const char *word)
{
    *verify = strcmp(word, "on") == 0;
    return *verify || strcmp(word, "off") == 0 ? NULL : "it is on or off";
}

void bale_gpu_message(int level, const char *text)
{
    if (level <= BALE_GPU_WARNING)
        bale_message("%s", text);
}
