#include "format/err.h"

#include <errno.h>
#include <limits.h>

#include "tests/check.h"

static bool is_answer(int err)
{
    return err <= BALE_E_FIRST_ANSWER && err >= BALE_E_LAST_ANSWER;
}

static void test_round_trip(void)
{
    for (int err = BALE_OK; err >= BALE_E_LAST; err--)
        if (is_answer(err))
            CHECK_EQ(bale_err_to_errno(err), EAGAIN);
        else
            CHECK_EQ(bale_err_from_errno(bale_err_to_errno(err)), err);
}

static void test_each_code_has_its_own_text(void)
{
    for (int a = BALE_OK; a >= BALE_E_LAST; a--) {
        CHECK(bale_err_text(a)[0] != '\0');
        CHECK(strcmp(bale_err_text(a), bale_err_text(BALE_E_LAST - 1)) != 0);
        for (int b = a - 1; b >= BALE_E_LAST; b--) {
            CHECK(strcmp(bale_err_text(a), bale_err_text(b)) != 0);
            if (!is_answer(a) && !is_answer(b))
                CHECK(bale_err_to_errno(a) != bale_err_to_errno(b));
        }
    }
}

static void test_numbers_that_are_no_code(void)
{
    static const int strangers[] = {1, INT_MAX, BALE_E_LAST - 1, INT_MIN};

    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
        CHECK_EQ(bale_err_to_errno(strangers[i]), EIO);
        CHECK_EQ_STR(bale_err_text(strangers[i]), "unknown error");
    }
    CHECK_EQ(bale_err_from_errno(INT_MAX), BALE_E_IO);
    CHECK_EQ(bale_err_from_errno(-1), BALE_E_IO);
}

static void test_every_errno_becomes_a_code(void)
{
    for (int e = 1; e < 200; e++) {
        int err = bale_err_from_errno(e);

        CHECK(err < BALE_OK && err >= BALE_E_LAST);
    }
    CHECK_EQ(bale_err_from_errno(EMFILE), BALE_E_FILES);
}

int main(void)
{
    test_round_trip();
    test_each_code_has_its_own_text();
    test_numbers_that_are_no_code();
    test_every_errno_becomes_a_code();
    return check_result();
}
