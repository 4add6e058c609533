#include "fs/daemon/unmount.h"

#include <stddef.h>
#include <stdint.h>

struct bale_fusermount bale_fusermount(const char *mountpoint, bool lazy, bool quiet)
{
    struct bale_fusermount command = {.words = {"fusermount3", "-u"}};
    size_t count = 2;

    if (quiet)
        command.words[count++] = "-q";
    if (lazy)
        command.words[count++] = "-z";
    command.words[count++] = "--";
    command.words[count] = (char *)(uintptr_t)mountpoint;
    return command;
}
