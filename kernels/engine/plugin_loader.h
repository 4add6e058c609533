/* Finds and opens the GPU engine's plug-in. */
#ifndef BALE_KERNELS_ENGINE_PLUGIN_LOADER_H
#define BALE_KERNELS_ENGINE_PLUGIN_LOADER_H

#include "format/reason.h"
#include "kernels/engine/gpu.h"

#define BALE_GPU_LIBRARY "libbalefs_cuda.so"

/* Sets environment variables of the CUDA driver that the user has not set. Call it before there are
 * threads, in a process that does not start the user's programs. CUDA's cache of compiled code is
 * switched off: the driver would create its directory with our umask, which is 0, in a home
 * directory that may be another user's, and load code from there that others could have put in. The
 * plug-in has code for common devices and compiles a few small kernels in the background for newer
 * ones. Where MPS shares a device among processes, ours get a priority below the normal one, so
 * that the others come first. Of the eight queues to a device that the driver makes for a context,
 * four are as fast, and make it in two thirds of the time. */
void bale_plugin_set_environment(void);

/* file: an absolute path; or NULL for the first of ../lib/balefs/libbalefs_cuda.so relative to
 * the directory of the program, balefs/libbalefs_cuda.so beside the library libbalefs.so, and
 * libbalefs_cuda.so in the system's library directories, but never in the working directory. It
 * stays loaded until the process ends. May take a second. BALE_OK; BALE_E_NOENT: there is none;
 * BALE_E_UNSUPPORTED: it is of another version; BALE_E_ENGINE: it cannot be loaded. why says so
 * as "FILE: what is wrong". */
int bale_plugin_load(const char *file, const struct bale_gpu **gpu, struct bale_reason *why);

/* The path of a file in the directory of the plug-in. False: that directory is unknown, or there
 * is no room. */
bool bale_plugin_sibling(const struct bale_gpu *gpu, const char *name, char *path, size_t room);

#endif
