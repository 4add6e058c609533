#include "fs/daemon/idle.h"

#include "fs/base/log.h"
#include "fs/daemon/unmount.h"
#include "fs/fuse/freeze.h"
#include "kernels/base/clock.h"

#define LOOKS 8u /* in the time after which the mount ends */

void bale_idle_begin(struct bale_idle *idle, struct bale_mount *mount, struct bale_session *session,
                     const char *mountpoint, unsigned seconds)
{
    *idle = (struct bale_idle){
        .mount = mount,
        .session = session,
        .mountpoint = mountpoint,
        .device = bale_mount_device(mountpoint),
        .limit_ns = seconds * BALE_SECOND_NS,
        .since = bale_clock_ns(),
    };
}

int bale_idle_pause_ms(const struct bale_idle *idle)
{
    return idle->limit_ns == 0 ? -1 : (int)(idle->limit_ns / LOOKS / 1000000);
}

void bale_idle_look(struct bale_idle *idle)
{
    uint64_t now = bale_clock_ns();

    if (bale_session_was_used(idle->session) || bale_freezer_is_frozen(idle->mount->freezer)) {
        idle->since = now;
        return;
    }
    bool due = now - idle->since >= idle->limit_ns;
    if (!due && idle->marked)
        return;
    idle->marked = true;
    if (bale_mount_expire(idle->mountpoint, idle->device, due)) {
        bale_log(BALE_LOG_INFO, "%s: nobody has used it for %llu s: unmounting", idle->mountpoint,
                 (unsigned long long)(idle->limit_ns / BALE_SECOND_NS));
    } else if (due) {
        bale_log(BALE_LOG_DEBUG, "%s: is in use, and stays", idle->mountpoint);
        idle->since = now;
    }
}
