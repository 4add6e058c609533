#include "fs/fuse/shares.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "format/err.h"

#define BUCKETS 64u

struct sharer {
    uid_t user;
    unsigned used, ending;
    struct sharer *next;
};

struct bale_shares {
    unsigned most, for_owner;
    uid_t owner;
    pthread_mutex_t lock; /* guards the rest */
    unsigned used;
    struct sharer *buckets[BUCKETS]; /* those who have something */
};

int bale_shares_create(unsigned most, unsigned for_owner, uid_t owner, struct bale_shares **out)
{
    struct bale_shares *shares = calloc(1, sizeof *shares);

    if (!shares)
        return BALE_E_NOMEM;
    *shares = (struct bale_shares){.most = most, .for_owner = for_owner, .owner = owner};
    pthread_mutex_init(&shares->lock, NULL);
    *out = shares;
    return BALE_OK;
}

void bale_shares_destroy(struct bale_shares *shares)
{
    if (!shares)
        return;
    for (unsigned i = 0; i < BUCKETS; i++) {
        while (shares->buckets[i]) {
            struct sharer *next = shares->buckets[i]->next;
            free(shares->buckets[i]);
            shares->buckets[i] = next;
        }
    }
    pthread_mutex_destroy(&shares->lock);
    free(shares);
}

/* ---- Under the lock ---- */

static struct sharer **sharer_of(struct bale_shares *shares, uid_t user)
{
    struct sharer **at = &shares->buckets[user % BUCKETS];

    while (*at && (*at)->user != user)
        at = &(*at)->next;
    return at;
}

static bool may_take(const struct bale_shares *shares, uid_t user, const struct sharer *sharer)
{
    unsigned for_all = shares->most - shares->for_owner;
    unsigned used = sharer ? sharer->used : 0;

    if (user == shares->owner)
        return shares->used < shares->most;
    return shares->used < for_all && used < for_all - shares->used;
}

static bool count_one(struct bale_shares *shares, uid_t user)
{
    struct sharer **at = sharer_of(shares, user);

    if (!*at && !(*at = calloc(1, sizeof **at)))
        return false;
    (*at)->user = user;
    (*at)->used++;
    shares->used++;
    return true;
}

static void forget_if_unused(struct sharer **at)
{
    struct sharer *sharer = *at;

    if (sharer->used == 0 && sharer->ending == 0) {
        *at = sharer->next;
        free(sharer);
    }
}

/* ---- Taking and giving ---- */

enum bale_share bale_shares_take(struct bale_shares *shares, uid_t user)
{
    enum bale_share share = BALE_SHARE_NONE;

    pthread_mutex_lock(&shares->lock);
    const struct sharer *sharer = *sharer_of(shares, user);
    if (may_take(shares, user, sharer))
        share = count_one(shares, user) ? BALE_SHARE_TAKEN : BALE_SHARE_NONE;
    else if (sharer && sharer->ending > 0)
        share = BALE_SHARE_SOON;
    pthread_mutex_unlock(&shares->lock);
    return share;
}

void bale_shares_charge(struct bale_shares *shares, uid_t user)
{
    pthread_mutex_lock(&shares->lock);
    (void)count_one(shares, user);
    pthread_mutex_unlock(&shares->lock);
}

void bale_shares_give(struct bale_shares *shares, uid_t user, unsigned n)
{
    pthread_mutex_lock(&shares->lock);
    struct sharer **at = sharer_of(shares, user);
    if (*at) {
        n = n < (*at)->used ? n : (*at)->used;
        (*at)->used -= n;
        shares->used -= n;
        forget_if_unused(at);
    }
    pthread_mutex_unlock(&shares->lock);
}

void bale_shares_ending(struct bale_shares *shares, uid_t user, int change)
{
    pthread_mutex_lock(&shares->lock);
    struct sharer **at = sharer_of(shares, user);
    if (*at) {
        (*at)->ending += (unsigned)change;
        forget_if_unused(at);
    }
    pthread_mutex_unlock(&shares->lock);
}
