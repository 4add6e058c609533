/* A number of things, such as descriptors, that the users of a mount share.
 *
 * A user may take one while he has fewer than are then free. So one user gets at most a half, n
 * users at most 1/(n+1) each, and something is left for the next one, whatever they do. Some are
 * for the mount's owner alone, who is bounded by nothing else. Any thread; the lock is a leaf. */
#ifndef BALE_FS_FUSE_SHARES_H
#define BALE_FS_FUSE_SHARES_H

#include <stdint.h>
#include <sys/types.h>

enum bale_share {
    BALE_SHARE_TAKEN,
    BALE_SHARE_SOON, /* there is none, but the user is about to give some back */
    BALE_SHARE_NONE
};

struct bale_shares;
/* most: how many there are; for_owner: how many of them only the user owner may take. 0 or
 * BALE_E_NOMEM. */
int bale_shares_create(unsigned most, unsigned for_owner, uid_t owner, struct bale_shares **shares);
void bale_shares_destroy(struct bale_shares *shares); /* NULL is fine */

enum bale_share bale_shares_take(struct bale_shares *shares, uid_t user);
/* Counts one that the user has anyway. Without memory nothing is counted. */
void bale_shares_charge(struct bale_shares *shares, uid_t user);
/* Gives back n that were taken or charged. */
void bale_shares_give(struct bale_shares *shares, uid_t user, unsigned n);
/* The user is about to give some back, or (-1) has done so. */
void bale_shares_ending(struct bale_shares *shares, uid_t user, int change);

#endif
