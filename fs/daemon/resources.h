/* What the daemon takes of the machine. */
#ifndef BALE_FS_DAEMON_RESOURCES_H
#define BALE_FS_DAEMON_RESOURCES_H

#include <stdint.h>

/* Raises the limit of open descriptors as far as that is allowed. How many of them may be kept open
 * for nodes. */
unsigned bale_descriptors_raise(void);

/* Threads for requests, whose buffers count into memory, in bytes. */
unsigned bale_request_threads(uint64_t memory);

/* Processor time of this process, microseconds. */
uint64_t bale_process_cpu_us(void);

#endif
