#include "tools/control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/options.h"
#include "tools/place.h"

bool bale_control_status(int fd, struct bale_control_status *status)
{
    *status = (struct bale_control_status){0};
    if (ioctl(fd, BALE_IOC_STATUS, status) != 0)
        return false;
    status->store[sizeof status->store - 1] = '\0';
    status->engine[sizeof status->engine - 1] = '\0';
    status->io[sizeof status->io - 1] = '\0';
    status->program[sizeof status->program - 1] = '\0';
    errno = ENOTTY;
    return status->magic == BALE_CONTROL_MAGIC && status->version == BALE_CONTROL_VERSION;
}

int bale_control_open(const char *path, int *fd)
{
    struct bale_place place;
    int err = bale_place_find(path, &place);

    *fd = -1;
    if (err != BALE_OK)
        return err;
    if (!place.mounted) {
        bale_complain("%s: lies in a store, not in a mount: name the mount point", path);
        err = BALE_E_INVALID;
        goto out;
    }
    *fd = open(place.top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0) {
        err = bale_err_from_errno(errno);
        bale_complain("%s: cannot be opened: %s", place.top, strerror(errno));
    }
out:
    bale_place_free(&place);
    return err;
}
