/* balefs sync: sends one request to the daemon of each mount. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/mount/mount.h"

static const char sync_help[] =
    "usage: balefs sync MNT...\n"
    "\n"
    "Returns when everything written in the mount so far is stored and would survive a loss\n"
    "of power. (On many kernels sync(1) has no effect on FUSE file systems.)\n"
    "\n"
    "  -h, --help\n"
    "\n"
    "Example:\n"
    "  balefs sync /mnt/scratch\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

bool bale_sync_mount(const char *path)
{
    int fd;

    if (bale_control_open(path, &fd) != BALE_OK)
        return false;
    /* the kernel writes back mappings and its cache, then the daemon stores everything */
    bool done = syncfs(fd) == 0 && ioctl(fd, BALE_IOC_SYNC) == 0;
    if (!done && (errno == EPERM || errno == EACCES))
        bale_message("%s: only root and the mount's owner may sync it", path);
    else if (!done && errno == ENOTTY)
        bale_message(
            "%s: shows only a part of a balefs mount: name the mount point of the whole mount",
            path);
    else if (!done)
        bale_message("%s: cannot sync: %s: the daemon's log says more", path, strerror(errno));
    close(fd);
    return done;
}

static int sync_run(const struct bale_command *command, int argc, char **argv)
{
    int option, status = BALE_EXIT_DONE;

    while ((option = bale_options_next(command, argc, argv, ":h", long_options)) != BALE_OPTION_END)
        return bale_options_status(command, option);
    if (optind == argc)
        return bale_usage_error(command, "MNT is missing");
    for (int i = optind; i < argc; i++)
        if (!bale_sync_mount(argv[i]))
            status = BALE_EXIT_FAILED;
    return status;
}

const struct bale_command bale_command_sync = {
    .name = "sync",
    .summary = "stores everything written in a mount",
    .help = sync_help,
    .usage = BALE_EXIT_USAGE,
    .run = sync_run,
};
