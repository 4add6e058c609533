/* The resources of the machine that the daemon uses. */
#ifndef BALE_FS_DAEMON_RESOURCES_H
#define BALE_FS_DAEMON_RESOURCES_H

#include <stdint.h>

/* Raises the limit of open descriptors as far as that is allowed. Returns how many of them the node
 * table may keep open. */
unsigned bale_descriptors_raise(void);

/* How many threads shall receive requests; their buffers count in the memory cap, in bytes. */
unsigned bale_request_threads(uint64_t cap);

/* Processor time of this process, microseconds. */
uint64_t bale_process_cpu_us(void);

#endif
