#include "kernels/codec/nvcomp.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "format/err.h"
#include "format/reason.h"

#define LIBRARY "libnvcomp.so.6"
#define MAJOR 6u

struct properties {
    uint32_t version; /* 1000 major + 100 minor + patch */
    uint32_t cuda_runtime;
};

static void *open_beside(void)
{
    char path[PATH_MAX];
    Dl_info info;
    const char *slash;

    if (!dladdr((void *)bale_nvcomp_open, &info) || !info.dli_fname)
        return NULL;
    slash = strrchr(info.dli_fname, '/');
    if (!slash || snprintf(path, sizeof path, "%.*s/" LIBRARY, (int)(slash - info.dli_fname),
                           info.dli_fname) >= (int)sizeof path)
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int check_version(void *library, struct bale_reason *why)
{
    int (*get)(struct properties *) =
        (int (*)(struct properties *))dlsym(library, "nvcompGetProperties");
    struct properties properties = {0};

    if (!get || get(&properties) != 0 || properties.version / 1000 != MAJOR) {
        bale_reason_set(why, LIBRARY " is version %u, not %u", properties.version / 1000, MAJOR);
        return BALE_E_UNSUPPORTED;
    }
    return BALE_OK;
}

static void *find(void *library, const char *family, const char *what)
{
    char name[64];

    snprintf(name, sizeof name, "nvcompBatched%s%s", family, what);
    return dlsym(library, name);
}

static int find_codec(void *library, const char *family, struct nvcomp_codec *codec)
{
    codec->compress_temp = (nvcomp_temp)find(library, family, "CompressGetTempSize");
    codec->decompress_temp = (nvcomp_temp)find(library, family, "DecompressGetTempSize");
    codec->bound = (nvcomp_bound)find(library, family, "CompressGetMaxOutputChunkSize");
    codec->compress = (nvcomp_compress)find(library, family, "CompressAsync");
    codec->decompress = (nvcomp_decompress)find(library, family, "DecompressAsync");
    return codec->compress_temp && codec->decompress_temp && codec->bound && codec->compress &&
                   codec->decompress
               ? BALE_OK
               : BALE_E_UNSUPPORTED;
}

int bale_nvcomp_open(struct nvcomp *nvcomp, struct bale_reason *why)
{
    int err;

    nvcomp->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!nvcomp->library)
        nvcomp->library = open_beside();
    if (!nvcomp->library) {
        bale_reason_set(why, LIBRARY " is not found");
        return BALE_E_NOENT;
    }
    err = check_version(nvcomp->library, why);
    if (err == BALE_OK && (find_codec(nvcomp->library, "LZ4", &nvcomp->codecs[NVCOMP_LZ4]) < 0 ||
                           find_codec(nvcomp->library, "Zstd", &nvcomp->codecs[NVCOMP_ZSTD]) < 0)) {
        bale_reason_set(why, LIBRARY " lacks a function");
        err = BALE_E_UNSUPPORTED;
    }
    if (err < 0) {
        dlclose(nvcomp->library);
        nvcomp->library = NULL;
    }
    return err;
}

struct nvcomp_options bale_nvcomp_decompress_options(void)
{
    return (struct nvcomp_options){.word = {NVCOMP_BACKEND_CUDA}};
}
