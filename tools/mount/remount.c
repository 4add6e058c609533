#include "tools/mount/remount.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "tools/balefs.h"
#include "tools/common/message.h"
#include "tools/mount/mount.h"

/* Flags of the kernel that older headers do not have. */
#define SYMFOLLOW_NONE 0x100u   /* MS_NOSYMFOLLOW */
#define SHOWN_SYMFOLLOW 0x2000u /* ST_NOSYMFOLLOW */
#define ATIMES (MS_NOATIME | MS_RELATIME | MS_STRICTATIME)

static const struct {
    const char *word;
    unsigned long set, clear;
} known[] = {
    {"ro", MS_RDONLY, 0},
    {"rw", 0, MS_RDONLY},
    {"nosuid", MS_NOSUID, 0},
    {"nodev", MS_NODEV, 0},
    {"noexec", MS_NOEXEC, 0},
    {"nosymfollow", SYMFOLLOW_NONE, 0},
    {"sync", MS_SYNCHRONOUS, 0},
    {"async", 0, MS_SYNCHRONOUS},
    {"dirsync", MS_DIRSYNC, 0},
    {"noatime", MS_NOATIME, ATIMES},
    {"relatime", MS_RELATIME, ATIMES},
    {"strictatime", MS_STRICTATIME, ATIMES},
    {"nodiratime", MS_NODIRATIME, 0},
    {"diratime", 0, MS_NODIRATIME},
    {"bind", MS_BIND, 0},
};

bool bale_remount_is_asked(const char *options)
{
    static const char word[] = "remount";
    const size_t length = sizeof word - 1;

    for (const char *at = options; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* The flags that the mount has. A remount must repeat them: of flags that are not passed, the
 * kernel keeps only those of access times. */
static unsigned long flags_of(const struct statvfs *shown)
{
    unsigned long flags = shown->f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC |
                                           ST_SYNCHRONOUS | ST_NOATIME | ST_NODIRATIME);

    return flags | (shown->f_flag & ST_RELATIME ? MS_RELATIME : 0) |
           (shown->f_flag & SHOWN_SYMFOLLOW ? SYMFOLLOW_NONE : 0);
}

int bale_remount(const char *point, char *options)
{
    struct statvfs shown;
    char *word;

    if (statvfs(point, &shown) != 0) {
        bale_message("%s: cannot be remounted: %s", point, strerror(errno));
        return BALE_EXIT_UNMOUNT_FAILED;
    }
    unsigned long flags = flags_of(&shown);
    while ((word = strsep(&options, ",")))
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strcmp(word, known[i].word) == 0)
                flags = (flags & ~known[i].clear) | known[i].set;
    if (mount(NULL, point, NULL, MS_REMOUNT | flags, NULL) == 0)
        return BALE_EXIT_DONE;
    bale_message("%s: cannot be remounted: %s%s", point, strerror(errno),
                 errno == EBUSY ? ": close the files that are open for writing" : "");
    return errno == EPERM ? BALE_EXIT_UNMOUNT_USAGE : BALE_EXIT_UNMOUNT_FAILED;
}
