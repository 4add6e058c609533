#include "kernels/base/turns.h"

#include <stddef.h>

static uint64_t used_by(const struct bale_turns_user *user)
{
    return __atomic_load_n(&user->used, __ATOMIC_RELAXED);
}

static struct bale_turns_user *user_of(struct bale_turns *turns, uint32_t user)
{
    return &turns->users[user % BALE_TURNS];
}

/* Before the user has something waiting. */
static void begin_to_wait(struct bale_turns *turns, uint32_t number)
{
    struct bale_turns_user *user = user_of(turns, number);

    if (used_by(user) < turns->floor)
        __atomic_store_n(&user->used, turns->floor, __ATOMIC_RELAXED);
    turns->waiting[number % BALE_TURNS / 64] |= (uint64_t)1 << number % 64;
}

void bale_turns_add(struct bale_turns *turns, struct bale_turn *turn)
{
    struct bale_turns_user *user = user_of(turns, turn->user);

    turn->next = NULL;
    if (user->first) {
        user->last->next = turn;
    } else {
        begin_to_wait(turns, turn->user);
        user->first = turn;
    }
    user->last = turn;
}

void bale_turns_add_head(struct bale_turns *turns, struct bale_turn *turn)
{
    struct bale_turns_user *user = user_of(turns, turn->user);

    if (!user->first) {
        bale_turns_add(turns, turn);
        return;
    }
    turn->next = user->first;
    user->first = turn;
}

struct bale_turn *bale_turns_next(const struct bale_turns *turns, bool fresh)
{
    const struct bale_turns_user *next = NULL;

    /* Begin behind the user that was last, so that users who have used the same alternate. */
    for (unsigned i = 1; i <= BALE_TURNS; i++) {
        unsigned number = (turns->last + i) % BALE_TURNS;
        uint64_t bits = turns->waiting[number / 64] >> number % 64;
        if (bits == 0) {
            i += 63 - number % 64;
            continue;
        }
        const struct bale_turns_user *user = &turns->users[number];
        if (bits & 1 && !(fresh && user->holding > 0) && (!next || used_by(user) < used_by(next)))
            next = user;
    }
    return next ? next->first : NULL;
}

void bale_turns_take(struct bale_turns *turns, struct bale_turn *turn)
{
    struct bale_turns_user *user = user_of(turns, turn->user);

    user->first = turn->next;
    turn->next = NULL;
    turns->last = turn->user % BALE_TURNS;
    if (turns->sums && turns->floor < used_by(user))
        turns->floor = used_by(user);
    if (!user->first)
        turns->waiting[turns->last / 64] &= ~((uint64_t)1 << turns->last % 64);
}

void bale_turns_use(struct bale_turns *turns, uint32_t user, int64_t change)
{
    __atomic_fetch_add(&user_of(turns, user)->used, (uint64_t)change, __ATOMIC_RELAXED);
}

void bale_turns_hold(struct bale_turns *turns, uint32_t user, int change)
{
    user_of(turns, user)->holding += (unsigned)change;
}
