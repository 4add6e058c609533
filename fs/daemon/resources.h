/* The resources of the machine that the daemon uses. */
#ifndef BALE_FS_DAEMON_RESOURCES_H
#define BALE_FS_DAEMON_RESOURCES_H

#include <stdint.h>

/* What the descriptors of this process are for. What is left is for the daemon's own work: a call
 * that needs one for a moment, and the store's own files. */
struct bale_descriptors {
    unsigned nodes; /* that the node table keeps open */
    unsigned files; /* open files of users */
    unsigned directories;
    unsigned ahead; /* containers that listings open ahead */
};

/* Raises the limit of open descriptors as far as that is allowed, and divides them up. Before there
 * are threads. */
struct bale_descriptors bale_descriptors_raise(void);

/* How many open directories are kept open, with a batch of entries each, at a memory cap in
 * bytes. */
unsigned bale_directories_kept(const struct bale_descriptors *descriptors, uint64_t cap);

/* How many threads shall receive requests. */
unsigned bale_request_threads(void);
/* The most bytes of one write request, at a memory cap in bytes: each write that waits keeps as
 * much besides the cap, and each thread that receives requests has a buffer of that size within
 * it. */
unsigned bale_max_write(uint64_t cap);

/* Processor time of this process, microseconds. */
uint64_t bale_process_cpu_us(void);

#endif
