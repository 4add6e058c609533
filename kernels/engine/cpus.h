/* How many CPUs the process may use; bale_cpus() itself is declared in kernels/engine/engine.h. */
#ifndef BALE_KERNELS_ENGINE_CPUS_H
#define BALE_KERNELS_ENGINE_CPUS_H

/* The lowest CPU limit of this process's cgroup and its ancestors, v1 and v2, rounded up to whole
 * CPUs; 0: no limit, or none could be read. root is a prefix for /proc and for the mount points
 * found there; "" except in tests. */
unsigned bale_cpus_cgroup(const char *root);

#endif
