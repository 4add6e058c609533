/* Copies in host memory by several threads: one thread is slower than the bus to a GPU. */
#ifndef BALE_KERNELS_ENGINE_COPIES_H
#define BALE_KERNELS_ENGINE_COPIES_H

#include <stddef.h>

struct bale_copies;

/* threads: how many threads copy, including the caller's; 8 at most are used. BALE_OK or
 * BALE_E_NOMEM. One thread at a time may call the functions below. */
int bale_copies_create(unsigned threads, struct bale_copies **copies);
/* No copy is pending. NULL is fine. */
void bale_copies_destroy(struct bale_copies *copies);

/* Adds a copy. It may be done at once, and is done when bale_copies_run returns. */
void bale_copies_add(struct bale_copies *copies, void *to, const void *from, size_t length);
void bale_copies_run(struct bale_copies *copies);

#endif
