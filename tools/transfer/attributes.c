#include "tools/transfer/attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SETTINGS "user.balefs."
#define ACL "system.posix_acl_"
#define SET_ID (S_ISUID | S_ISGID)

void bale_reach(int fd, const char *name, char path[static BALE_REACH])
{
    snprintf(path, BALE_REACH, "/proc/self/fd/%d%s%s", fd, name ? "/" : "", name ? name : "");
}

/* Gets a value or, without name, the list of names. Tries again if the size changes between the two
 * calls. */
static int get(const char *path, bool follow, const char *name, char **value, size_t *length)
{
    for (;;) {
        ssize_t size = name
                           ? follow ? getxattr(path, name, NULL, 0) : lgetxattr(path, name, NULL, 0)
                       : follow ? listxattr(path, NULL, 0)
                                : llistxattr(path, NULL, 0);
        if (size < 0)
            return errno;
        *value = malloc((size_t)size + 1);
        if (!*value)
            return ENOMEM;
        ssize_t got = size == 0 ? 0
                      : name    ? follow ? getxattr(path, name, *value, (size_t)size)
                                         : lgetxattr(path, name, *value, (size_t)size)
                         : follow ? listxattr(path, *value, (size_t)size)
                                : llistxattr(path, *value, (size_t)size);
        if (got >= 0) {
            *length = (size_t)got;
            return 0;
        }
        int e = errno;
        free(*value);
        *value = NULL;
        if (e != ERANGE)
            return e;
    }
}

int bale_attributes_list(const char *path, bool follow, char **names, size_t *length)
{
    *names = NULL;
    *length = 0;
    int e = get(path, follow, NULL, names, length);
    return e == EOPNOTSUPP ? 0 : e;
}

int bale_attribute_get(const char *path, bool follow, const char *name, char **value,
                       size_t *length)
{
    *value = NULL;
    return get(path, follow, name, value, length);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool bale_attribute_wanted(const struct bale_attributes_rules *rules, const char *name)
{
    if (rules->part != BALE_ATTRIBUTES_ALL &&
        begins(name, ACL) != (rules->part == BALE_ATTRIBUTES_ACLS))
        return false;
    if (begins(name, SETTINGS))
        return rules->settings;
    /* the system sets the label on each side */
    return strcmp(name, "security.selinux") != 0;
}

static int copy_one(const struct bale_attributes_rules *rules, const char *from, const char *to,
                    bool follow, const char *name)
{
    char *value;
    size_t length = 0;
    int e = bale_attribute_get(from, follow, name, &value, &length);

    if (e == ENODATA)
        return 0;
    if (e == 0 && !rules->acls && begins(name, ACL))
        e = EOPNOTSUPP;
    else if (e == 0 && (follow ? setxattr(to, name, value, length, 0)
                               : lsetxattr(to, name, value, length, 0)) != 0)
        e = errno;
    free(value);
    return e == EPERM && geteuid() != 0 && !begins(name, "user.") && !begins(name, ACL) ? 0 : e;
}

unsigned bale_attributes_copy(const struct bale_attributes_rules *rules, const char *from,
                              const char *to, bool follow, char *lost, int *e)
{
    char *names;
    size_t length;
    unsigned failed = 0;
    int one = bale_attributes_list(from, follow, &names, &length);

    if (one) {
        snprintf(lost, 256, "all");
        *e = one;
        failed = 1;
    }
    for (size_t at = 0; at < length; at += strlen(names + at) + 1) {
        if (!bale_attribute_wanted(rules, names + at))
            continue;
        one = copy_one(rules, from, to, follow, names + at);
        if (one && failed++ == 0) {
            snprintf(lost, 256, "%s", names + at);
            *e = one;
        }
    }
    free(names);
    return failed;
}

static bool owned(uid_t uid, gid_t gid, const struct stat *st)
{
    return uid == st->st_uid && gid == st->st_gid;
}

int bale_owner_set(int fd, const struct stat *st, mode_t mode)
{
    char path[BALE_REACH];
    struct stat now;

    bale_reach(fd, NULL, path);
    if (fchownat(fd, "", geteuid() == 0 ? st->st_uid : (uid_t)-1, st->st_gid, AT_EMPTY_PATH) != 0 &&
        (geteuid() == 0 || (errno != EPERM && errno != EINVAL)))
        return errno;
    if (fstat(fd, &now) != 0)
        return errno;
    if (!owned(now.st_uid, now.st_gid, st))
        mode &= ~(mode_t)(S_ISDIR(now.st_mode) ? 0 : SET_ID);
    return chmod(path, mode & 07777) != 0 ? errno : 0;
}

int bale_owner_set_at(int dir, const char *name, const struct stat *st)
{
    if (fchownat(dir, name, geteuid() == 0 ? st->st_uid : (uid_t)-1, st->st_gid,
                 AT_SYMLINK_NOFOLLOW) != 0 &&
        (geteuid() == 0 || (errno != EPERM && errno != EINVAL)))
        return errno;
    return 0;
}
