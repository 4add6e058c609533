#include "tools/common/mount_owner.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/common/message.h"

const char *bale_owner_name(const struct bale_mount_line *mount)
{
    static char number[24];
    const struct passwd *user = getpwuid(mount->owner);

    if (user)
        return user->pw_name;
    snprintf(number, sizeof number, "%u", (unsigned)mount->owner);
    return number;
}

static void say(const char *path, const char *name, bool known)
{
    if (geteuid() != 0)
        bale_message("%s: is a mount of user %s, who lets nobody else in: let %s do it, or mount "
                     "with -o allow_other",
                     path, name, name);
    else if (known)
        bale_message("%s: is a mount of user %s, who lets nobody else in, not even root: do it as "
                     "%s (runuser -u %s -- balefs ...), or mount with -o allow_other",
                     path, name, name, name);
    else
        bale_message("%s: is a mount of user %s, who lets nobody else in, not even root: do it as "
                     "that user (setpriv --reuid=%s --clear-groups balefs ...), or mount with -o "
                     "allow_other",
                     path, name, name);
}

bool bale_owner_keeps_out(const char *path)
{
    struct bale_mount_line mount;

    if (bale_mounts_holding(path, &mount) != BALE_OK)
        return false;
    bool keeps =
        bale_mount_line_is_balefs(&mount) && !mount.allow_other && mount.owner != geteuid();
    if (keeps)
        say(path, bale_owner_name(&mount), getpwuid(mount.owner) != NULL);
    bale_mount_line_free(&mount);
    return keeps;
}
