/* Users take turns: by what they have used, and whatever others have waiting. */
#include "kernels/base/turns.h"

#include "tests/check.h"

enum { FLOOD = 1000, HOSTILE = 1001, OTHER = 1002 };

static struct bale_turn flood[FLOOD], other[2], roots;

static struct bale_turn *take(struct bale_turns *turns)
{
    struct bale_turn *turn = bale_turns_next(turns, false);

    if (turn)
        bale_turns_take(turns, turn);
    return turn;
}

static void add(struct bale_turns *turns, struct bale_turn *turn, uint32_t user)
{
    turn->user = user;
    bale_turns_add(turns, turn);
}

/* One user's thousand come after the first of everybody else, and in their order. */
static void test_flood(void)
{
    static struct bale_turns turns;
    unsigned taken = 0, others = 0;

    for (unsigned i = 0; i < FLOOD; i++)
        add(&turns, &flood[i], HOSTILE);
    add(&turns, &other[0], OTHER);
    add(&turns, &other[1], OTHER);
    add(&turns, &roots, 0);
    for (struct bale_turn *turn; (turn = take(&turns)); taken++) {
        if (turn->user == HOSTILE) {
            CHECK(turn == &flood[taken - others]);
            continue;
        }
        CHECK(turn == &roots || turn == &other[0] || (turn == &other[1] && others == 2));
        CHECK(taken < 5);
        others++;
    }
    CHECK_EQ_U(taken, FLOOD + 3);
}

/* Time counts and not number: a user whose work takes a hundred times as long has a hundredth of
 * the turns, and who was away begins with what the others have. */
static void test_time(void)
{
    static struct bale_turns turns = {.sums = true};
    unsigned slow = 0, quick = 0;

    for (unsigned i = 0; i < FLOOD; i++)
        add(&turns, &flood[i], HOSTILE);
    for (unsigned i = 0; i < 10; i++)
        bale_turns_use(&turns, take(&turns)->user, 100);
    add(&turns, &other[0], OTHER);
    for (unsigned i = 0; i < 404; i++) {
        struct bale_turn *turn = take(&turns);
        CHECK(i > 0 || turn->user == OTHER);
        slow += turn->user == HOSTILE;
        quick += turn->user == OTHER;
        bale_turns_use(&turns, turn->user, turn->user == HOSTILE ? 100 : 1);
        if (turn->user == OTHER)
            add(&turns, turn, OTHER);
    }
    CHECK(slow >= 3 && slow <= 5);
    CHECK_EQ_U(slow + quick, 404);
}

/* A level goes down again, and then counts no more. */
static void test_level(void)
{
    static struct bale_turns turns;

    bale_turns_use(&turns, HOSTILE, 100);
    add(&turns, &flood[0], HOSTILE);
    add(&turns, &other[0], OTHER);
    add(&turns, &other[1], OTHER);
    CHECK(take(&turns) == &other[0]);
    bale_turns_use(&turns, HOSTILE, -100);
    bale_turns_use(&turns, OTHER, 1);
    CHECK(take(&turns) == &flood[0]);
    CHECK(take(&turns) == &other[1] && !take(&turns));
}

/* What is put back comes first, and a user that holds something is passed over where asked. */
static void test_head(void)
{
    static struct bale_turns turns;

    add(&turns, &flood[0], HOSTILE);
    flood[1].user = HOSTILE;
    bale_turns_add_head(&turns, &flood[1]);
    bale_turns_hold(&turns, HOSTILE, 1);
    CHECK(!bale_turns_next(&turns, true));
    add(&turns, &other[0], OTHER);
    CHECK(bale_turns_next(&turns, true) == &other[0]);
    bale_turns_take(&turns, &other[0]);
    bale_turns_hold(&turns, HOSTILE, -1);
    CHECK(bale_turns_next(&turns, true) == &flood[1]);
    CHECK(take(&turns) == &flood[1] && take(&turns) == &flood[0] && !take(&turns));
    bale_turns_add_head(&turns, &flood[1]);
    CHECK(take(&turns) == &flood[1] && !take(&turns));
}

int main(void)
{
    test_flood();
    test_time();
    test_level();
    test_head();
    return check_result();
}
