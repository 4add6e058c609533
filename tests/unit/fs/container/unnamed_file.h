/* A file for a container on a descriptor. */
#ifndef BALE_TESTS_UNIT_FS_CONTAINER_UNNAMED_FILE_H
#define BALE_TESTS_UNIT_FS_CONTAINER_UNNAMED_FILE_H

#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"

/* The descriptor of an empty file without a name, which the caller closes. */
static inline int open_unnamed_file(void)
{
    char name[] = "io_test.XXXXXX";
    int fd = mkstemp(name);

    REQUIRE(fd >= 0);
    REQUIRE(unlink(name) == 0);
    return fd;
}

#endif
