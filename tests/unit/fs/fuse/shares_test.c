#include "fs/fuse/shares.h"

#include "format/err.h"
#include "tests/check.h"

#define OWNER 0u

static unsigned take_all(struct bale_shares *shares, uid_t user)
{
    unsigned count = 0;

    while (bale_shares_take(shares, user) == BALE_SHARE_TAKEN)
        count++;
    return count;
}

static void test_everybody_gets_something(void)
{
    struct bale_shares *shares;
    unsigned sum = 0;

    CHECK_EQ(bale_shares_create(1000, 100, OWNER, &shares), BALE_OK);
    for (uid_t user = 1; user <= 9; user++) {
        unsigned got = take_all(shares, user);
        CHECK(got == (user == 1 ? 450 : got) && got >= 1);
        sum += got;
    }
    CHECK(sum <= 900);
    CHECK_EQ(take_all(shares, OWNER), 1000 - sum);
    CHECK_EQ(bale_shares_take(shares, 10), BALE_SHARE_NONE);
    bale_shares_destroy(shares);
}

static void test_who_gives_back_gets_again(void)
{
    struct bale_shares *shares;

    CHECK_EQ(bale_shares_create(80, 0, OWNER, &shares), BALE_OK);
    CHECK_EQ(take_all(shares, 1), 40);
    bale_shares_ending(shares, 1, 1);
    CHECK_EQ(bale_shares_take(shares, 1), BALE_SHARE_SOON);
    bale_shares_ending(shares, 1, -1);
    CHECK_EQ(bale_shares_take(shares, 1), BALE_SHARE_NONE);
    bale_shares_charge(shares, 1); /* whatever is left */
    bale_shares_give(shares, 1, 2);
    CHECK_EQ(bale_shares_take(shares, 1), BALE_SHARE_TAKEN);
    bale_shares_give(shares, 1, 1000);
    bale_shares_give(shares, 65, 1); /* has nothing, in the same bucket */
    CHECK_EQ(take_all(shares, 65), 40);
    CHECK_EQ(take_all(shares, OWNER), 40);
    bale_shares_destroy(shares);
    bale_shares_destroy(NULL);
}

int main(void)
{
    test_everybody_gets_something();
    test_who_gives_back_gets_again();
    return check_result();
}
