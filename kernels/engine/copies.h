/* Copies within the host's memory, by several threads: one alone is slower than the bus to a GPU. */
#ifndef BALE_KERNELS_ENGINE_COPIES_H
#define BALE_KERNELS_ENGINE_COPIES_H

#include <stddef.h>

struct bale_copies;

/* threads: how many copy at a time, the caller's counted in; at most 8 do. BALE_OK or BALE_E_NOMEM. One
 * thread uses what was made. */
int bale_copies_create(unsigned threads, struct bale_copies **copies);
/* Nothing is under way. NULL is fine. */
void bale_copies_destroy(struct bale_copies *copies);

/* Notes a copy, which is done by the end of bale_copies_run at the latest. */
void bale_copies_add(struct bale_copies *copies, void *to, const void *from, size_t length);
void bale_copies_run(struct bale_copies *copies);

#endif
