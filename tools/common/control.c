#include "tools/common/control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/memory.h"
#include "tools/common/location.h"
#include "tools/common/message.h"
#include "tools/common/mounts.h"
#include "tools/common/size.h"

bool bale_control_status(int fd, struct bale_control_status *status)
{
    *status = (struct bale_control_status){0};
    if (ioctl(fd, BALE_IOC_STATUS, status) != 0)
        return false;
    status->store[sizeof status->store - 1] = '\0';
    status->engine[sizeof status->engine - 1] = '\0';
    status->io[sizeof status->io - 1] = '\0';
    status->program[sizeof status->program - 1] = '\0';
    status->gpu.device[sizeof status->gpu.device - 1] = '\0';
    errno = ENOTTY;
    return status->magic == BALE_CONTROL_MAGIC && status->version == BALE_CONTROL_VERSION;
}

bool bale_control_status_at(const char *mnt, struct bale_control_status *status)
{
    int fd = open(mnt, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool answered = fd >= 0 && bale_control_status(fd, status);
    int e = errno;

    if (fd >= 0)
        close(fd);
    errno = e;
    return answered;
}

bool bale_control_status_by_name(const char *path, struct bale_control_status *status)
{
    struct bale_mount_line mount;

    if (bale_mounts_holding(path, &mount) != BALE_OK)
        return false;
    bool answered =
        bale_mount_line_is_balefs(&mount) && bale_control_status_at(mount.point, status);
    bale_mount_line_free(&mount);
    return answered;
}

/* An extent that grows needs the old buffer and the new one at the same time. */
void bale_control_warn_extent(const char *path, uint32_t extent, uint64_t memory)
{
    uint64_t cap = memory ? memory : bale_memory_default_cap();
    char size[BALE_TEXT], has[BALE_TEXT];

    if (extent <= cap / 2)
        return;
    bale_message("%s: warning: extents of %s need more memory than %s %s: mount with -o memory=%uM "
                 "or more, or writing fails",
                 path, bale_size_text(extent, size),
                 memory ? "this mount's" : "this machine's default of", bale_size_text(cap, has),
                 (unsigned)((2 * (uint64_t)extent + (1 << 20) - 1) >> 20));
}

int bale_control_open(const char *path, int *fd)
{
    struct bale_location location;
    int err = bale_location_find(path, &location);

    *fd = -1;
    if (err != BALE_OK)
        return err;
    if (!location.mounted) {
        bale_message("%s: lies in a store, not in a mount: name the mount point", path);
        err = BALE_E_INVALID;
        goto out;
    }
    *fd = open(location.top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0) {
        err = bale_err_from_errno(errno);
        bale_message("%s: cannot be opened: %s", location.top, strerror(errno));
    }
out:
    bale_location_free(&location);
    return err;
}
