#include "fs/daemon/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/daemon/unmount.h"

/* ---- The watcher ---- */

/* Closes all descriptors but fd, which becomes 3. The standard streams become /dev/null, so that no
 * descriptor opened later takes their numbers. */
static void watcher_keep_only(int fd)
{
    sigset_t none;

    for (int number = 1; number < SIGRTMAX; number++)
        (void)signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)!chdir("/");
    if (fd > 3)
        (void)dup2(fd, 3);
    if (close_range(4, ~0u, 0) != 0)
        for (int other = 4; other < (int)sysconf(_SC_OPEN_MAX); other++)
            close(other);
    int null = open("/dev/null", O_RDWR);
    for (int stream = 0; stream < 3; stream++)
        if (null < 0)
            close(stream);
        else
            (void)dup2(null, stream);
    if (null > 3)
        close(null);
}

/* Unmounts through a descriptor of the mount that was compared, so that root does not unmount
 * another one. */
static void watcher_unmount(const char *mountpoint, const struct bale_mount_identity *mount)
{
    char path[32];
    int fd = open(mountpoint, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    struct bale_mount_identity found = bale_mount_identify(fd, "");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (bale_mount_is_same(&found, mount) && umount2(path, MNT_DETACH) != 0) {
        const struct bale_fusermount helper = bale_fusermount(mountpoint, true, true);
        close(fd);
        (void)execvp(helper.words[0], helper.words);
    }
}

static void __attribute__((noreturn)) watcher_main(const char *mountpoint, int fd)
{
    struct bale_mount_identity mount = {0}, reported;
    ssize_t got;

    setsid();
    prctl(PR_SET_NAME, "balefs-watch");
    watcher_keep_only(fd);
    while ((got = read(3, &reported, sizeof reported)) != 0)
        if (got == (ssize_t)sizeof reported && reported.device == 0)
            _exit(0);
        else if (got == (ssize_t)sizeof reported)
            mount = reported;
        else if (got > 0 || errno != EINTR)
            _exit(1);
    if (mount.device != 0)
        watcher_unmount(mountpoint, &mount);
    _exit(0);
}

/* ---- The daemon ---- */

int bale_watcher_start(const char *mountpoint, int *fd)
{
    int pipe_fds[2];

    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return bale_err_from_errno(errno);
    /* Fork twice: init becomes the watcher's parent, and this process need not wait for it. */
    pid_t child = fork();
    if (child == 0) {
        pid_t watcher = fork();
        if (watcher == 0)
            watcher_main(mountpoint, pipe_fds[0]);
        _exit(watcher < 0);
    }
    int state = 1, err = child < 0 ? bale_err_from_errno(errno) : BALE_OK;
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    close(pipe_fds[0]);
    if (state != 0) {
        close(pipe_fds[1]);
        return err != BALE_OK ? err : BALE_E_NOMEM;
    }
    *fd = pipe_fds[1];
    return BALE_OK;
}

void bale_watcher_report_mount(int fd, const char *mountpoint, struct bale_mount_identity *mount)
{
    *mount = bale_mount_identify(AT_FDCWD, mountpoint);
    (void)!write(fd, mount, sizeof *mount);
}

void bale_watcher_report_end(int fd, const char *mountpoint,
                             const struct bale_mount_identity *mount)
{
    const struct bale_mount_identity found = bale_mount_identify(AT_FDCWD, mountpoint),
                                     nothing = {0};

    if (!bale_mount_is_same(&found, mount))
        (void)!write(fd, &nothing, sizeof nothing);
}
