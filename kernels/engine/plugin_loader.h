/* Finds and opens the GPU engine's plug-in. */
#ifndef BALE_KERNELS_ENGINE_PLUGIN_LOADER_H
#define BALE_KERNELS_ENGINE_PLUGIN_LOADER_H

#include "format/reason.h"
#include "kernels/engine/gpu.h"

#define BALE_GPU_LIBRARY "libbalefs_cuda.so"

/* Tells the driver through the environment how to behave, where the user has not; to be called before
 * there are threads, in a process that does not start the user's programs. CUDA keeps no cache of
 * compiled code: it would make the directory with our umask, which is 0, in a home that may be somebody
 * else's, and load from there what others could have put in. It has code for common devices, and for
 * newer ones compiles a few small kernels when it is opened, in the background. Where MPS shares a
 * device among processes, ours is one below the normal ones: the others are who the machine is for. */
void bale_plugin_set_environment(void);

/* file: an absolute path; or NULL: ../lib/balefs/libbalefs_cuda.so, seen from the directory of
 * the program, or balefs/libbalefs_cuda.so beside the library libbalefs.so, or else
 * libbalefs_cuda.so where the system has its libraries, but never in the working directory. It stays loaded until the process ends. May take a second. BALE_OK;
 * BALE_E_NOENT: there is none; BALE_E_UNSUPPORTED: it is of another version; BALE_E_ENGINE: it
 * cannot be loaded. why says so as "FILE: what is wrong". */
int bale_plugin_load(const char *file, const struct bale_gpu **gpu, struct bale_reason *why);

/* The path of a file in the directory from which the plug-in was loaded. False: it cannot be said, or
 * there is no room. */
bool bale_plugin_sibling(const struct bale_gpu *gpu, const char *name, char *path, size_t room);

#endif
