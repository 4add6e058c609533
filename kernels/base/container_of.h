/* From a member back to the struct around it. */
#ifndef BALE_KERNELS_BASE_CONTAINER_OF_H
#define BALE_KERNELS_BASE_CONTAINER_OF_H

#include <stddef.h>

/* The struct type whose member pointer points to. Callbacks that get a pointer to a member (a job,
 * an interface) find the struct that they belong to with it. Nothing checks that pointer is that
 * member of such a struct. */
#define BALE_CONTAINER_OF(pointer, type, member)                                                   \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
