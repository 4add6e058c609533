/* The user for whom the calling thread works, and so whose the work is that it hands to other
 * threads. At first 0, which is root and the daemon itself. A thread that takes a job or an item
 * works for its user from then on. */
#ifndef BALE_KERNELS_BASE_WORKING_FOR_H
#define BALE_KERNELS_BASE_WORKING_FOR_H

#include <stdint.h>

extern _Thread_local uint32_t bale_working_for;

#endif
