#include "tools/mount/leaving.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/store/store.h"
#include "tools/common/mounts.h"
#include "tools/mount/helper_name.h"

#define PATIENCE_MS 5000

/* Whether the command line is that of `balefs mount` or `balefs run`, or of a mount helper. A mount
 * on a passed descriptor may be where its daemon cannot see it. */
static bool is_daemon(const char *process)
{
    char path[64], words[4096];
    bool mounts = false;

    snprintf(path, sizeof path, "/proc/%.16s/cmdline", process);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(words, 1, sizeof words - 1, file) : 0;
    if (file)
        fclose(file);
    words[size] = '\0';
    for (size_t at = 0, count = 0; at < size; at += strlen(words + at) + 1, count++) {
        const char *word = words + at;
        if (strncmp(word, "/dev/fd/", 8) == 0)
            return false;
        if (count == 0)
            mounts = bale_is_mount_helper(word);
        else if (count == 1)
            mounts |= strcmp(word, "mount") == 0 || strcmp(word, "run") == 0;
    }
    return mounts;
}

void bale_leaving_await(const char *path)
{
    char process[16];
    pid_t pid = bale_store_locked_here(path);
    int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

    snprintf(process, sizeof process, "%d", (int)pid);
    if (fd >= 0 && is_daemon(process) && bale_mounts_lost_by(process, path))
        (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS);
    if (fd >= 0)
        close(fd);
}
