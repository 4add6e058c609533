#include "kernels/engine/plugin_loader.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"

#define SYMBOL "bale_gpu_plugin"
#define BESIDE "/lib/balefs/" BALE_GPU_LIBRARY

void bale_plugin_set_environment(void)
{
    (void)setenv("CUDA_CACHE_DISABLE", "1", false);
    (void)setenv("CUDA_MPS_CLIENT_PRIORITY", "1", false);
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "4", false);
}

/* The path of the plug-in relative to an installed program; false: the program's path is
 * unknown. */
static bool beside_program(char *path, size_t room)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash;

    if (length <= 0 || program[0] != '/')
        return false;
    program[length] = '\0';
    for (int up = 0; up < 2 && (slash = strrchr(program, '/')); up++)
        *slash = '\0';
    return (size_t)snprintf(path, room, "%s" BESIDE, program) < room;
}

/* The loader searches the working directory for an empty or relative part of LD_LIBRARY_PATH. */
static bool system_path_is_absolute(void)
{
    const char *part = getenv("LD_LIBRARY_PATH");

    if (!part || !*part)
        return true;
    for (;;) {
        if (*part != '/')
            return false;
        part += strcspn(part, ":;");
        if (!*part)
            return true;
        part++;
    }
}

/* Never closed: the libraries that it loads leave threads and exit handlers. */
static void *open_library(const char *file, struct bale_reason *why)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const char *text = library ? NULL : dlerror();

    if (!library)
        bale_reason_set(why, "%s", text ? text : file);
    return library;
}

/* The same relative to the library libbalefs.so, if this code is in it: lib/balefs lies beside
 * the library, or one level up where libraries lie in a directory for the architecture. */
static bool beside_library(char *path, size_t room)
{
    static const char *const ups[] = {"/balefs/", "/../balefs/"};
    Dl_info info;
    const char *slash;

    if (!dladdr(ups, &info) || !info.dli_fname || info.dli_fname[0] != '/' ||
        !strstr(info.dli_fname, ".so"))
        return false;
    slash = strrchr(info.dli_fname, '/');
    for (size_t i = 0; i < sizeof ups / sizeof ups[0]; i++) {
        int length = snprintf(path, room, "%.*s%s" BALE_GPU_LIBRARY, (int)(slash - info.dli_fname),
                              info.dli_fname, ups[i]);
        if ((size_t)length < room && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static int find_library(void **library, struct bale_reason *why)
{
    char path[PATH_MAX + sizeof BESIDE];

    if ((beside_program(path, sizeof path) && access(path, F_OK) == 0) ||
        beside_library(path, sizeof path)) {
        *library = open_library(path, why);
        return *library ? BALE_OK : BALE_E_ENGINE;
    }
    if (!system_path_is_absolute()) {
        bale_reason_set(why, BALE_GPU_LIBRARY
                        ": not looked for: LD_LIBRARY_PATH has a part that is no absolute path");
        return BALE_E_NOENT;
    }
    *library = open_library(BALE_GPU_LIBRARY, why);
    return *library ? BALE_OK : BALE_E_NOENT;
}

static int find_plugin(void *library, const char *file, const struct bale_gpu **gpu,
                       struct bale_reason *why)
{
    const struct bale_gpu *found = dlsym(library, SYMBOL);

    if (!found) {
        bale_reason_set(why, "%s: has no " SYMBOL ": it is no plug-in of balefs", file);
        return BALE_E_UNSUPPORTED;
    }
    if (found->abi != BALE_GPU_ABI) {
        bale_reason_set(why, "%s: is of another version of balefs: its interface is %u, not %u",
                        file, (unsigned)found->abi, BALE_GPU_ABI);
        return BALE_E_UNSUPPORTED;
    }
    *gpu = found;
    return BALE_OK;
}

int bale_plugin_load(const char *file, const struct bale_gpu **gpu, struct bale_reason *why)
{
    void *library = NULL;
    int err = BALE_OK;

    if (file) {
        library = open_library(file, why);
        err = library ? BALE_OK : BALE_E_ENGINE;
    } else {
        err = find_library(&library, why);
    }
    return err < 0 ? err : find_plugin(library, file ? file : BALE_GPU_LIBRARY, gpu, why);
}

bool bale_plugin_sibling(const struct bale_gpu *gpu, const char *name, char *path, size_t room)
{
    Dl_info info;
    const char *slash;

    if (!dladdr(gpu, &info) || !info.dli_fname || !(slash = strrchr(info.dli_fname, '/')))
        return false;
    return (size_t)snprintf(path, room, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname,
                            name) < room;
}
