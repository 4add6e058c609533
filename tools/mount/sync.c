/* balefs sync, freeze and thaw: each sends one request to the daemon of a mount. */
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

static const char freeze_help[] =
    "usage: balefs freeze MNT...\n"
    "\n"
    "Stores everything, then blocks all changes in the mount until balefs thaw: meanwhile\n"
    "the store can be copied, or a snapshot taken. Requests that change files, directories\n"
    "or attributes wait. Reading continues, except in directories with a waiting change:\n"
    "there, listing and the first lookup of a name wait too. Only the mount's owner may\n"
    "freeze it, and root if it may enter (-o allow_other).\n"
    "\n"
    "  -h, --help\n"
    "\n"
    "Example:\n"
    "  balefs freeze /mnt/scratch && cp -a /scratch/store /backup/; balefs thaw /mnt/scratch\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

static const char thaw_help[] =
    "usage: balefs thaw MNT...\n"
    "\n"
    "Ends balefs freeze: changes continue. Only the mount's owner may thaw it, and root if\n"
    "it may enter (-o allow_other).\n"
    "\n"
    "  -h, --help\n"
    "\n"
    "Example:\n"
    "  balefs thaw /mnt/scratch\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool send_request(const char *path, unsigned long request, const char *what)
{
    int fd;

    if (bale_control_open(path, &fd) != BALE_OK)
        return false;
    /* the kernel writes back mappings and its cache, then the daemon stores everything */
    bool done = (request == BALE_IOC_THAW || syncfs(fd) == 0) && ioctl(fd, request) == 0;
    if (!done && (errno == EPERM || errno == EACCES))
        bale_message("%s: only root and the mount's owner may %s it", path, what);
    else if (!done && errno == EBUSY && request == BALE_IOC_FREEZE)
        bale_message("%s: is frozen already: balefs thaw ends it", path);
    else if (!done && errno == ENOTTY)
        bale_message(
            "%s: shows only a part of a balefs mount: name the mount point of the whole mount",
            path);
    else if (!done)
        bale_message("%s: cannot %s: %s: the daemon's log says more", path, what, strerror(errno));
    close(fd);
    return done;
}

static int control(const struct bale_command *command, int argc, char **argv, unsigned long request)
{
    int option, status = BALE_EXIT_DONE;

    while ((option = bale_options_next(command, argc, argv, ":h", long_options)) != BALE_OPTION_END)
        return bale_options_status(command, option);
    if (optind == argc)
        return bale_usage_error(command, "MNT is missing");
    for (int i = optind; i < argc; i++)
        if (!send_request(argv[i], request, command->name))
            status = BALE_EXIT_FAILED;
    return status;
}

static int sync_run(const struct bale_command *command, int argc, char **argv)
{
    return control(command, argc, argv, BALE_IOC_SYNC);
}

static int freeze_run(const struct bale_command *command, int argc, char **argv)
{
    return control(command, argc, argv, BALE_IOC_FREEZE);
}

static int thaw_run(const struct bale_command *command, int argc, char **argv)
{
    return control(command, argc, argv, BALE_IOC_THAW);
}

const struct bale_command bale_command_sync = {
    .name = "sync",
    .summary = "stores everything written in a mount",
    .help = sync_help,
    .usage = BALE_EXIT_USAGE,
    .run = sync_run,
};

const struct bale_command bale_command_freeze = {
    .name = "freeze",
    .summary = "stores everything and blocks changes",
    .help = freeze_help,
    .usage = BALE_EXIT_USAGE,
    .run = freeze_run,
};

const struct bale_command bale_command_thaw = {
    .name = "thaw",
    .summary = "ends a freeze",
    .help = thaw_help,
    .usage = BALE_EXIT_USAGE,
    .run = thaw_run,
};
