/* Turns: what waits for a resource that users share, such as threads. The user that has used least
 * of it comes first, and one who was away has saved nothing up. So a flood, or work that takes
 * long, delays its own user first. The owner of the structure locks. */
#ifndef BALE_KERNELS_BASE_TURNS_H
#define BALE_KERNELS_BASE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

/* Users whose numbers are the same modulo this share a turn; those of neighbours differ. */
#define BALE_TURNS 256u

/* A member of what waits. */
struct bale_turn {
    struct bale_turn *next; /* the turns', while it waits */
    uint32_t user;          /* set before it waits */
};

/* All zeros, but for sums: empty. */
struct bale_turns {
    bool sums; /* use is a sum over time, as of processor time; else a level, as of memory */
    uint64_t waiting[BALE_TURNS / 64]; /* a bit for each of users */
    uint64_t floor;                    /* with sums: what the last user had used at its turn */
    unsigned last;                     /* user that had a turn */
    struct bale_turns_user {
        struct bale_turn *first, *last;
        uint64_t used; /* atomic */
        unsigned holding;
    } users[BALE_TURNS];
};

/* What a user adds comes in that order; at the head: before what the user has waiting. */
void bale_turns_add(struct bale_turns *turns, struct bale_turn *turn);
void bale_turns_add_head(struct bale_turns *turns, struct bale_turn *turn);

/* The next one, which goes on waiting. fresh: only of users that hold nothing. NULL: there is
 * none. */
struct bale_turn *bale_turns_next(const struct bale_turns *turns, bool fresh);
/* Ends the wait of what bale_turns_next returned. */
void bale_turns_take(struct bale_turns *turns, struct bale_turn *turn);

/* The user has used so much more, in the owner's unit; of a level also less, and without a lock. */
void bale_turns_use(struct bale_turns *turns, uint32_t user, int64_t change);
/* The user holds one more of the resource, or (-1) one less. */
void bale_turns_hold(struct bale_turns *turns, uint32_t user, int change);

#endif
