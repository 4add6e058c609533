#include "tools/mount/place.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/common/mounts.h"

char *bale_place_inside(const char *mnt)
{
    char *here = getcwd(NULL, 0);
    const char *rest = here ? bale_mounts_rest(mnt, here) : NULL;
    char *inside = rest ? strdup(rest) : NULL;

    free(here);
    return inside;
}

bool bale_place_enter(const char *mnt, const char *inside)
{
    if (chdir(mnt) == 0 && (inside[0] == '\0' || chdir(inside) == 0))
        return true;
    bale_message("%s/%s: cannot be entered: %s: it is the working directory, and the store is "
                 "mounted over it: make it "
                 "in the store, or begin elsewhere",
                 mnt, inside, strerror(errno));
    return false;
}

/* Whether fd is a file or directory that still has a name, and that lies beneath mnt. */
static bool is_beneath(const char *mnt, int fd)
{
    char name[32], path[PATH_MAX];
    struct stat st;

    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length <= 0 || fstat(fd, &st) != 0 || st.st_nlink == 0)
        return false;
    path[length] = '\0';
    return (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && bale_mounts_rest(mnt, path);
}

bool bale_place_is_free(const char *mnt)
{
    static const char *const names[] = {"standard input", "standard output", "standard error"};
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    int found = -1;

    while (dir && found < 0 && (entry = readdir(dir))) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != dirfd(dir) && is_beneath(mnt, fd))
            found = fd;
    }
    if (dir)
        closedir(dir);
    if (found < 0)
        return true;
    char number[32] = "";
    if (found > 2)
        snprintf(number, sizeof number, "descriptor %d", found);
    bale_message("%s: %s was opened below it before the mount, and would not go to the store: "
                 "redirect elsewhere, or within "
                 "CMD, as in sh -c 'CMD >FILE'",
                 mnt, found > 2 ? number : names[found]);
    return false;
}
