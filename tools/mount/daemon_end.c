#include "tools/mount/daemon_end.h"

#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fs/store/store.h"
#include "tools/common/message.h"
#include "tools/mount/holders.h"

#define PATIENCE_MS 3000 /* before a message says what is waited for */

/* If the daemon lives in another container, the number may belong to some other process here. */
int bale_daemon_end_open(int pid)
{
    char path[48], name[16] = "";
    int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

    if (pidfd < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(name, sizeof name, file) || strncmp(name, "balefs", 6) != 0) {
        close(pidfd);
        pidfd = -1;
    }
    if (file)
        fclose(file);
    return pidfd;
}

static int milliseconds_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int)((now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000);
}

/* Called when the daemon has not ended after a while: prints what it waits for. False, after a
 * message that names it: another mount namespace keeps the daemon, so waiting is useless. */
static bool may_end_yet(const struct bale_daemon_end *daemon)
{
    char holders[256];

    if (!bale_holders(daemon->mount, daemon->pid, holders, sizeof holders)) {
        bale_message("%s: unmounted; waiting for its daemon to store what is left",
                     daemon->mount->point);
        return true;
    }
    bale_message(
        "%s: unmounted here and stored, but still mounted in the mount namespace of %s: end that, "
        "or end the daemon with kill %d, which stores everything first",
        daemon->mount->point, holders, daemon->pid);
    return false;
}

bool bale_daemon_end_wait(const struct bale_daemon_end *daemon)
{
    struct pollfd end = {.fd = daemon->pidfd, .events = POLLIN};
    struct timespec start;
    char who[256];
    bool reported = false;

    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        if (poll(&end, daemon->pidfd >= 0, 50) > 0)
            return true;
        if (daemon->pidfd < 0 &&
            (daemon->read_only || !bale_store_locked_by(daemon->store, who, sizeof who)))
            return true;
        if (!reported && milliseconds_since(&start) > PATIENCE_MS) {
            if (!may_end_yet(daemon))
                return false;
            reported = true;
        }
    }
}

bool bale_daemon_end_report(const struct bale_daemon_end *daemon)
{
    bool well = false;

    if (daemon->read_only)
        return true;
    json_t *last = bale_store_last_unmount(daemon->store);
    const json_t *process = json_object_get(last, "process");
    const char *result = json_string_value(json_object_get(last, "result"));
    if (!json_is_integer(process) || (daemon->pid && json_integer_value(process) != daemon->pid))
        bale_message(
            "%s: unmounted, but its daemon did not end cleanly: see its log, and check the "
            "store with balefs fsck",
            daemon->mount->point);
    else if (!json_is_true(json_object_get(last, "clean")))
        bale_message("%s: unmounted: %s", daemon->mount->point,
                     result ? result : "not everything was stored: see the daemon's log");
    else
        well = true;
    if (!well && daemon->log[0])
        bale_message("%s: its daemon's log is %s", daemon->mount->point, daemon->log);
    json_decref(last);
    return well;
}
