/* What one user causes fills no log: others' messages come, and one says that some are left out. */
#include "fs/base/log.h"

#include <string.h>

#include "kernels/base/working_for.h"
#include "tests/check.h"

enum { MANY = 5000, HOSTILE = 1001, OTHER = 1002 };

static unsigned of_hostile, of_other, of_root, left_out;

static void count(enum bale_level level, const char *line)
{
    of_hostile += strcmp(line, "hostile") == 0;
    of_other += strcmp(line, "other") == 0;
    of_root += strcmp(line, "root") == 0;
    if (strncmp(line, "user 1001 causes many messages: ", 32) == 0) {
        CHECK_EQ(level, BALE_LOG_WARNING);
        left_out++;
    }
}

static void log_as(uint32_t user, const char *line, unsigned times)
{
    bale_working_for = user;
    for (unsigned i = 0; i < times; i++)
        bale_log(BALE_LOG_ERROR, "%s", line);
}

int main(void)
{
    bale_log_to(count, BALE_LOG_INFO);
    bale_working_for = HOSTILE;
    bale_log(BALE_LOG_DEBUG, "hostile"); /* is not counted */
    log_as(HOSTILE, "hostile", MANY);
    log_as(OTHER, "other", 3);
    log_as(0, "root", MANY);
    CHECK(of_hostile >= BALE_LOG_USER_LINES && of_hostile < MANY);
    CHECK(left_out >= 1 && left_out * BALE_LOG_USER_LINES <= of_hostile);
    CHECK_EQ(of_other, 3);
    CHECK_EQ(of_root, MANY);
    return check_result();
}
