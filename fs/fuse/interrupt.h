/* Interrupting writes that wait: the table of requests that the kernel may interrupt. */
#ifndef BALE_FS_FUSE_INTERRUPT_H
#define BALE_FS_FUSE_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Part of a request that can be interrupted; the owner of the request sets the first three. */
struct bale_interruptible {
    uint64_t unique; /* the kernel's number of the request */
    /* In the thread that received the interrupt, with the table's lock held: keeps the request
     * alive until interrupt has returned. */
    void (*ref)(struct bale_interruptible *request);
    /* In the same thread, without locks; drops the reference. The request may have replied. */
    void (*interrupt)(struct bale_interruptible *request);
    /* Set by the table once the request is given up: nothing more of it should be done. */
    atomic_bool given_up;
    struct bale_interruptible *next; /* the table's */
};

struct bale_interrupts;
int bale_interrupts_create(struct bale_interrupts **interrupts);  /* 0 or BALE_E_NOMEM */
void bale_interrupts_destroy(struct bale_interrupts *interrupts); /* NULL is fine */

/* False: the interrupt came before. The request is in the table either way. */
bool bale_interrupts_add(struct bale_interrupts *interrupts, struct bale_interruptible *request);
void bale_interrupts_remove(struct bale_interrupts *interrupts, struct bale_interruptible *request);
/* The kernel interrupts a request. */
void bale_interrupts_deliver(struct bale_interrupts *interrupts, uint64_t unique);
/* The request was given up. One that is added later, its handler finds to be so
 * (bale_request_is_given_up). */
void bale_interrupts_give_up(struct bale_interrupts *interrupts, uint64_t unique);

#endif
